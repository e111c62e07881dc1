// Codes of many images as a file: a CSV for people and spreadsheets, or arrays (.npy, .npz,
// .safetensors) for programs. docs/codes.md describes every form. Files are written batch by batch;
// any of them can be read back.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/data/text_column.h"
#include "facet/model/vae.h"
#include "facet/search/image_codes.h"

namespace facet {

/// What is written of every image; its component of every factor always is.
struct CodeContents {
  bool packed = false;         ///< codes as bits (search/code_bits.h)
  bool probabilities = false;  ///< the assignment probability of every component
  bool latents = false;        ///< mean and variance of every block
};

class CodeWriter {
 public:
  virtual ~CodeWriter() = default;
  /// The codes of the next images.
  virtual void add(const ImageCodes& codes) = 0;
  /// All images were added: moves the file into place.
  virtual void finish() = 0;
};

/// Throws an Error if the ending is none of .csv, .npy, .npz and .safetensors, or cannot take the
/// contents.
void require_code_ending(const std::filesystem::path& path, const CodeContents& contents);

/// A writer for the images of a pack, whose names it writes where the pack has them. The format is
/// told by the ending of `path`.
std::unique_ptr<CodeWriter> open_code_file(const std::filesystem::path& path, const Vae& model,
                                           const Pack& pack, const CodeContents& contents);

struct StoredCodes {
  torch::Tensor codes;  ///< int64 [N, I]
  TextColumn names;     ///< of the images; empty if the file has none
};

/// Reads codes of a model. `packed` says so for a .npy, which cannot say it itself. Throws an Error
/// if they are of another model or have a component that a factor does not have.
StoredCodes read_code_file(const std::filesystem::path& path, const Vae& model, bool packed);

}  // namespace facet
