// A factorial mixture of vectors that are given as they are: the prior alone, without networks. The
// mixture itself is in standard units, in which every column of the vectors it was fitted to has
// mean 0 and standard deviation 1, so that squares do not cancel; what goes in and comes out here
// is in the units of the vectors.
#pragma once

#include <filesystem>
#include <string>

#include "facet/core/random.h"
#include "facet/prior/exact_fit.h"
#include "facet/prior/factorial_mixture.h"

namespace facet {

struct VectorMixture {
  FactorialMixture mixture;  ///< of (vector - shift) / scale
  torch::Tensor shift;       ///< float64 [Z]
  torch::Tensor scale;       ///< float64 [Z], positive
  int64_t vectors = 0;       ///< the number that it was fitted to

  /// log of the volume that a unit of the standard units has: what densities differ by.
  double log_volume() const;
};

/// The block of a factor in vectors [N, Z] of any real type, without a copy. `labels` is int64 [N].
FactorData factor_data(const VectorMixture& mixture, size_t factor, const torch::Tensor& vectors,
                       const torch::Tensor& labels = {});

/// The posterior of the components in the units of the vectors, [K, D] each.
NormalGamma components_of(const VectorMixture& mixture, size_t factor);
/// The hyperprior likewise, [D] each.
NormalGamma hyperprior_of(const VectorMixture& mixture, size_t factor);

/// The probability of every component of a factor, float64 [N, K] (eq:resp).
torch::Tensor predict_probabilities(const VectorMixture& mixture, size_t factor,
                                    const torch::Tensor& vectors);

/// What the mixture says of vectors one by one.
struct Prediction {
  torch::Tensor components;          ///< int64 [N, I], the most probable one of every factor
  torch::Tensor probabilities;       ///< float64 [N, I], of these
  torch::Tensor log_density;         ///< float64 [N], of the Student-t predictive, in nats
  std::vector<torch::Tensor> usage;  ///< summed probabilities of every factor, [K]
};
Prediction predict(const VectorMixture& mixture, const torch::Tensor& vectors);

/// The log predictive density of vectors, float64 [N].
torch::Tensor log_density(const VectorMixture& mixture, const torch::Tensor& vectors);

/// Draws from the predictive, float64 [count, Z], with the components they were drawn from.
torch::Tensor sample_vectors(const Key& key, const VectorMixture& mixture, int64_t count);

/// The bound on the log evidence of vectors [N, Z] under the mixture, in nats over all of them:
/// that of N vectors minus the hyperprior's KL. `labels` is int64 [N, I] or undefined.
double vector_bound(const VectorMixture& mixture, const torch::Tensor& vectors,
                    const torch::Tensor& labels = {});

/// The file has the tensors of a model's prior, "prior.NAME.m" and so on, in the units of the
/// vectors, and "vectors.shift" and "vectors.scale".
void write_mixture(const std::filesystem::path& path, const VectorMixture& mixture);
VectorMixture read_mixture(const std::filesystem::path& path);
/// Whether a file's metadata say that it is one.
bool is_mixture_format(const std::string& format);

/// Throws an Error that names `object` if vectors have other dimensions than the mixture, or values
/// that are not finite.
void require_vectors(const VectorMixture& mixture, const torch::Tensor& vectors,
                     const std::string& object);
/// The second half of it.
void require_finite_vectors(const torch::Tensor& vectors, const std::string& object);

}  // namespace facet
