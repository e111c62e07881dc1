#include "facet/train/multiply_adds.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <ATen/Parallel.h>

#include "facet/core/parallel.h"

namespace facet {

namespace {

constexpr int64_t kRounds = 200'000;
constexpr int64_t kSums =
    10;  // in flight at once: a multiply-add takes four cycles, and two start in each

using Narrow = float __attribute__((vector_size(16)));
using Medium = float __attribute__((vector_size(32)));
using Wide = float __attribute__((vector_size(64)));

/// Ten sums in registers; returns a number that depends on all.
template <class Vector>
[[gnu::always_inline]] inline float multiply_and_add() {
  const Vector factor = Vector{} + 0.999f, summand = Vector{} + 1e-3f;
  Vector sums[kSums] = {};
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 10
    for (Vector& sum : sums) sum = sum * factor + summand;
  }
  Vector total{};
  for (const Vector& sum : sums) total += sum;
  return total[0];
}

#ifdef __x86_64__
__attribute__((target("avx512f"))) float wide() { return multiply_and_add<Wide>(); }
__attribute__((target("avx2,fma"))) float medium() { return multiply_and_add<Medium>(); }
#endif
float narrow() { return multiply_and_add<Narrow>(); }

struct Loop {
  float (*run)();
  int64_t width;  ///< numbers in a register
};
Loop widest_loop() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return {wide, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {medium, 8};
#endif
  return {narrow, 4};
}

}  // namespace

double multiply_add_rate() {
  using Clock = std::chrono::steady_clock;
  const Loop loop = widest_loop();
  const int64_t threads = at::get_num_threads();
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto begun = Clock::now();
    parallel_for(threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        [[maybe_unused]] volatile const float kept = loop.run();
      }
    });
    const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    best = std::max(best, 2.0 * kSums * loop.width * kRounds * threads / seconds);
  }
  return best;
}

}  // namespace facet
