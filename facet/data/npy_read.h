// Reading NumPy's .npy format, from a file of its own or from an entry of an .npz: a magic string,
// a version, a header that is a Python dictionary of three entries, and the bytes of the array.
#pragma once

#include <memory>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/tensor.h"
#include "facet/data/text_column.h"

namespace facet {

/// Where a .npy stands.
struct NpyBytes {
  std::shared_ptr<MappedFile> file;
  size_t begin = 0, size = 0;
};

/// Numbers or texts.
struct NpyContents {
  torch::Tensor numbers;  ///< undefined for texts; a view of the file where that is possible
  TextColumn texts;
};

/// Real numbers or integers, little-endian, in C or Fortran order, or texts. Throws an Error if
/// they are damaged or of another type.
NpyContents read_npy(const NpyBytes& source, const Attempt& reading);

}  // namespace facet
