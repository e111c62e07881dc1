// What our kernels may use on a GPU. That follows from what the GPU has and from what the kernels
// were compiled for: code for compute capability 8.0 that the driver has compiled for a newer GPU
// knows no clusters, whatever that GPU can do.
#pragma once

#include <algorithm>
#include <string>

namespace facet::cuda {

/// A GPU as the kernels see it. Versions are ten times a compute capability: 90 is 9.0.
struct GpuTraits {
  int version = 0;
  int compiled_for = 0;  ///< what the code that it runs was compiled for; 0 if there is none
  int shared_bytes = 0;  ///< the most shared memory that a block can have
};

struct KernelTarget {
  bool kernels = false;     ///< ours run; else LibTorch's operations compute
  bool clusters = false;    ///< neighbouring blocks can read each other's shared memory
  bool warpgroups = false;  ///< wgmma, which 9.0 alone has
  int shared_bytes = 0;
};

/// The oldest GPU with the tensor-core instructions and asynchronous copies that every kernel uses.
constexpr int oldest_version = 80;

constexpr KernelTarget target_of(const GpuTraits& gpu) {
  KernelTarget target;
  target.kernels = gpu.version >= oldest_version && gpu.compiled_for >= oldest_version;
  target.clusters = target.kernels && gpu.version >= 90 && gpu.compiled_for >= 90;
  target.warpgroups = target.clusters && gpu.version == 90;
  target.shared_bytes = gpu.shared_bytes;
  return target;
}

/// What both have.
constexpr KernelTarget common(const KernelTarget& a, const KernelTarget& b) {
  return {a.kernels && b.kernels, a.clusters && b.clusters, a.warpgroups && b.warpgroups,
          std::min(a.shared_bytes, b.shared_bytes)};
}

/// Why LibTorch's operations compute on a GPU, as a sentence for its user.
inline std::string fallback_sentence(const std::string& name, const GpuTraits& gpu) {
  const std::string version =
      std::to_string(gpu.version / 10) + "." + std::to_string(gpu.version % 10);
  const std::string begin = name + " has compute capability " + version + ", and ";
  if (gpu.version < oldest_version)
    return begin + "our kernels need 8.0: LibTorch's operations compute, in float32";
  return begin +
         "this build has no kernels for it (FACET_CUDA_ARCHITECTURES): LibTorch's operations "
         "compute, in float32";
}

// The rest is in builds with CUDA only.

/// Asked once per GPU.
GpuTraits gpu_traits(int device);

/// What kernels may use on the GPU that is current for this thread.
KernelTarget current_target();

/// While one lives, kernels of all threads keep to what `most` has too: tests and labs run what
/// another GPU would.
class LimitedTarget {
 public:
  explicit LimitedTarget(const KernelTarget& most);
  ~LimitedTarget();
  LimitedTarget(const LimitedTarget&) = delete;
  LimitedTarget& operator=(const LimitedTarget&) = delete;

 private:
  KernelTarget most_;
};

}  // namespace facet::cuda
