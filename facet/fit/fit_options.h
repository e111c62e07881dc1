// The config of a fit: which vectors, how their dimensions are divided into factors, and how the
// mixtures are fitted. It is read from JSON with comments, changed by --set, and saved with all
// defaults in the run folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "facet/prior/factor_options.h"
#include "facet/train/schedule.h"

namespace facet {

/// How mixtures are fitted; docs/fit.md says what each does.
struct FitOptions {
  std::string method = "exact";
  int64_t iterations = 200;
  double tolerance = 1e-4;
  bool standardise = true;
  bool learn_hyperprior = true;
  bool merge_and_split = true;
  std::string move_goal = "evidence";
  int64_t moves_every = 10;
  int64_t kmeans_iterations = 20;
  int64_t kmeans_vectors = 20000;
  int64_t batch_size = 1000;
  StepSize step_size{"plain", 0.01, 1.0, 0.6};

  bool stochastic() const { return method == "stochastic"; }
  void visit(OptionVisitor& visitor);
};

/// The files of a fit.
struct VectorOptions {
  std::string file, tensor, labels, start;

  void visit(OptionVisitor& visitor);
};

struct FitConfig {
  int64_t seed = 1;
  VectorOptions vectors;
  std::vector<FactorOptions> factors;
  std::string weights = "dirichlet";
  Hyperprior hyperprior;
  FitOptions fit;

  bool stick_breaking() const { return weights == "stick_breaking"; }
  void visit(OptionVisitor& visitor);
};

/// Reads a file, if there is one, and applies the "key=value" settings in order.
FitConfig read_fit_config(const std::filesystem::path& path,
                          const std::vector<std::string>& settings);

/// The config that a fit saved.
FitConfig read_saved_fit_config(const std::filesystem::path& path);

/// "NAME:DIMENSIONS:COMPONENTS,..."; without a number of components it is `components`. Throws an
/// Error if the text reads otherwise.
std::vector<FactorOptions> parse_factors(const std::string& text, int64_t components);

}  // namespace facet
