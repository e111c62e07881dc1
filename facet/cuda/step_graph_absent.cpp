// What stands in for step_graph.cpp in builds without CUDA.
#include <stdexcept>

#include "facet/cuda/step_graph.h"

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
  throw std::logic_error("the memory of a card, in a build without CUDA");
}

struct StepGraphs::State {};
StepGraphs::StepGraphs(torch::Device) {}
StepGraphs::~StepGraphs() = default;
void StepGraphs::step(int64_t, const std::function<void()>& body) { body(); }
void StepGraphs::forget(int64_t) {}

}  // namespace facet::cuda
