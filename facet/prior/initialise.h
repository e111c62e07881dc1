// An initialisation of a mixture that keeps its components alive. Components start at k-means
// centres of the encoder's means; their variance is the variance within clusters plus the encoder's
// own. Without the second part every component would be hundreds of nats off in the inactive
// dimensions, where q(z|x) is N(0, 1): the first component to adapt would then take all images and
// the others would die.
#pragma once

#include "facet/prior/factorial_mixture.h"

namespace facet {

/// The posterior of one factor from the encodings [n, D] of some images, with the pseudo-counts of
/// a data set of `images` images.
FactorPosterior initial_posterior(const Key& key, const BlockEncoding& block, int64_t components,
                                  int64_t images, int64_t kmeans_iterations,
                                  const FactorHyperprior& hyperprior);

/// The same for a named factor: component k starts at the mean of the images with label k. `labels`
/// is int64 [n], -1 where unknown; a component without labelled images starts at the overall mean.
FactorPosterior labelled_posterior(const BlockEncoding& block, const torch::Tensor& labels,
                                   int64_t components, int64_t images,
                                   const FactorHyperprior& hyperprior);

}  // namespace facet
