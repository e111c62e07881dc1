// Streams and recorded steps on a GPU. A step of training is some hundred small kernels; recorded
// once as a CUDA graph, it is one launch that the host does not wait for. Without CUDA
// (cuda_graph_absent.cpp) there are no streams, and every step is done as it is written.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "facet/core/tensor.h"

namespace facet::cuda {

/// While it lives, what this thread does on `device` goes to a stream of its own, after everything
/// that was asked for before; what is asked for afterwards waits for it. Nothing for the CPU.
class StreamScope {
 public:
  explicit StreamScope(torch::Device device);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A second stream for work that the first need not wait for at once. On the CPU work is done when
/// it is asked for.
class SideStream {
 public:
  explicit SideStream(torch::Device device);
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  /// Does `work` beside what follows, after everything that was asked for before. What it reads and
  /// writes must live until join().
  void run(const std::function<void()>& work);
  /// The current stream waits for it.
  void join();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Bytes of a GPU's memory that nobody has taken.
int64_t free_memory(torch::Device device);

/// The recorded steps of one learner, one for each kind of step. The first steps of a kind are done
/// as they are written, so that whatever LibTorch makes on first use is there; then the step is
/// recorded, which computes nothing, and from there on it is replayed.
class CudaGraphCache {
 public:
  /// With `capture` off every step is done as it is written.
  explicit CudaGraphCache(torch::Device device, bool capture = true);
  ~CudaGraphCache();
  CudaGraphCache(const CudaGraphCache&) = delete;
  CudaGraphCache& operator=(const CudaGraphCache&) = delete;

  /// One step of a kind. `body` must be the same work for every step of the kind: it reads and
  /// writes tensors that stay where they are, never waits for the GPU, and changes nothing on the
  /// host but tensors that it makes anew. On the CPU it is simply called.
  void step(int64_t kind, const std::function<void()>& body);
  /// Steps of a kind are recorded anew, because tensors that they use are not what they were.
  void forget(int64_t kind);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace facet::cuda
