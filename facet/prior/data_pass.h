// One pass over all encodings of a factor: the E-step, the statistics and the sum of the bound's
// terms, in tiles of some hundred images that stay in a processor's cache. Nothing of size [N, K]
// is ever made, so the memory does not grow with N.
#pragma once

#include "facet/prior/exact_fit.h"

namespace facet {

struct DataPass {
  FactorStatistics statistics;  ///< of the responsibilities, not scaled
  /// The sum over the images of E[log N(z; mu_r, alpha_r^-1)] - KL[q(r) || p(r)], not scaled: with
  /// the entropy of q(z), which points do not have, it is the images' part of the bound.
  double bound = 0;
};

/// On the CPU; the data may be of any real type, and points or encodings with a variance.
DataPass pass_over(const FactorPosterior& posterior, const FactorData& data);

}  // namespace facet
