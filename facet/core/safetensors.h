// The safetensors format: named tensors with a JSON header, safe to open, readable from every
// language, and mapped into memory without copying. Models, packs and training states are
// safetensors files. Layout: the length of the header (8 bytes, little-endian), the JSON header,
// the tensors' bytes. Files of ours have checksums in their metadata (core/safetensors_header.h).
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "facet/core/tensor.h"

namespace facet {

class AtomicFile;
struct TensorEntry;

struct TensorFile {
  std::map<std::string, torch::Tensor> tensors;
  std::map<std::string, std::string> metadata;

  /// The tensor `name`. Throws an Error that names `object` (the file) if the tensor is missing or
  /// has another type or shape; -1 in `shape` matches any size.
  const torch::Tensor& get(const std::string& name, torch::ScalarType type,
                           torch::IntArrayRef shape, const std::string& object) const;
  /// The same for weights, which may be stored as bfloat16.
  const torch::Tensor& get_weight(const std::string& name, torch::IntArrayRef shape,
                                  const std::string& object) const;
};

/// Which tensors are compared with their checksums. That reads them as a whole.
enum class Verify {
  all,
  small,  ///< those of at most 64 MiB: all but the images of a large pack
};

/// Tensors are read-only views of the mapped file: clone() one before writing into it. Throws an
/// Error that names the tensor if its bytes have changed since they were written.
TensorFile read_safetensors(const std::filesystem::path& path, const std::string& doing,
                            Verify verify = Verify::all);

/// Whether the file has checksums.
bool has_checksums(const std::filesystem::path& path, const std::string& doing);

/// A contiguous tensor on the CPU as an entry of a header.
TensorEntry entry_of(const std::string& name, const torch::Tensor& tensor);

/// The file is written completely or not at all. Tensors may be on any device, with any strides.
void write_safetensors(const std::filesystem::path& path, const TensorFile& file,
                       const std::string& doing);
/// The same to a file that appears with its commit().
void write_safetensors(AtomicFile& output, const TensorFile& file, const std::string& doing);

}  // namespace facet
