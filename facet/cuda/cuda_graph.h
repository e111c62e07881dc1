// Streams of a GPU, and training steps as CUDA graphs. A step launches some hundred small kernels;
// captured once as a CUDA graph, it is one launch that the host does not wait for. In builds
// without CUDA (cuda_graph_absent.cpp) there are no streams, and every step runs directly.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "facet/core/tensor.h"

namespace facet::cuda {

/// While it lives, this thread's work on `device` goes to a stream of its own: it starts after all
/// work that was launched before, and work launched afterwards waits for it. Does nothing on the
/// CPU.
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

/// A second stream for work that the first need not wait for at once. On the CPU work runs when
/// run() is called.
class SideStream {
 public:
  explicit SideStream(torch::Device device);
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  /// Launches `work` beside what follows, after all work that was launched before. What it reads
  /// and writes must live until join().
  void run(const std::function<void()>& work);
  /// The current stream waits for it.
  void join();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Free bytes of a GPU's memory.
int64_t free_memory(torch::Device device);

/// The captured steps of one learner, one CUDA graph for each kind of step. The first steps of a
/// kind run directly, so that LibTorch has made whatever it makes on first use; then the step is
/// captured, which computes nothing, and from there on the graph is replayed. Where our kernels do
/// not run (kernels_available() in gpu.h) every step runs directly: LibTorch's random draws need
/// the step's number on the host, and a captured step cannot wait for the GPU.
class CudaGraphCache {
 public:
  /// With `capture` off every step runs directly.
  explicit CudaGraphCache(torch::Device device, bool capture = true);
  ~CudaGraphCache();
  CudaGraphCache(const CudaGraphCache&) = delete;
  CudaGraphCache& operator=(const CudaGraphCache&) = delete;

  /// Runs one step of a kind. `body` must be the same work for every step of the kind: it reads and
  /// writes tensors that stay where they are, never waits for the GPU, and changes nothing on the
  /// host but tensors that it makes anew. On the CPU it is simply called.
  void step(int64_t kind, const std::function<void()>& body);
  /// Steps of a kind will be captured anew, because the tensors that they use have been replaced.
  void forget(int64_t kind);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace facet::cuda
