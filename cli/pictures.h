// What the picture commands share: their common options and the images that a user hands in. A
// command computes everything first and writes one PNG at the end, so that a mistake leaves no file
// behind.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/command.h"
#include "facet/data/batches.h"
#include "facet/report/figures.h"

namespace facet {

struct PictureArguments {
  std::string run, output, device = "auto";
  uint64_t seed = 1;
};

/// Adds the run, --out, --seed and --device.
void add_picture_options(CLI::App& command, PictureArguments& arguments);

/// The images that a command works on.
struct InputArguments {
  std::vector<std::string> images;
  std::string split;
  int64_t count = 8;
  bool resize = false;
};

/// Adds the images, --split, --count and --resize.
void add_input_options(CLI::App& command, InputArguments& arguments);

/// Reads images of the model's shape from files, or as SPLIT:INDEX from the run's own data, which
/// are loaded when first asked for. Others are an Error, or are converted with a notice.
class InputImages {
 public:
  InputImages(const LoadedRun& run, bool resize) : run_(run), resize_(resize) {}

  /// The names of all images that arguments ask for; an Error where they ask for none.
  std::vector<std::string> names(const InputArguments& arguments);
  /// U8 [B, C, H, W] on the CPU.
  torch::Tensor read(const std::vector<std::string>& names);

 private:
  torch::Tensor read_one(const std::string& name);  // [C, H, W]
  torch::Tensor read_file(const std::string& name);
  const ImageSet& images_of(const std::string& split);

  const LoadedRun& run_;
  bool resize_;
  std::map<std::string, ImageSet> splits_;
};

/// A name as a label: without folders and ending.
std::string short_name(const std::string& name);

}  // namespace facet
