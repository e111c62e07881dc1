// Portraits, the built-in data set: cartoon faces whose properties (glasses, smile, hair, ...) are
// known exactly, with pose, proportions, light and shades varying continuously around them. They
// give tests and the demo images with a complete truth and without a download; the same seed,
// index and size give the same picture on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facet/data/image.h"

namespace facet {

/// Something about a portrait that takes one of a few named values. Properties are drawn
/// independently of each other, and each is visible in every portrait.
struct PortraitProperty {
  std::string name;
  std::vector<std::string> values;
  std::vector<double> frequencies;  ///< how often each value is drawn; they sum to one
};

/// One face and the truth about it.
struct Portrait {
  Image image;                  ///< [3, size, size]
  std::vector<int32_t> labels;  ///< [P], each an index into the values of its property
};

inline constexpr int64_t kSmallestPortrait = 16;
inline constexpr int64_t kLargestPortrait = 256;

/// The P properties in the order of Portrait::labels.
const std::vector<PortraitProperty>& portrait_properties();

/// Portrait `index` of the data set `seed`. Labels and pose do not depend on `size`, so that the
/// same key shows the same face at every size. Throws Error unless 16 <= size <= 256.
Portrait draw_portrait(uint64_t seed, uint64_t index, int64_t size);

/// The same with chosen labels, [P]: pose, light and shades stay those of (seed, index), so that
/// two portraits can differ in one property alone. Throws Error for labels that do not exist.
Portrait draw_portrait(uint64_t seed, uint64_t index, int64_t size,
                       const std::vector<int32_t>& labels);

}  // namespace facet
