// The idx format, in which MNIST and its relatives are published: a header of sizes and then the
// raw values. Only unsigned bytes are read, because images and class labels are nothing else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace facet {

struct IdxArray {
  std::vector<int64_t> shape;   ///< one to four sizes, each at least 1; [N, H, W] for grey images
  std::vector<uint8_t> values;  ///< as many as the product of the shape, last dimension fastest
};

/// Reads an idx file, plain or gzip; an Error unless it is whole and has nothing to spare.
IdxArray read_idx(const std::filesystem::path& path);

}  // namespace facet
