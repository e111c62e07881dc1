// The callbacks through which a training run reports.
#pragma once

#include <functional>
#include <string>

#include "facet/eval/evaluation.h"
#include "facet/train/step_report.h"

namespace facet {

struct TrainingCallbacks {
  std::function<void(const StepReport&)> report;                        ///< every log_every steps
  std::function<void(const Evaluation&, const StepReport&)> evaluated;  ///< on the valid split
  std::function<void(const std::string&)> notice;                       ///< a sentence for the user
  std::function<bool()> stop;  ///< asked before every step; true saves and ends the run early
};

}  // namespace facet
