#include "facet/cuda/cuda_graph.h"

#include <cuda_runtime_api.h>
#include <map>
#include <mutex>
#include <optional>

#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"
#include "facet/cuda/own_stream.h"

namespace facet::cuda {

namespace {

using c10::cuda::CUDAStream;
/// Its namespace differs between versions of LibTorch.
using MemoryPool = decltype(at::cuda::graph_pool_handle());

/// Steps of a kind that run directly before it is captured.
constexpr int64_t steps_before_capture = 3;

/// What is launched on `later` from now on waits for what `earlier` has been given.
void follow(const CUDAStream& later, const CUDAStream& earlier) {
  at::cuda::CUDAEvent event;
  event.record(earlier);
  event.block(later);
}

/// Makes `inner` the current stream. Its work runs after what the current stream has been given,
/// and what that stream is given afterwards waits for it.
class CurrentStream {
 public:
  explicit CurrentStream(CUDAStream inner)
      : outer_(c10::cuda::getCurrentCUDAStream(inner.device_index())), inner_(inner) {
    follow(inner_, outer_);
    c10::cuda::setCurrentCUDAStream(inner_);
  }
  ~CurrentStream() {
    c10::cuda::setCurrentCUDAStream(outer_);
    try {
      follow(outer_, inner_);
    } catch (const c10::Error&) {
      // The GPU is lost: its next use throws.
    }
  }
  CurrentStream(const CurrentStream&) = delete;
  CurrentStream& operator=(const CurrentStream&) = delete;

 private:
  CUDAStream outer_, inner_;
};

/// A capture under way, which ends with this object, whatever happens in between. Only one at a
/// time in the process: LibTorch's allocator serves all threads.
class Capture {
 public:
  Capture(at::cuda::CUDAGraph& graph, MemoryPool pool) : alone_(mutex()), graph_(graph) {
    // Other threads go on with their work, even with calls that may not be captured.
    graph_.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
    open_ = true;
  }
  void finish() {
    open_ = false;
    graph_.capture_end();
  }
  ~Capture() {
    if (!open_) return;
    try {
      graph_.capture_end();
    } catch (const c10::Error&) {
      // The exception that ended the capture is on its way, and says more.
    }
    cudaGetLastError();
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }

  std::lock_guard<std::mutex> alone_;
  at::cuda::CUDAGraph& graph_;
  bool open_ = false;
};

}  // namespace

struct StreamScope::State {
  c10::cuda::CUDAGuard device;
  OwnStream own;
  CurrentStream current;

  explicit State(torch::Device where) : device(where), own(where), current(own.get()) {}
};

StreamScope::StreamScope(torch::Device device) {
  if (device.is_cuda()) state_ = std::make_unique<State>(device);
}

StreamScope::~StreamScope() = default;

struct SideStream::State {
  OwnStream own;

  explicit State(torch::Device device) : own(device) {}
  CUDAStream current() const { return c10::cuda::getCurrentCUDAStream(own.get().device_index()); }
};

SideStream::SideStream(torch::Device device) {
  if (device.is_cuda()) state_ = std::make_unique<State>(device);
}

SideStream::~SideStream() = default;

void SideStream::run(const std::function<void()>& work) {
  if (!state_) return work();
  follow(state_->own.get(), state_->current());
  const c10::cuda::CUDAStreamGuard guard(state_->own.get());
  work();
}

void SideStream::join() {
  if (state_) follow(state_->current(), state_->own.get());
}

int64_t free_memory(torch::Device device) {
  const c10::cuda::CUDAGuard guard(device);
  size_t free = 0, total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return static_cast<int64_t>(free);
}

struct CudaGraphCache::State {
  /// The graph of a kind, and how many of its steps ran directly.
  struct Kind {
    int64_t steps = 0;
    std::unique_ptr<at::cuda::CUDAGraph> graph;
  };

  torch::Device device;
  OwnStream stream;  ///< for threads that have none of their own
  /// All kinds share memory: they run one after another, and what outlives a step is never freed.
  MemoryPool pool = at::cuda::graph_pool_handle();
  std::map<int64_t, Kind> kinds;

  explicit State(torch::Device where) : device(where), stream(where) {}
};

CudaGraphCache::CudaGraphCache(torch::Device device, bool capture) {
  if (capture && kernels_available(device)) state_ = std::make_unique<State>(device);
}

CudaGraphCache::~CudaGraphCache() = default;

void CudaGraphCache::step(int64_t kind, const std::function<void()>& body) {
  if (!state_) return body();
  const c10::cuda::CUDAGuard guard(state_->device);
  // The default stream cannot be captured.
  const auto index = state_->device.index();
  std::optional<CurrentStream> own;
  if (c10::cuda::getCurrentCUDAStream(index) == c10::cuda::getDefaultCUDAStream(index))
    own.emplace(state_->stream.get());
  State::Kind& captured = state_->kinds[kind];
  if (!captured.graph) {
    if (captured.steps++ < steps_before_capture) return body();
    auto graph = std::make_unique<at::cuda::CUDAGraph>();
    Capture capture(*graph, state_->pool);
    body();
    capture.finish();
    captured.graph = std::move(graph);
  }
  captured.graph->replay();
}

void CudaGraphCache::forget(int64_t kind) {
  if (state_) state_->kinds.erase(kind);
}

}  // namespace facet::cuda
