// A start for a mixture that stays alive. Components begin at k-means centres of the encoder's
// means; their variance is the spread within clusters plus the encoder's own variance. Leave that
// second part out and every component is hundreds of nats off in the inactive dimensions, where the
// encoder says N(0, 1): the first component to adapt then takes every image and the rest die.
#pragma once

#include "facet/prior/factorial_mixture.h"

namespace facet {

/// The posterior of one factor from the encodings of `count` images; `images` is N, the size of the
/// data set that the posterior is to stand for.
FactorPosterior initial_posterior(const Key& key, const BlockEncoding& block, int64_t components,
                                  int64_t images, int64_t kmeans_iterations,
                                  const Hyperprior& hyperprior);

/// The same for a named factor: component k starts at the mean of the images labelled k. `labels`
/// is int64 [n], -1 where unknown; a component without a labelled image starts at the mean of all.
FactorPosterior labelled_posterior(const BlockEncoding& block, const torch::Tensor& labels,
                                   int64_t components, int64_t images,
                                   const Hyperprior& hyperprior);

}  // namespace facet
