// The predictive log density of one block under a mixture of Student-t components on a GPU, float64
// (eq:z-t-dist). Importance bounds ask for it some ten million times; nothing of size [B, K] is
// made.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace facet::cuda {

/// The components as in prior/student_t.h, dense; the constants contain the log weights.
struct PredictiveMixture {
  int64_t components, dimensions;
  const double* constant;                  ///< [K]
  const double *centre, *inverse, *power;  ///< [K, D]; `inverse` is 1 / spread
};

/// log sum_k exp(constant_k - sum_d power_kd log(1 + (z_d - centre_kd)^2 inverse_kd)) of every row
/// of z [B, D], whose rows are `stride` numbers apart: written to `density` [B], or added to it.
void predictive_log_density(const float* z, int64_t rows, int64_t stride,
                            const PredictiveMixture& mixture, bool add, double* density,
                            cudaStream_t stream);

}  // namespace facet::cuda
