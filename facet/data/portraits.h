// Portraits, the built-in data set: cartoon faces whose properties (glasses, smile, hair, ...) are
// known exactly, while pose, proportions, light and shades vary continuously. Tests and the demo
// thus have images with complete ground truth and need no download. The same seed, index and size
// give the same picture on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facet/data/image.h"

namespace facet {

/// A property of a portrait with a few named values. Properties are drawn independently of each
/// other, and each is visible in every portrait.
struct PortraitProperty {
  std::string name;
  std::vector<std::string> values;
  std::vector<double> frequencies;  ///< how often each value is drawn; they sum to one
};

/// One face and its true labels.
struct Portrait {
  Image image;                  ///< [3, size, size]
  std::vector<int32_t> labels;  ///< [P], each an index into the values of its property
};

inline constexpr int64_t kSmallestPortrait = 16;
inline constexpr int64_t kLargestPortrait = 256;

/// The P properties, in the order of Portrait::labels.
const std::vector<PortraitProperty>& portrait_properties();

/// Portrait `index` of the data set `seed`. Labels and pose do not depend on `size`: the same seed
/// and index give the same face at every size. Throws an Error unless 16 <= size <= 256.
Portrait draw_portrait(uint64_t seed, uint64_t index, int64_t size);

/// The same with given labels, [P]: pose, light and shades stay those of (seed, index), so that two
/// portraits can differ in one property alone. Throws an Error for labels that do not exist.
Portrait draw_portrait(uint64_t seed, uint64_t index, int64_t size,
                       const std::vector<int32_t>& labels);

}  // namespace facet
