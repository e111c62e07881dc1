// The prior p(xi) of one factor's mixture: a Normal-Gamma per dimension that all components share,
// and the prior of the weights. It starts at the config's numbers. It may then be learned
// (empirical Bayes): given the posteriors of the components, the bound has its maximum over m0, s0,
// b0 in closed form, and over a0 and c0 by Newton's method. Dimensions that no component uses then
// share one mean and one precision, and cost nothing for being uncertain in every component.
#pragma once

#include "facet/core/tensor.h"
#include "facet/prior/factor_options.h"
#include "facet/prior/normal_gamma.h"

namespace facet {

struct FactorPosterior;

/// Tensors are float64, and on a GPU they are never reallocated while training.
struct FactorHyperprior {
  NormalGamma components;       ///< m0, s0, a0, b0, [D] each
  torch::Tensor count;          ///< c0, a scalar
  torch::Tensor concentration;  ///< of a stick-breaking prior, a scalar; undefined: Dirichlet

  /// The same numbers in every dimension; [1] stands for any number of dimensions.
  FactorHyperprior(const Hyperprior& numbers, int64_t dimensions = 1,
                   torch::Device device = torch::kCPU);

  FactorHyperprior to(torch::Device device) const;
  /// "m0", "s0", "a0", "b0", "c0", and "concentration" if it is defined.
  NamedTensors tensors() const;
};

/// Replaces the hyperprior by the one with the highest bound, given the posterior, in place. Only
/// living components count, and with fewer than two of them nothing changes. Bounded: it weighs at
/// most ten times as much as the images of a component, so that components which all agree, or have
/// one image each, do not make it infinitely certain.
void learn_hyperprior(FactorHyperprior& hyperprior, const FactorPosterior& posterior);

}  // namespace facet
