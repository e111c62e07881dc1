// What stands in for cuda_graph.cpp in builds without CUDA.
#include <stdexcept>

#include "facet/core/torch.h"
#include "facet/cuda/cuda_graph.h"

namespace facet::cuda {

struct StreamScope::State {};
StreamScope::StreamScope(torch::Device) {}
StreamScope::~StreamScope() = default;

struct SideStream::State {};
SideStream::SideStream(torch::Device) {}
SideStream::~SideStream() = default;
void SideStream::run(const std::function<void()>& work) { work(); }
void SideStream::join() {}

int64_t free_memory(torch::Device) {
  throw std::logic_error("the memory of a GPU, in a build without CUDA");
}

struct CudaGraphCache::State {};
CudaGraphCache::CudaGraphCache(torch::Device, bool) {}
CudaGraphCache::~CudaGraphCache() = default;
void CudaGraphCache::step(int64_t, const std::function<void()>& body) { body(); }
void CudaGraphCache::forget(int64_t) {}

}  // namespace facet::cuda
