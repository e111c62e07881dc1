// A stream that nobody else uses. LibTorch hands out the same 32 streams again and again, and a run
// whose stream another run captures would become part of that capture. For CUDA files only.
#pragma once

#include <cuda_runtime_api.h>

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace facet::cuda {

class OwnStream {
 public:
  explicit OwnStream(torch::Device device)
      : device_(device.has_index() ? device.index() : c10::cuda::current_device()) {
    const c10::cuda::CUDAGuard guard(device_);
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~OwnStream() {
    // CUDA may give its handle to another stream at once, and LibTorch keeps memory by that handle.
    // Errors are ignored: a lost GPU is reported by its next use.
    (void)cudaStreamSynchronize(stream_);
    (void)cudaStreamDestroy(stream_);
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  c10::cuda::CUDAStream get() const { return c10::cuda::getStreamFromExternal(stream_, device_); }

 private:
  c10::DeviceIndex device_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace facet::cuda
