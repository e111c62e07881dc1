// Revival of dead components, those without images. A dead component's posterior has returned to
// the hyperprior, and a new mean alone would leave it too vague to win an image. So it gets all of
// its parameters from the heaviest component of its factor: that component is split into two halves
// with half of its evidence each, a small distance apart.
#pragma once

#include "facet/prior/factorial_mixture.h"

namespace facet {

/// Splits the heaviest components until none is dead (a component with more than one image in
/// expectation is alive) or none is heavy enough to split. Returns the number of revived
/// components.
int64_t revive_dead_components(const Key& key, FactorPosterior& posterior,
                               const Hyperprior& hyperprior);

}  // namespace facet
