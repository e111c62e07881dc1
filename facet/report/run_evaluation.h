// A run measured on a split of its data, or of another pack: what `facet eval` does.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "facet/eval/classifier_report.h"
#include "facet/eval/evaluation.h"
#include "facet/report/run_fidelity.h"
#include "facet/train/loaded_run.h"

namespace facet {

struct EvaluationRequest {
  std::string split = "test";
  std::string pack;  ///< to measure on; empty for the run's own
  EvaluationOptions evaluation;
  bool classify = false;  ///< whether an evaluation classifier is trained and asked about samples
  bool seen_labels_only = false;  ///< it learns from the labels that the run itself saw
  ClassifierOptions classifier;
  RefineChoice refine;            ///< of the samples that it classifies besides means
  bool measure_fidelity = false;  ///< whether samples are compared with images
  FidelityRequest fidelity;
  std::function<void(const std::string&)> notice;  ///< hears what is being done; may be empty
};

struct RunEvaluation {
  Evaluation evaluation;
  std::optional<ClassifierReport> classifier;
  std::optional<Fidelity> fidelity;
};

RunEvaluation evaluate_run(LoadedRun run, const EvaluationRequest& request);

}  // namespace facet
