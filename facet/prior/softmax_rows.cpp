#include "facet/prior/softmax_rows.h"

#include <cmath>

namespace facet {

namespace {

// Eight doubles, which the compiler turns into as many instructions as the processor needs. They
// are passed between functions that are always inlined, so their calling convention is no matter.
#pragma GCC diagnostic ignored "-Wpsabi"
using Doubles = double __attribute__((vector_size(64), aligned(8), may_alias));
using Integers = int64_t __attribute__((vector_size(64)));

#define FACET_INLINE inline __attribute__((always_inline))

FACET_INLINE Doubles all(double value) {
  return Doubles{value, value, value, value, value, value, value, value};
}

/// exp of numbers that are not positive, to two units in the last place; 0 below -600, so that no
/// product with it is a slow subnormal number. x = n ln 2 + r, and a Taylor series for r.
FACET_INLINE Doubles exp_of(Doubles x) {
  const Doubles low = all(-600.0);
  const auto vanishes = x < low;
  x = vanishes ? low : x;
  const Doubles magic = all(0x1.8p52);  // adding it rounds to an integer, in the lowest bits
  const Doubles shifted = x * all(0x1.71547652b82fep0) + magic;
  const Doubles n = shifted - magic;
  const Doubles r = (x - n * all(0x1.62e42fefa38p-1)) - n * all(0x1.ef35793c7673p-45);
  Doubles p = all(1.0 / 6227020800.0);
  p = p * r + all(1.0 / 479001600.0);
  p = p * r + all(1.0 / 39916800.0);
  p = p * r + all(1.0 / 3628800.0);
  p = p * r + all(1.0 / 362880.0);
  p = p * r + all(1.0 / 40320.0);
  p = p * r + all(1.0 / 5040.0);
  p = p * r + all(1.0 / 720.0);
  p = p * r + all(1.0 / 120.0);
  p = p * r + all(1.0 / 24.0);
  p = p * r + all(1.0 / 6.0);
  p = p * r + all(0.5);
  p = p * r + all(1.0);
  p = p * r + all(1.0);
  const Integers power = reinterpret_cast<Integers>(shifted) << 52;
  const Doubles result = reinterpret_cast<Doubles>(reinterpret_cast<Integers>(p) + power);
  return vanishes ? all(0.0) : result;
}

FACET_INLINE double largest_of(Doubles x) {
  double largest = x[0];
  for (int i = 1; i < 8; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

FACET_INLINE double sum_of(Doubles x) {
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

/// A row with a known label.
FACET_INLINE double one_hot(double* row, int64_t columns, int64_t label, double* sums) {
  const double score = row[label];
  for (int64_t k = 0; k < columns; ++k) row[k] = 0.0;
  row[label] = 1.0;
  sums[label] += 1.0;
  return score;
}

FACET_INLINE double softmax(double* scores, int64_t rows, int64_t columns, const int64_t* labels,
                            double* sums) {
  const int64_t vectors = columns / kSoftmaxWidth;
  auto* const sum_vectors = reinterpret_cast<Doubles*>(sums);
  double result = 0;
  for (int64_t n = 0; n < rows; ++n) {
    double* const row = scores + n * columns;
    if (labels != nullptr && labels[n] >= 0) {
      result += one_hot(row, columns, labels[n], sums);
      continue;
    }
    auto* const x = reinterpret_cast<Doubles*>(row);
    Doubles most = x[0];
    for (int64_t v = 1; v < vectors; ++v) most = x[v] > most ? x[v] : most;
    const double largest = largest_of(most);
    Doubles total = all(0.0);
    for (int64_t v = 0; v < vectors; ++v) {
      x[v] = exp_of(x[v] - all(largest));
      total += x[v];
    }
    const double sum = sum_of(total);
    result += largest + std::log(sum);
    const Doubles share = all(1.0 / sum);
    for (int64_t v = 0; v < vectors; ++v) {
      x[v] *= share;
      sum_vectors[v] += x[v];
    }
  }
  return result;
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) double softmax_avx2(double* scores, int64_t rows,
                                                        int64_t columns, const int64_t* labels,
                                                        double* sums) {
  return softmax(scores, rows, columns, labels, sums);
}
__attribute__((target("avx512f,avx512dq"))) double softmax_avx512(double* scores, int64_t rows,
                                                                  int64_t columns,
                                                                  const int64_t* labels,
                                                                  double* sums) {
  return softmax(scores, rows, columns, labels, sums);
}
#endif

}  // namespace

double softmax_rows(double* scores, int64_t rows, int64_t columns, const int64_t* labels,
                    double* sums) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return softmax_avx512(scores, rows, columns, labels, sums);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return softmax_avx2(scores, rows, columns, labels, sums);
#endif
  return softmax(scores, rows, columns, labels, sums);
}

}  // namespace facet
