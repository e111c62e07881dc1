// The tree of a factor's components with pictures of them (prior/merge_tree.h): what
// `facet clusters --tree` and the report draw.
#pragma once

#include "facet/model/vae.h"
#include "facet/report/dendrogram.h"

namespace facet {

/// The tree from `limit` groups down to one, or from more if the tree itself suggests more. A
/// group shows its heaviest components, each at its mean, with all other factors drawn once.
/// Throws an Error for a named factor and without living components.
Dendrogram component_dendrogram(Vae& model, size_t factor, int64_t limit, uint64_t seed);

}  // namespace facet
