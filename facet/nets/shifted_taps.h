// The inner loop of a convolution to few channels, over plain memory.
#pragma once

#include <cstdint>

namespace facet {

/// B, O, H and W of a convolution's output, and the side of its kernel.
struct TapShape {
  int64_t batch, channels, height, width, kernel;
};

/// Adds the contribution of every position in the kernel, `taps` [O, kernel, kernel, B, H, W], to
/// `output` [B, O, H, W], which already has the bias.
void add_taps(const TapShape& shape, const float* taps, float* output);
void add_taps(const TapShape& shape, const double* taps, double* output);

}  // namespace facet
