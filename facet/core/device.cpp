#include "facet/core/device.h"

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"

namespace facet {

c10::Device choose_device(const std::string& text, int64_t local_rank) {
  if (text == "cpu") return torch::Device(torch::kCPU);
  if (text != "cuda" && text != "auto")
    Attempt{"choosing a device", text}.fail("no such device", "auto, cpu or cuda");
  const bool available = cuda::available();
  if (text == "cuda" && !available)
    throw Error({.doing = "choosing a device",
                 .object = text,
                 .found = "no usable GPU",
                 .expected = "an NVIDIA GPU, and a build with CUDA",
                 .cause = "the device 'cpu' works everywhere"});
  if (!available) return torch::Device(torch::kCPU);
  const int64_t index = local_rank == 0 ? 0 : local_rank % cuda::gpu_count();
  const torch::Device gpu(torch::kCUDA, static_cast<c10::DeviceIndex>(index));
  if (index > 0) cuda::make_current(gpu);
  return gpu;
}

void prepare_for_threads(const c10::Device& device) {
  if (device.is_cuda()) torch::linalg_inv(torch::eye(1, device));
}

}  // namespace facet
