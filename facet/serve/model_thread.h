// The one thread that computes with the networks. Requests that wait for it at the same time share
// a forward pass; in every pass all of them get their share, so that a request for many pictures
// does not hold up one for a single picture. What may wait is bounded.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "facet/core/tensor.h"
#include "facet/serve/served_model.h"

namespace facet {

class ModelThread {
 public:
  /// `most_waiting` rows of latent vectors may wait; more is an ApiError with status 503.
  explicit ModelThread(int64_t most_waiting = 512);
  ModelThread(const ModelThread&) = delete;
  ModelThread& operator=(const ModelThread&) = delete;
  ~ModelThread();

  /// The means of p(x|z) for z [B, Z], U8 [B, C, H, W]; waits for them.
  torch::Tensor decode(const std::shared_ptr<ServedModel>& model, const torch::Tensor& z);

  /// Pictures of latent vectors: decode(), or refined if the model is served so. Each is refined
  /// alone, as a command makes it: in a batch the last bits may differ. With a photograph, U8
  /// [1, C, H, W], that all vectors came from, refinement starts from it and not from noise alone.
  torch::Tensor pictures(const std::shared_ptr<ServedModel>& model, const torch::Tensor& z,
                         const PictureNoise& noise, const torch::Tensor& photograph = {});
  /// The same for samples of the prior.
  torch::Tensor pictures(const std::shared_ptr<ServedModel>& model, const LatentSample& samples,
                         const PictureNoise& noise);

  /// Runs something else that uses the networks, and waits until it is done.
  void run(const std::function<void()>& task);
  /// The same for work in the background: where people have asked for something just now, it waits
  /// for a pause, but half a second at most.
  void run_in_pause(const std::function<void()>& task);

 private:
  struct Job {
    std::shared_ptr<ServedModel> model;
    torch::Tensor z;             // [B, Z]
    torch::Tensor pixels;        // [B, C, H, W], filled from the first row on
    int64_t done = 0;            // rows
    std::function<void()> task;  // in place of all that
    std::promise<void> finished;

    int64_t left() const { return z.size(0) - done; }
  };

  using Clock = std::chrono::steady_clock;

  /// One picture after another, each of them given by `draw`.
  torch::Tensor one_by_one(int64_t count, const std::function<torch::Tensor(int64_t number)>& draw);
  void enqueue(const std::shared_ptr<Job>& job, int64_t rows);
  void run_task(const std::function<void()>& task);
  void work();
  std::deque<std::shared_ptr<Job>> next_pass();
  static void decode_shares(const std::deque<std::shared_ptr<Job>>& jobs);
  void remove_finished(const std::deque<std::shared_ptr<Job>>& jobs);

  int64_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::shared_ptr<Job>> jobs_;
  int64_t waiting_ = 0;      // rows
  Clock::time_point asked_;  // when people last asked for something
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace facet
