// Labels as a named factor counts them: values of a property become components, by the names of
// values, because another pack may have them in another order.
#pragma once

#include "facet/core/tensor.h"
#include "facet/data/pack.h"
#include "facet/prior/factorial_mixture.h"

namespace facet {

/// The component for each label of a property, int64 [N]; -1 where it is unknown or a value that
/// the factor does not have.
torch::Tensor component_labels(const torch::Tensor& labels, const Property& property,
                               const FactorOptions& factor);

}  // namespace facet
