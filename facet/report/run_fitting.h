// A mixture fitted to a file of vectors, as a run folder, and what such a run says of vectors: what
// `facet fit` and `facet predict` do, and `facet eval` and `facet info` with its runs.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "facet/eval/evaluation.h"
#include "facet/fit/fit_events.h"
#include "facet/fit/fit_options.h"

namespace facet {

struct FitRequest {
  FitConfig config;
  /// K where the config has no factors: of one mixture for all dimensions.
  int64_t components = 64;
  std::vector<std::string> names;  ///< "FACTOR=COLUMN": labels that name a factor
  std::filesystem::path folder;
};

struct FitStart {
  int64_t vectors = 0, dimensions = 0;
  std::vector<FactorOptions> factors;
};

struct FitEvents {
  FitCallbacks callbacks;
  std::function<void(const FitStart&)> started;
};

struct FitSummary {
  Evaluation evaluation;  ///< on the vectors themselves
  double bound = 0;       ///< in nats per vector, with the hyperprior's KL
  int64_t iterations = 0;
  bool converged = false;
  double seconds = 0;  ///< of the fit alone, without reading and evaluating
};

/// Reads, fits, and writes the run folder. Throws an Error before anything is written if the files
/// do not suit each other.
FitSummary fit_run(const FitRequest& request, const FitEvents& events);

/// Vectors to measure a run on.
struct VectorRequest {
  std::string vectors, tensor, labels;  ///< without vectors, the run's own and their labels
};
Evaluation evaluate_fit_run(const std::filesystem::path& run, const VectorRequest& request);

struct PredictRequest {
  std::filesystem::path run;
  std::string vectors, tensor;
  std::filesystem::path output;    ///< a CSV
  bool every_probability = false;  ///< a column for every component
};
struct PredictSummary {
  int64_t vectors = 0;
  double log_density = 0;  ///< mean, in nats
};
/// Writes one row per vector: the most probable component of every factor, its probability, and the
/// log density of the predictive.
PredictSummary predict_vectors(const PredictRequest& request);

/// A run or its model file in a few lines.
std::string describe_fit_run(const std::filesystem::path& path);

}  // namespace facet
