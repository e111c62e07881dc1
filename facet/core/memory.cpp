#include "facet/core/memory.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"

namespace facet {

namespace {

/// The number in a file of the control group's; none: no limit.
double group_limit(const char* path, double otherwise) {
  std::ifstream file(path);
  double limit = 0;
  return file >> limit && limit > 0 ? limit : otherwise;  // "max" is no number
}

/// The most address space that the process may use; infinity without a limit.
double address_limit() {
  struct rlimit limit {};
  const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited ? static_cast<double>(limit.rlim_cur) : std::numeric_limits<double>::infinity();
}

/// What OpenBLAS maps for each thread, and something for the thread itself.
constexpr size_t kProductBytes = size_t{160} << 20;

}  // namespace

double memory_limit() {
  struct sysinfo machine {};
  double limit = 1e18;
  if (sysinfo(&machine) == 0)
    limit = static_cast<double>(machine.mem_unit) *
            (static_cast<double>(machine.totalram) + static_cast<double>(machine.totalswap));
  limit = std::min(limit, group_limit("/sys/fs/cgroup/memory.max", limit));
  limit = std::min(limit, group_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes", limit));
  return std::min(limit, address_limit());
}

void take_product_memory() {
  if (std::isinf(address_limit())) return;
  const size_t bytes = kProductBytes * static_cast<size_t>(torch::get_num_threads());
  void* room = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    Attempt{"starting"}.fail(
        fmt::format("less than {} MB left of the {:.0f} MB of address space that are allowed",
                    bytes / 1000000, address_limit() / 1e6),
        "that many for products of matrices", "ulimit -v limits it");
  munmap(room, bytes);
  torch::NoGradGuard no_gradient;
  const torch::Tensor ones = torch::ones({64, 64});
  torch::mm(ones, ones);
}

}  // namespace facet
