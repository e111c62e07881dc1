// The options of a config's "data" section.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facet/core/options.h"
#include "facet/data/portrait_options.h"

namespace facet {

struct DataOptions {
  std::string pack;
  PortraitSetOptions portraits;
  std::vector<std::string> train_splits = {"train"};
  std::string binarize = "none";
  int64_t binarize_seed = 777;
  bool mirror = false;
  double label_fraction = 1.0;
  int64_t labels_per_value = 0;
  int64_t label_seed = 1;

  void visit(OptionVisitor& visitor);
};

}  // namespace facet
