// The shape that all images of a pack have, and that a model is made for.
#pragma once

#include <cstdint>

namespace facet {

struct ImageShape {
  int64_t channels = 0, height = 0, width = 0;
  bool operator==(const ImageShape&) const = default;
};

}  // namespace facet
