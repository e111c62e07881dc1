// The images that a user hands to a picture command.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/data/batches.h"
#include "facet/report/picture_requests.h"

namespace facet {

/// Reads images of the model's shape from files, or as SPLIT:INDEX from the run's own data, which
/// are loaded when first asked for. Others are an Error, or are converted with a note.
class InputImages {
 public:
  InputImages(const LoadedRun& run, bool resize) : run_(run), resize_(resize) {}

  /// The names of all images that arguments ask for; an Error where they ask for none.
  std::vector<std::string> names(const InputRequest& request);
  /// U8 [B, C, H, W] on the CPU.
  torch::Tensor read(const std::vector<std::string>& names);
  /// What is to be said of images that were converted.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  torch::Tensor read_one(const std::string& name);  // [C, H, W]
  torch::Tensor read_file(const std::string& name);
  const ImageSet& images_of(const std::string& split);

  const LoadedRun& run_;
  bool resize_;
  std::map<std::string, ImageSet> splits_;
  std::vector<std::string> notes_;
};

/// A name as a label: without folders and ending.
std::string short_name(const std::string& name);

}  // namespace facet
