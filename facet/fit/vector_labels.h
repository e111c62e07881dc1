// Labels of vectors, and the components that they start in: tables with one row per vector.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/data/pack.h"
#include "facet/prior/factor_options.h"

namespace facet {

struct VectorLabels {
  std::vector<Property> properties;
  torch::Tensor labels;  ///< int64 [N, P]: the index of a value, -1 where unknown

  bool empty() const { return properties.empty(); }
};

/// Reads the columns of a CSV, or a .npy of integers: [N], the property "label", or [N, P],
/// "label0" and so on. Unknown is an empty cell of a CSV, and -1 where values are integers. Values
/// are in the order of numbers, or else of the alphabet. Throws an Error if there are not `vectors`
/// rows.
VectorLabels read_vector_labels(const std::filesystem::path& path, int64_t vectors);

/// The labels of every factor as its components, int64 [N, I], -1 where unknown; undefined if no
/// factor is named.
torch::Tensor labels_of_factors(const VectorLabels& labels,
                                const std::vector<FactorOptions>& factors);

/// The starting components of all factors, int64 [N, I], from a .npy of integers [N] or [N, I].
torch::Tensor read_start(const std::filesystem::path& path, int64_t vectors, int64_t factors);

}  // namespace facet
