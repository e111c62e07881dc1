// Which kernels run on which GPU: what follows from a compute capability and from what a build was
// compiled for. The limits are those of NVIDIA's programming guide.
#include "facet/cuda/kernel_target.h"

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"
#include "tests/contains.h"

namespace facet::cuda {
namespace {

TEST(KernelTarget, FollowsTheComputeCapability) {
  const KernelTarget a100 = target_of({80, 80, 163 << 10});
  EXPECT_TRUE(a100.kernels);
  EXPECT_FALSE(a100.clusters);
  EXPECT_FALSE(a100.warpgroups);
  EXPECT_EQ(a100.shared_bytes, 163 << 10);
  const KernelTarget h200 = target_of({90, 90, 227 << 10});
  EXPECT_TRUE(h200.kernels && h200.clusters && h200.warpgroups);
  for (const int version : {100, 103, 110, 120, 121}) {
    const KernelTarget later = target_of({version, version / 10 * 10, 99 << 10});
    EXPECT_TRUE(later.kernels && later.clusters) << version;
    EXPECT_FALSE(later.warpgroups) << version;
  }
}

TEST(KernelTarget, FollowsWhatTheCodeWasCompiledFor) {
  const KernelTarget from_older_code = target_of({90, 80, 227 << 10});
  EXPECT_TRUE(from_older_code.kernels);
  EXPECT_FALSE(from_older_code.clusters) << "the code has none, though the GPU has";
  EXPECT_FALSE(from_older_code.warpgroups) << "their sums are shared by clusters";
  EXPECT_FALSE(target_of({90, 0, 227 << 10}).kernels) << "no code at all";
  EXPECT_FALSE(target_of({75, 75, 64 << 10}).kernels) << "a Turing GPU";
}

TEST(KernelTarget, IsLimitedToWhatBothHave) {
  const KernelTarget h200 = target_of({90, 90, 227 << 10});
  const KernelTarget both = common(h200, target_of({86, 86, 99 << 10}));
  EXPECT_TRUE(both.kernels);
  EXPECT_FALSE(both.clusters);
  EXPECT_FALSE(both.warpgroups);
  EXPECT_EQ(both.shared_bytes, 99 << 10);
  EXPECT_EQ(common(h200, {true, true, true, 1 << 20}).shared_bytes, 227 << 10);
}

TEST(KernelTarget, SaysWhyLibTorchComputes) {
  const std::string old = fallback_sentence("Tesla T4", {75, 0, 64 << 10});
  EXPECT_TRUE(contains(old, "Tesla T4 has compute capability 7.5")) << old;
  EXPECT_TRUE(contains(old, "need 8.0")) << old;
  const std::string absent = fallback_sentence("NVIDIA A100", {80, 0, 163 << 10});
  EXPECT_TRUE(contains(absent, "8.0")) << absent;
  EXPECT_TRUE(contains(absent, "FACET_CUDA_ARCHITECTURES")) << absent;
}

TEST(KernelTarget, OfACpuNeedsNoRemark) {
  EXPECT_FALSE(fallback_remark(torch::kCPU));
  EXPECT_FALSE(kernels_available(torch::kCPU));
}

}  // namespace
}  // namespace facet::cuda
