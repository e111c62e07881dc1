// What GCC reports of every edge that runs (-fsanitize-coverage=trace-pc), as the counters that
// libFuzzer looks at besides its own.
#include <cstddef>
#include <cstdint>

namespace {
constexpr size_t kCounters = 1 << 18;
[[gnu::used, gnu::section("__libfuzzer_extra_counters")]] uint8_t counters[kCounters];
}  // namespace

extern "C" [[gnu::no_sanitize_coverage, gnu::no_sanitize("address", "undefined")]] void
__sanitizer_cov_trace_pc() {
  const auto place = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  ++counters[(place ^ (place >> 18)) % kCounters];
}

// Comparisons of numbers with a point, which libFuzzer has no use for.
extern "C" void __sanitizer_cov_trace_cmpf(float, float) {}
extern "C" void __sanitizer_cov_trace_cmpd(double, double) {}
