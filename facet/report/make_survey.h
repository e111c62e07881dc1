// Makes a survey of a run: what `facet survey RUN --out FOLDER` does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "facet/model/refine_request.h"
#include "facet/train/loaded_run.h"

namespace facet {

struct SurveyRequest {
  std::filesystem::path folder;      ///< to be made
  std::string run;                   ///< as the user gave it
  int64_t samples = 7;               ///< of every combination of named values
  std::optional<int64_t> controls;   ///< photographs of every combination; 2 unless given
  std::vector<std::string> wording;  ///< "factor=question": in place of ours
  uint64_t seed = 1;
  RefineChoice refine;
  std::function<void(const std::string&)> notice;  ///< hears why there are fewer photographs
};

/// What was made.
struct MadeSurvey {
  int64_t samples = 0, photographs = 0, repeats = 0;
  std::vector<std::string> questions;
};

/// Draws samples of every combination of the named factors' values, everything else from the prior,
/// each with noise of its own; takes photographs of the same combinations from the run's test
/// images; shows a tenth of all again; and writes them in an order that says nothing. The same
/// request makes the same bytes. An Error for a model without named factors and for a folder that
/// has files. Without the run's data there are no photographs, unless they were asked for: then an
/// Error.
MadeSurvey make_survey(const LoadedRun& run, const SurveyRequest& request);

}  // namespace facet
