// What tests of charts and of drawn pictures share.
#pragma once

#include <cstdint>
#include <limits>

#include "facet/data/image.h"

namespace facet {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Whether a pixel is the blue of the first line or group (#0072b2), as far as that covers it.
inline bool is_blue(const Image& image, int64_t row, int64_t column) {
  return image.at(0, row, column) < 40 && image.at(2, row, column) > 140;
}

}  // namespace facet
