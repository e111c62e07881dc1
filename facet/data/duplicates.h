// Images that are the same to the last pixel. They belong in one split: a test image that was also
// trained on measures memory, not learning.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "facet/data/image.h"

namespace facet {

/// A number for the pixels of an image; a grey image has the same one in one and in three channels.
uint64_t pixel_hash(const Image& image);

/// For each image the first one with the same pixels, itself if there is none before it. Equal
/// hashes are told apart by the pixels, which `pixels(n)` reads again.
std::vector<int64_t> first_copies(const std::vector<uint64_t>& hashes,
                                  const std::function<std::vector<uint8_t>(int64_t)>& pixels);

}  // namespace facet
