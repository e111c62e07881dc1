// The training of a run's refiner, from its config to its pictures: what `facet refine` does.
// Progress goes to callbacks.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "facet/core/rank_place.h"
#include "facet/train/refine_config.h"

namespace facet {

struct RefineReport;

struct RefineRequest {
  std::filesystem::path run;          ///< the folder, or one of its model files
  std::filesystem::path config;       ///< may be empty
  std::vector<std::string> settings;  ///< "key=value"
  std::string pack;                   ///< to train on; empty for the run's own
  std::string device = "auto";
  bool resume = false;
  bool overwrite = false;                       ///< begin anew where the run has a refiner
  std::optional<RankPlace> place = {};          ///< among ranks that train it together
  std::chrono::milliseconds rank_timeout = {};  ///< after which a rank that does not answer is lost
};

/// What is known before the first step.
struct RefineStart {
  int64_t parameters = 0, images = 0, steps = 0;
  std::string device;  ///< "cpu" or "cuda:0"
};

struct RefineEvents {
  std::function<void(const RefineStart&)> started;
  std::function<void(const RefineReport&)> report;
  std::function<void(const std::string&)> notice;
  std::function<bool()> stop;
};

/// Trains to the end; false if `stop` ended it early. Every checkpoint comes with a picture,
/// refiner-samples.png: samples of the model, their means above and refined below. Of several ranks
/// the first writes, and calls `started` and `report`.
bool refine_run(const RefineRequest& request, const RefineEvents& events);

}  // namespace facet
