// A model and a pack that are as small as can be, which files of targets belong to.
#pragma once

#include <memory>
#include <string>

#include "facet/core/torch.h"
#include "facet/data/pack.h"
#include "facet/model/vae.h"

namespace facet {

inline std::shared_ptr<Vae> fuzz_model(const std::string& prior = "mixture",
                                       const std::string& weights = "dirichlet") {
  ModelOptions options;
  options.prior = prior;
  options.weights = weights;
  options.network.preset = "custom";
  options.network.channels = {2};
  options.network.strides = {2};
  options.factors = {{"first", prior == "normal" ? 1 : 3, 2, "", {}}};
  return std::make_shared<Vae>(options, ImageShape{1, 4, 4}, Key(1));
}

inline const Vae& known_model() {
  static const std::shared_ptr<Vae> model = fuzz_model();
  return *model;
}

/// Six images of 4x4, with labels, splits, names of files and the table that they came with.
inline Pack fuzz_pack() {
  const std::vector<std::string> files = {"a.png", "b.png", "c.png", "d.png", "e.png", "f.png"},
                                 hair = {"red", "black", "", "red", "", ""};
  Pack pack;
  pack.images = ImageRows(torch::arange(6 * 16, kUInt8).view({6, 1, 4, 4}));
  pack.labels = torch::tensor({0, 1, -1, 0, -1, -1}, kInt32).view({6, 1});
  pack.split = torch::tensor({0, 0, 1, 2, 0, 0}, kUInt8);
  pack.properties = {{"hair", {"red", "black"}}};
  pack.origin = "a test";
  pack.files = TextColumn(files);
  pack.table = {{"file", "hair"}, {TextColumn(files), TextColumn(hair)}, 0, ','};
  return pack;
}

}  // namespace facet
