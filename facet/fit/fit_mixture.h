// Fitting a factorial mixture to vectors. Points have no encoder that moves, so the factors do not
// depend on each other, and the bound of the whole is the sum of theirs. Exact updates are the
// coordinate ascent of variational Bayes: the bound never falls, also where the hyperprior is
// learned and components merge and split. Tensors go in and values come out; nothing is read or
// written here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "facet/fit/fit_events.h"
#include "facet/fit/fit_options.h"
#include "facet/fit/vector_mixture.h"

namespace facet {

struct FitData {
  torch::Tensor vectors;  ///< [N, Z] of any real type
  torch::Tensor labels =
      {};                    ///< int64 [N, I], -1 where unknown: a factor's component; or undefined
  torch::Tensor start = {};  ///< int64 [N, I]: the components to start from; undefined: k-means
  std::string object = "vectors";  ///< a name for messages
};

struct FitResult {
  VectorMixture mixture;
  double bound = 0;  ///< in nats per vector
  int64_t iterations = 0;
  bool converged =
      false;  ///< within the tolerance; else all iterations are done, or it was stopped
};

/// Throws an Error if the data do not suit the factors: other dimensions, fewer vectors than
/// components, values that are not finite, labels out of range.
void check_fit_data(const FitConfig& config, const FitData& data);

/// The data must suit the factors, as above.
FitResult fit_mixture(const FitConfig& config, const FitData& data,
                      const FitCallbacks& callbacks = {});

/// A natural-gradient step of every factor on a batch [B, Z] that stands for `vectors` vectors, in
/// place: what fits a stream of data. `labels` is int64 [B, I] or undefined.
void partial_fit(VectorMixture& mixture, const torch::Tensor& batch, const torch::Tensor& labels,
                 int64_t vectors, double rho);

}  // namespace facet
