// What merges and splits of components raise, as a sum over components: with responsibilities fixed
// and q(xi) at its optimum for them, a factor's goal is
//   sum_k worth(lambda_k) + worth(c) + H[gamma],
// where an empty component is worth nothing.
#pragma once

#include <string>
#include <vector>

#include "facet/prior/exact_fit.h"

namespace facet {

enum class MoveGoal {
  /// The bound of the whole data set, with the hyperprior's KL: worth(lambda) = A(lambda) -
  /// A(lambda_0). Every component has to pay for what its parameters might have been.
  evidence,
  /// The bound that images would have if each were left out of the data: to second order,
  /// log p(z_n | the others) = E[log p(z_n | xi)] - Var[log p(z_n | xi)] / 2.
  held_out,
};

/// "evidence" or "held_out", as in configs.
MoveGoal move_goal(const std::string& name);

/// The worth of components [..., D], summed over D.
torch::Tensor component_worth(MoveGoal goal, const NaturalNormalGamma& components,
                              const FactorHyperprior& hyperprior);

/// The worth of the weights with these pseudo-counts, up to a constant. Sticks are taken in their
/// best order: sorted by their pseudo-counts, largest first.
double weights_worth(MoveGoal goal, const std::vector<double>& counts,
                     const FactorHyperprior& hyperprior);

/// The factor's goal, with the responsibilities that the posterior gives.
double factor_worth(MoveGoal goal, const FactorPosterior& posterior, const FactorData& data,
                    const FactorHyperprior& hyperprior);

}  // namespace facet
