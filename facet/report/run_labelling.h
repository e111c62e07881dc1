// A run's named values for every image of a pack, a folder or a table, as rows beside the user's
// own: what `facet label` does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "facet/train/loaded_run.h"

namespace facet {

struct LabelRequest {
  std::string data;            ///< a pack, a folder of images, or a CSV beside its images
  double min_probability = 0;  ///< predictions below it are left out
  bool every_value = false;    ///< a column with the probability of every value
  bool suspicious = false;     ///< only given labels that the model doubts
  int64_t ask = 0;             ///< only so many images, whose labels would help most
  uint64_t seed = 1;
};

/// What was found out about one property.
struct PropertySummary {
  std::string property;
  int64_t given = 0;      ///< images that came with a label
  int64_t predicted = 0;  ///< images that got one
  int64_t left_empty = 0;
  double temperature = 1;       ///< of the calibration
  int64_t calibrated_with = 0;  ///< labelled images of the valid split
  /// On the labelled images of the test split; without images, the error is unknown.
  double accuracy = 0, calibration_error = 0, uncalibrated_error = 0;
  int64_t tested_with = 0;
};

struct LabelTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  char separator = ',';
  int64_t images = 0;  ///< those of the data, also where only some have a row
  std::vector<PropertySummary> properties;
};

/// Throws an Error if the data do not fit the model. `notice` gets sentences for the user, such as
/// that probabilities could not be calibrated.
LabelTable label_images(LoadedRun run, const LabelRequest& request,
                        const std::function<void(const std::string&)>& notice);

}  // namespace facet
