// Loops over LibTorch's threads.
#pragma once

#include <cstdint>
#include <functional>

namespace facet {

/// Divides 0 to `count` into ranges and calls `work(begin, end)` for each, in several threads.
void parallel_for(int64_t count, const std::function<void(int64_t, int64_t)>& work);

}  // namespace facet
