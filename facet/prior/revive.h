// New life for components that no image takes. A dead component's posterior has gone back to the
// hyperprior, and moving its mean alone would leave it so vague that it wins nothing; so it gets a
// full set of natural parameters: half of the evidence of the heaviest component of its factor,
// whose two halves then step apart.
#pragma once

#include "facet/prior/factorial_mixture.h"

namespace facet {

/// Splits the heaviest components until none is dead (a component lives when it holds more than
/// one image in expectation) or none is heavy enough to split. Returns how many were revived.
int64_t revive_dead_components(const Key& key, FactorPosterior& posterior,
                               const Hyperprior& hyperprior);

}  // namespace facet
