// Arrays read from NumPy's .npy and .npz (without compression) and from .safetensors, as views of
// the mapped file: the inverse of array_write.h, which also takes what NumPy itself has written.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "facet/core/tensor.h"
#include "facet/data/text_column.h"

namespace facet {

struct ArrayFile {
  std::map<std::string, torch::Tensor> arrays;  ///< by name; a .npy's is called ""
  std::map<std::string, TextColumn> texts;      ///< NumPy's arrays of texts
  std::map<std::string, std::string> metadata;
};

/// The format is told by the ending. Throws an Error that begins with `doing` for other endings and
/// damaged files.
ArrayFile read_arrays(const std::filesystem::path& path, const std::string& doing);

}  // namespace facet
