// Moves that change the number of living components: two merge into one, and one splits into two.
// Each is judged by the bound itself over all images (Hughes and Sudderth, 2013): with
// responsibilities fixed and q(xi) at its optimum for them, the bound of a factor is
//   sum_k sum_d (A(lambda_kd) - A(lambda_0d)) + log Z(c) - log Z(c0) + H[gamma] + constant,
// with the log-normalisers A of the Normal-Gammas and Z of the weights, and the entropy H of the
// responsibilities. A move changes few of these terms, and only those that raise the sum are made.
// So K is an upper limit: as many components live as the data pays for.
#pragma once

#include "facet/core/random.h"
#include "facet/prior/exact_fit.h"

namespace facet {

struct Moves {
  int64_t merged = 0, split = 0;
};

/// Merges and splits components of a free factor, in place, after exact_update. A split needs a
/// component with less than one image. Does nothing if the bound is not higher afterwards.
Moves merge_and_split(const Key& key, FactorPosterior& posterior, const FactorData& data,
                      const FactorHyperprior& hyperprior);

/// Sorts the components by their pseudo-counts, largest first: the best order for stick-breaking
/// weights.
void sort_components(FactorPosterior& posterior);

}  // namespace facet
