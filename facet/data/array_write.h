// Arrays written row by row into NumPy's .npy and .npz or a .safetensors file. All sizes are known
// at first, so that every array has its place in the file and memory does not grow with the number
// of rows. An .npz is a zip file without compression, with 64-bit sizes where they are needed; its
// checksums, and those of a .safetensors, are filled in at the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "facet/core/checksum.h"
#include "facet/core/file.h"
#include "facet/core/safetensors_header.h"
#include "facet/core/tensor.h"

namespace facet {

enum class ArrayFormat { npy, npz, safetensors };

/// The format that the ending of a name says; false for any other ending.
bool array_format_of(const std::filesystem::path& path, ArrayFormat& format);

struct ArrayOutline {
  std::string name;  ///< of no use in a .npy
  torch::ScalarType type = kUInt8;
  std::vector<int64_t> shape;  ///< of the whole array, rows first
  /// If positive, the elements are texts of at most so many characters, NumPy's <U: for .npz alone.
  int64_t text_width = 0;

  uint64_t element_bytes() const;
  uint64_t bytes() const;
};

class ArrayWriter {
 public:
  struct Settings {
    std::string doing = "writing arrays";  ///< opens error messages
    /// Sizes and positions from here on take 64-bit entries in a zip file; tests lower it.
    uint64_t zip64_from = 0xFFFFFFFF;
  };

  /// A .npy takes one array. The metadata become those of a .safetensors, and the text `metadata`,
  /// a JSON object, of an .npz; a .npy has none.
  ArrayWriter(const std::filesystem::path& path, ArrayFormat format,
              std::vector<ArrayOutline> arrays, const std::map<std::string, std::string>& metadata,
              const Settings& settings);
  ArrayWriter(const std::filesystem::path& path, ArrayFormat format,
              std::vector<ArrayOutline> arrays, const std::map<std::string, std::string>& metadata)
      : ArrayWriter(path, format, std::move(arrays), metadata, Settings()) {}

  /// The next rows of an array, of its type, on the CPU.
  void append(size_t array, const torch::Tensor& rows);
  void append(size_t array, const void* data, size_t bytes);
  /// The next element of an array of texts, from UTF-8; what is too long is cut.
  void append_text(size_t array, std::string_view text);

  /// All rows were written: moves the file into place.
  void finish();

 private:
  struct Place {
    uint64_t begin = 0;     ///< of the array's bytes in the file
    uint64_t written = 0;   ///< bytes of it
    uint64_t entry = 0;     ///< .npz: where its local header begins
    std::string prefix;     ///< .npz: the .npy header before its bytes
    uint32_t checksum = 0;  ///< .npz
    Checksum sum;           ///< .safetensors
  };
  void place_npy();
  void place_npz(const std::map<std::string, std::string>& metadata);
  void place_safetensors(const std::map<std::string, std::string>& metadata);
  void finish_npz();
  std::string header_text();
  void finish_safetensors();

  AtomicFile file_;
  ArrayFormat format_;
  Settings settings_;
  std::vector<ArrayOutline> arrays_;
  std::vector<Place> places_;
  uint64_t end_ = 0;  ///< of all arrays
  // Of a .safetensors.
  std::map<std::string, std::string> metadata_;
  std::vector<TensorEntry> entries_;  ///< in the order of the file
  std::vector<size_t> order_;         ///< the array of each of them
  size_t header_bytes_ = 0;
};

}  // namespace facet
