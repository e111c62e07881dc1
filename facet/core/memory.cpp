#include "facet/core/memory.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <sys/sysinfo.h>

namespace facet {

namespace {

/// The number in a file of the control group's; none: no limit.
double group_limit(const char* path, double otherwise) {
  std::ifstream file(path);
  double limit = 0;
  return file >> limit && limit > 0 ? limit : otherwise;  // "max" is no number
}

}  // namespace

double memory_limit() {
  struct sysinfo machine {};
  double limit = 1e18;
  if (sysinfo(&machine) == 0)
    limit = static_cast<double>(machine.mem_unit) *
            (static_cast<double>(machine.totalram) + static_cast<double>(machine.totalswap));
  limit = std::min(limit, group_limit("/sys/fs/cgroup/memory.max", limit));
  limit = std::min(limit, group_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes", limit));
  struct rlimit address {};
  if (getrlimit(RLIMIT_AS, &address) == 0 && address.rlim_cur != RLIM_INFINITY)
    limit = std::min(limit, static_cast<double>(address.rlim_cur));
  return limit;
}

}  // namespace facet
