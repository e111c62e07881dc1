// A run that is loaded on a GPU computes by our kernels what LibTorch computes in float32, and is
// still the same model.
#include "facet/train/loaded_run.h"

#include <gtest/gtest.h>

#include "facet/core/process.h"
#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"
#include "facet/model/fingerprint.h"
#include "facet/model/generate.h"
#include "paths.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

/// ||a - b|| / ||b||.
double relative_distance(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor found = a.to(torch::kCPU, kFloat64), expected = b.to(torch::kCPU, kFloat64);
  return ((found - expected).norm() / expected.norm()).item<double>();
}

TEST(LoadedRun, ComputesInAnyPrecisionOnAGpu) {
  if (!cuda::available() || !cuda::kernels_available(torch::Device(torch::kCUDA, 0)))
    GTEST_SKIP() << "NO GPU WITH KERNELS: loaded runs on kernels are not tested";
  use_float32_convolutions();
  for (const char* name : {"portraits", "mnist"}) {
    const fs::path path = fs::path(FACET_SOURCE_FOLDER) / "models" / name;
    const LoadedRun plain = load_run(path, {.device = "cuda", .precision = "fp32"});
    EXPECT_FALSE(plain.model->accelerated());
    const ImageShape shape = plain.model->shape();
    const torch::Tensor pixels =
        (uniform(Key(1), {1003, shape.channels, shape.height, shape.width}, {}) * 255).to(kUInt8);
    const Encoding expected = encode_pixels(*plain.model, pixels);
    for (const char* precision : {"tf32", "bf16"}) {
      SCOPED_TRACE(std::string(name) + " in " + precision);
      const LoadedRun fast = load_run(path, {.device = "cuda", .precision = precision});
      EXPECT_TRUE(fast.model->accelerated());
      EXPECT_EQ(fingerprint(*fast.model), fingerprint(*plain.model));
      // As in tests/cuda/stack_test.cpp: ten or seven bits of mantissa in every layer.
      const double allowed = std::string(precision) == "bf16" ? 4e-2 : 4e-3;
      const Encoding found = encode_pixels(*fast.model, pixels);
      EXPECT_LT(relative_distance(found.mean, expected.mean), allowed);
      EXPECT_LT(relative_distance(found.log_variance, expected.log_variance), allowed);
      EXPECT_LT(relative_distance(decode_means(*fast.model, expected.mean),
                                  decode_means(*plain.model, expected.mean)),
                allowed);
    }
  }
}

}  // namespace
}  // namespace facet
