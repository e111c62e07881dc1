// How named factors hang together with the data: which of its properties names a factor, what its
// values are called, which images have labels and how much each value counts.
#pragma once

#include <vector>

#include <torch/torch.h>

#include "facet/data/pack.h"
#include "facet/train/config.h"

namespace facet {

/// The column of each factor's property in the data, -1 for free factors. An Error where the data
/// has no such property.
std::vector<int64_t> find_label_columns(const std::vector<FactorOptions>& factors,
                                        const Pack& pack);

/// The config with the names of values filled in from the data. An Error where they are not those
/// that the config has, or more than the factor has components.
Config with_value_names(Config config, const Pack& pack);

/// The data's labels [N, P] as one column a factor, int64 [N, I], -1 where unknown and for free
/// factors; undefined where all are free.
torch::Tensor factor_labels(const torch::Tensor& labels, const std::vector<int64_t>& columns);

/// frequency^-balance of each value among the known labels, with a mean of one over them, [K].
torch::Tensor value_weights(const torch::Tensor& labels, int64_t components, double balance);

}  // namespace facet
