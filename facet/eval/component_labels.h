// Labels as components of a named factor. Values are matched by name, because another pack may list
// them in another order.
#pragma once

#include "facet/core/tensor.h"
#include "facet/data/pack.h"
#include "facet/prior/factorial_mixture.h"

namespace facet {

/// The component of each label of a property, int64 [N]; -1 if the label is unknown or the factor
/// does not have the value.
torch::Tensor component_labels(const torch::Tensor& labels, const Property& property,
                               const FactorOptions& factor);

/// Throws an Error that names the first value of the data that the named factor does not have.
void require_known_values(const Property& property, const FactorOptions& factor);

}  // namespace facet
