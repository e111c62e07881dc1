// What the labs of kernels share: GPU memory between guard zones, and the time of a call as a node
// of a replayed graph, which is how a training step runs it.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <functional>
#include <vector>

namespace facet::lab {

[[noreturn]] inline void fail(const char* what, const char* why) {
  std::printf("%s: %s\n", what, why);
  std::exit(1);
}

inline void require(cudaError_t status, const char* what) {
  if (status != cudaSuccess) fail(what, cudaGetErrorString(status));
}

/// Numbers on the GPU between two guard zones that nothing may write to.
template <typename Scalar>
class Buffer {
 public:
  /// Begins as NaN (all bits set). Streams of labs do not wait for the one that sets the bits.
  explicit Buffer(size_t count) : count_(count) {
    require(cudaMalloc(&base_, bytes() + 2 * guard), "cudaMalloc");
    require(cudaMemset(base_, 0xff, bytes() + 2 * guard), "cudaMemset");
    require(cudaDeviceSynchronize(), "cudaMemset");
  }
  explicit Buffer(const std::vector<Scalar>& values) : Buffer(values.size()) { set(values); }
  Buffer(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept : count_(other.count_), base_(other.base_) {
    other.base_ = nullptr;
  }
  ~Buffer() { cudaFree(base_); }

  Scalar* get() const { return reinterpret_cast<Scalar*>(base_ + guard); }
  operator Scalar*() const { return get(); }
  void set(const std::vector<Scalar>& values) {
    require(cudaMemcpy(get(), values.data(), bytes(), cudaMemcpyHostToDevice), "copy to the GPU");
  }
  /// Every byte the same: 0xff for NaN.
  void set_bytes(int byte) const {
    require(cudaMemset(get(), byte, bytes()), "cudaMemset");
    require(cudaDeviceSynchronize(), "cudaMemset");
  }
  std::vector<Scalar> host() const {
    check_guards();
    std::vector<Scalar> values(count_);
    require(cudaMemcpy(values.data(), get(), bytes(), cudaMemcpyDeviceToHost), "copy back");
    return values;
  }
  void check_guards() const {
    for (const unsigned char* zone : {base_, base_ + guard + bytes()}) {
      unsigned char found[guard];
      require(cudaMemcpy(found, zone, guard, cudaMemcpyDeviceToHost), "copy back");
      if (std::any_of(found, found + guard, [](unsigned char byte) { return byte != 0xff; }))
        fail("checking memory", "a kernel wrote into a guard zone");
    }
  }

 private:
  static constexpr size_t guard = 256;
  size_t bytes() const { return count_ * sizeof(Scalar); }
  size_t count_;
  unsigned char* base_ = nullptr;
};

/// Microseconds per call in a graph of `calls` calls, for each of several replays, in rising order.
inline std::vector<double> replay_times(cudaStream_t stream, int calls, int replays,
                                        const std::function<void(cudaStream_t)>& call) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  for (int i = 0; i < calls; ++i) call(stream);
  require(cudaStreamEndCapture(stream, &graph), "capture");
  require(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
  cudaEvent_t begin, end;
  require(cudaEventCreate(&begin), "event");
  require(cudaEventCreate(&end), "event");
  std::vector<double> times;
  for (int i = 0; i < replays; ++i) {
    require(cudaEventRecord(begin, stream), "event");
    require(cudaGraphLaunch(executable, stream), "replay");
    require(cudaEventRecord(end, stream), "event");
    require(cudaEventSynchronize(end), "replay");
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, begin, end), "event");
    times.push_back(1000.0 * milliseconds / calls);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace facet::lab
