// Arrays of numbers in the files that people have them in: NumPy's .npy, safetensors, the .fvecs,
// .bvecs and .ivecs of nearest-neighbour benchmarks, and CSV. Binary files are mapped into memory,
// so that an array may be larger than it; a CSV is read as float64.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "facet/core/tensor.h"

namespace facet {

/// The array of a file, of its own type and with any strides; read-only where the file is mapped.
/// The name's ending tells the format. `tensor` names one of a safetensors file; empty takes the
/// only one with two dimensions. Throws an Error if the file is damaged or of another kind.
torch::Tensor read_array(const std::filesystem::path& path, const std::string& tensor = "");

/// The same, of the shape [N, D] with at least one vector of at least one dimension.
torch::Tensor read_vectors(const std::filesystem::path& path, const std::string& tensor = "");

/// Vectors one after the other, each behind its number of dimensions: float32 in .fvecs, bytes in
/// .bvecs, int32 in .ivecs.
torch::Tensor read_vecs(const std::filesystem::path& path);

/// A CSV of numbers alone, float64 [N, D]. A first line with a cell that is no number is a header.
torch::Tensor read_number_table(const std::filesystem::path& path);

/// "the file endings that read_array knows", for messages.
inline constexpr const char* kArrayEndings = ".npy, .csv, .fvecs, .bvecs, .ivecs or .safetensors";

/// The first value that is NaN or infinite, by its row and column; -1 if there is none. Works in
/// slices, without a copy of the array.
struct Place {
  int64_t row = -1, column = -1;
  bool found() const { return row >= 0; }
};
Place first_not_finite(const torch::Tensor& vectors);

}  // namespace facet
