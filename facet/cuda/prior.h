// The factorial mixture prior on a GPU, for all factors of a model at once and in float64: the
// terms of the bound with their gradient by the encoding (eq:resp, eq:Elogp, eq:elbo:b, eq:elbo:c),
// and the E-step with the natural-gradient step (eq:natural-gradients, eq:lambda-update). Nothing
// of size [B, K, D] exists, and sums over d, k and images are matrix products on the tensor cores'
// float64. Two launches each, three beyond 512 components:
//   scores   coefficients of every component from its natural parameters, and eq:Elogp [B, K]
//   combine  the softmax's normaliser, where there are many components
//   terms    responsibilities, the terms, and responsibilities times coefficients; or
//   update   responsibilities times encodings, and the step
// Coefficients are made anew from the natural parameters each time: nothing can be out of date.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace facet::cuda {

constexpr int most_factors = 8;

/// One factor: its block of the encodings, its posterior, memory for what is computed. B images, K
/// components, D dimensions; where nothing else is said tensors are dense.
struct PriorFactor {
  int64_t components, dimensions;
  const void* mean;    ///< [B, D], rows `row` numbers apart
  const void* spread;  ///< of the same layout: log variance (float32) or variance (float64)
  int64_t row;
  double *log_alpha, *alpha, *alpha_mu, *alpha_mu2;  ///< natural parameters, [K, D]
  double* counts;                                    ///< [K]
  /// E[log pi], [K]; null where the weights are Dirichlet, and E[log pi] is made from the counts.
  const double* expected_log_weights;
  const double *m0, *s0, *a0, *b0;  ///< of the hyperprior, [D]; null where nothing is updated
  const double* c0;                 ///< likewise, one number
  const int64_t* labels;            ///< [B], -1 where unknown; may be null
  int64_t labels_stride;

  double* log_normal;        ///< scratch, [B, K] (eq:Elogp)
  double* log_weights;       ///< scratch, [K]: digamma(c), or E[log pi]
  double* tile_sums;         ///< scratch, of tile_numbers(B, K) numbers
  double* responsibilities;  ///< [B, K], as the rest here null where no terms are wanted
  double *kl_z, *kl_r, *label_log_likelihood;  ///< [B]

  /// Derivatives of kl_z and of the label's log likelihood by mean and log variance, [B, D] with
  /// rows `row` numbers apart; null where no gradient is wanted. The label's may be null alone.
  float *kl_mean, *kl_spread, *label_mean, *label_spread;
  double* coefficients;  ///< scratch for them, [K, 2, D]

  double* partials;   ///< scratch for terms, of partial_numbers(B, K, D) numbers
  unsigned* tickets;  ///< likewise, of ticket_numbers(B)
};

struct PriorBatch {
  int count;
  int64_t images;
  PriorFactor factor[most_factors];
};

int64_t tile_numbers(int64_t images, int64_t components);
int64_t partial_numbers(int64_t images, int64_t components, int64_t dimensions);
int64_t ticket_numbers(int64_t images);

enum class Encodings {
  log_variances,  ///< float32 means and log variances, as the encoder gives them
  variances,      ///< float64 means and variances, as phase 2 keeps them
};

/// Responsibilities and terms; with log_variances also their derivatives, where those have memory.
void prior_terms(const PriorBatch& batch, Encodings encodings, cudaStream_t stream);

/// For each factor the gradient [B] of kl_z and of the label's log likelihood, null where there is
/// none, with strides.
struct TermGradients {
  const double* kl_z[most_factors];
  const double* label[most_factors];
  int64_t kl_z_stride[most_factors], label_stride[most_factors];
  float* mean[most_factors];  ///< results, laid out as the derivatives
  float* spread[most_factors];
};
void prior_terms_gradient(const PriorBatch& batch, const TermGradients& gradients,
                          cudaStream_t stream);

struct NaturalStep {
  double scale;       ///< N / |B|
  const double* rho;  ///< on the GPU
};
/// The E-step, and lambda <- (1 - rho) lambda + rho lambda* in place.
void prior_update(const PriorBatch& batch, Encodings encodings, const NaturalStep& step,
                  cudaStream_t stream);

}  // namespace facet::cuda
