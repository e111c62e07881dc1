// Images of a pack by their latent vectors: encodes them all once in the background, then finds the
// nearest to a given vector by comparing with every one.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "facet/data/pack.h"
#include "facet/serve/image_table.h"
#include "facet/serve/model_thread.h"

namespace facet {

/// Images of a pack that can be searched; further ones are left out.
inline constexpr int64_t kMostSearchedImages = 200000;

struct Neighbours {
  std::vector<int64_t> rows;  ///< of the pack, nearest first
  std::vector<double> distances;
};

class NearestImages {
 public:
  /// Reads the images of a model; an Error where they cannot be had.
  using Source = std::function<Pack(const ImageShape& shape)>;

  explicit NearestImages(Pack pack);
  /// Images that are read in the background, because that may take long.
  explicit NearestImages(Source source);
  NearestImages(const NearestImages&) = delete;
  NearestImages& operator=(const NearestImages&) = delete;
  ~NearestImages();

  /// Whether pack() is there; before, nothing is ready and count() is 0.
  bool loaded() const { return loaded_; }
  /// Why the images cannot be had; empty where they are there or being read.
  std::string notice() const;
  const Pack& pack() const { return pack_; }
  int64_t count() const;
  int64_t encoded() const { return encoded_; }
  /// Whether all are encoded with these weights (ServedModel::weights).
  bool ready(const std::string& weights) const;

  /// What the model says of every image; null until all are encoded with these weights.
  std::shared_ptr<const ImageTable> table(const std::string& weights) const;

  /// Encodes the pack with a model, dropping what was encoded with another; nothing is done again
  /// where only names have changed.
  void encode_with(const std::shared_ptr<ServedModel>& model, ModelThread& thread);

  /// The `count` nearest to z [Z] in the dimensions where `counts` [Z] is 1; distances are in
  /// standard deviations over the pack. ready() must have said yes for `weights`.
  Neighbours find(const torch::Tensor& z, const torch::Tensor& counts, int64_t count,
                  const std::string& weights) const;

  /// The dimensions from `first` on of some images, [rows, count] float32, and what divides every
  /// such dimension so that it has stddev 1 over the pack, [count]. As find(), for `weights`.
  struct Block {
    torch::Tensor latents, stddev;
  };
  Block block(const torch::Tensor& rows, int64_t first, int64_t count,
              const std::string& weights) const;

 private:
  void load(const ImageShape& shape);
  void encode_all(std::shared_ptr<ServedModel> model, ModelThread& thread);
  void measure_errors(const ServedModel& model, ModelThread& thread, const torch::Tensor& latents,
                      ImageTable& table);

  Source source_;
  std::atomic<bool> loaded_ = false;
  Pack pack_;
  mutable std::mutex mutex_;
  std::string notice_;
  std::string wanted_;              // weights that it encodes with, or has encoded with
  std::string weights_;             // those of what follows; empty while nothing is ready
  torch::Tensor latents_, stddev_;  // float32 [N, Z] and [Z]
  std::shared_ptr<const ImageTable> table_;
  std::atomic<int64_t> encoded_ = 0;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace facet
