// The search for splits of components (prior/moves.h): each becomes two halves, which share its
// responsibilities in the way that raises the bound most.
#pragma once

#include <cstdint>
#include <vector>

#include "facet/core/random.h"
#include "facet/prior/move_goal.h"

namespace facet {

/// Components as two each, which share the responsibilities of their parent.
struct Halves {
  std::vector<int64_t> parents;  ///< H of them
  FactorPosterior first, second;
  /// What the goal gains by each, without the weights, [H].
  torch::Tensor gain;
};

/// Halves of the parents that gain something. They are searched with some images, and what looks
/// promising there is weighed with all.
Halves best_halves(MoveGoal goal, const Key& key, const FactorPosterior& posterior,
                   const std::vector<int64_t>& parents, const FactorData& data,
                   const FactorHyperprior& hyperprior);

}  // namespace facet
