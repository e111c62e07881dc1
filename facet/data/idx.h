// The idx format, in which MNIST and similar data sets are published: a header with the sizes, then
// the raw values. Only unsigned bytes are supported; images and class labels need no other type.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace facet {

struct IdxArray {
  std::vector<int64_t> shape;   ///< one to four sizes, each at least 1; [N, H, W] for grey images
  std::vector<uint8_t> values;  ///< as many as the product of the shape, last dimension fastest
};

/// Reads an idx file, plain or gzip. Throws an Error if it has too few or too many bytes.
IdxArray read_idx(const std::filesystem::path& path);

}  // namespace facet
