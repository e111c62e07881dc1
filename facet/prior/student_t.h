// The Student-t predictive of a block (eq:z-t-dist): a component's Normal with mean and precision
// integrated out under their Normal-Gamma posterior,
//   T(z_d; m_d, (s_d + 1) / s_d * b_d / a_d, 2 a_d),
// where the second argument is the squared scale.
#pragma once

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/prior/normal_gamma.h"

namespace facet {

/// The squared scale of the predictive in every dimension, in the shape of the parameters.
torch::Tensor squared_scale(const NormalGamma& components);

/// The log density as a function of z: log T(z; k) = constant_k - sum_d power_kd log(1 + (z_d -
/// centre_kd)^2 / spread_kd).
struct StudentT {
  torch::Tensor constant;               ///< [K]
  torch::Tensor centre, spread, power;  ///< [K, D]

  StudentT(const NormalGamma& components);
};

/// The log predictive density of every block under every component. z is [B, D], components are
/// [K, D], the result is [B, K]; no larger tensor is allocated.
torch::Tensor student_t_log_density(const torch::Tensor& z, const StudentT& components);

/// One draw per row of `components`, whose rows are the chosen components, [B, D].
torch::Tensor student_t_sample(const Key& key, const NormalGamma& components);

}  // namespace facet
