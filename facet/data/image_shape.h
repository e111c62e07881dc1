// The shape of the images of a pack or a model.
#pragma once

#include <cstdint>

namespace facet {

struct ImageShape {
  int64_t channels = 0, height = 0, width = 0;
  bool operator==(const ImageShape&) const = default;
};

}  // namespace facet
