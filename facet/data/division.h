// The random division of images into train, valid and test.
#pragma once

#include <cstdint>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/data/import_options.h"

namespace facet {

/// U8 [N], by the options' fractions and seed. Images with the same number in `groups` come into
/// the same split; a group that is larger than what a split still takes is trained on, so that
/// valid and test never get more than their fractions.
torch::Tensor random_split(const std::vector<int64_t>& groups, const TableOptions& options);

}  // namespace facet
