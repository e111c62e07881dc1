// The images that a command goes through: a pack, a folder of images, a CSV beside its images, or
// image files. What is no pack is brought to the model's size and goes through a temporary one.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "facet/data/pack.h"
#include "facet/model/vae.h"

namespace facet {

struct GivenImages {
  Pack pack;
  /// Where pictures can be found again: the pack, or the folder that pack.files are relative to.
  std::filesystem::path source;
  bool from_pack = false;
};

/// `doing` opens the message if there is no such file; `notice` gets sentences for the user, such
/// as how many damaged files were left out. Throws an Error if the images do not fit the model.
GivenImages given_images(const Vae& model, const std::vector<std::string>& paths,
                         const std::string& doing,
                         const std::function<void(const std::string&)>& notice);

}  // namespace facet
