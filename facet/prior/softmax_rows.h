// The E-step's softmax over components as a loop of our own: one pass over scores that are still in
// the cache, for the widest vectors that the processor has. LibTorch's operations would write and
// read a matrix [N, K] five times.
#pragma once

#include <cstdint>

namespace facet {

/// Rows have a multiple of this many columns; scores of columns that are no component are very low.
inline constexpr int64_t kSoftmaxWidth = 8;

/// Replaces each of `rows` rows of `columns` scores by its softmax, adds it to `sums` [columns],
/// and returns the sum over the rows of log sum exp. Where `labels` is not null and a row's label
/// is not negative, the row becomes one-hot, and its part of the result is the score of the label.
double softmax_rows(double* scores, int64_t rows, int64_t columns, const int64_t* labels,
                    double* sums);

}  // namespace facet
