// Times in [0, 1] as the input of a network: sines and cosines of many frequencies.
#pragma once

#include "facet/core/tensor.h"

namespace facet {

inline constexpr int64_t kTimeFeatures = 128;

/// [B, kTimeFeatures] for times [B], float32.
torch::Tensor time_features(const torch::Tensor& times);

}  // namespace facet
