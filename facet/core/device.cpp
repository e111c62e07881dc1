#include "facet/core/device.h"

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"

namespace facet {

c10::Device choose_device(const std::string& text) {
  if (text == "cpu") return torch::Device(torch::kCPU);
  const torch::Device gpu(torch::kCUDA, 0);
  const bool present = cuda::available(), usable = present && cuda::runs_kernels(gpu);
  if (text == "cuda" && !usable)
    throw Error(
        {.doing = "choosing a device",
         .object = text,
         .found = present ? fmt::format("an older GPU ({})", cuda::gpu_name(gpu)) : "no usable GPU",
         .expected = "an NVIDIA GPU like H100 and H200 or later, and a LibTorch with CUDA",
         .cause = "--device cpu works everywhere"});
  return usable ? gpu : torch::Device(torch::kCPU);
}

}  // namespace facet
