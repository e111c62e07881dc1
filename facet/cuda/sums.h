// Sums over the images of a batch on a GPU, several in one launch: the training loss as a weighted
// sum of means with its gradient, and the sums of a metrics line. Each sum is taken in one order.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace facet::cuda {

constexpr int most_terms = 64;

enum class Number : int32_t { float32, float64, int64 };

/// What of some numbers is added up.
enum class Summary : int32_t {
  mean,
  sum,
  known,  ///< how many are not negative
};

struct Term {
  const void* values;  ///< null counts one
  int64_t count, stride;
  Number type;
  Summary summary;
  double factor;
  const double* weight;  ///< on the GPU; null stands for 1
  int64_t at;            ///< the sum that it is added to
};

struct Terms {
  int count;
  Term term[most_terms];
};

/// Adds factor * weight * summary of every term to its sum; `fresh` begins at 0 instead, then every
/// term must be added to sum 0.
void add_terms(double* sums, const Terms& terms, bool fresh, cudaStream_t stream);

/// The derivative of a weighted sum of means by each value of a term, which all its values share:
/// `derivatives` [terms] in float64 and `small_derivatives` [terms] in float32.
void term_derivatives(const double* gradient, const Terms& terms, double* derivatives,
                      float* small_derivatives, cudaStream_t stream);

}  // namespace facet::cuda
