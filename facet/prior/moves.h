// Moves that change the number of living components: two merge into one, and one splits into two
// (after Hughes and Sudderth, 2013). Each is judged over all images by what it adds to a goal
// (prior/move_goal.h), of which it changes few terms, and only those that raise it are made. So K
// is an upper limit: as many components live as the data pays for.
#pragma once

#include "facet/core/random.h"
#include "facet/prior/move_goal.h"

namespace facet {

struct Moves {
  int64_t merged = 0, split = 0;
};

/// Merges and splits components of a free factor, in place, after exact_update. A split needs a
/// component with less than one image. Does nothing if the goal is not higher afterwards.
Moves merge_and_split(MoveGoal goal, const Key& key, FactorPosterior& posterior,
                      const FactorData& data, const FactorHyperprior& hyperprior);

/// Sorts the components by their pseudo-counts, largest first: the best order for stick-breaking
/// weights.
void sort_components(FactorPosterior& posterior);

}  // namespace facet
