// The numbers of a metrics line as plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facet/core/options.h"
#include "facet/train/phase.h"

namespace facet {

/// Averages over the steps since the last report.
struct StepReport {
  Phase phase = Phase::pretrain;
  int64_t step = 0, phase_steps = 0;  ///< completed and total steps of this phase
  int64_t total_step = 0;             ///< completed steps of all phases
  double elbo = 0, reconstruction = 0, kl_z = 0, kl_r = 0;
  double gradient_norm = 0, learning_rate = 0, kl_weight = 0, step_size = 0;
  bool named = false;  ///< whether a factor is named; otherwise the next two are unused
  double label_weight = 0;
  double label_log_likelihood = 0;  ///< mean over the known labels of the batches
  /// eq:elbo:d plus eq:elbo:e, per training image; 0 for a prior without a posterior.
  double hyperprior = 0;
  struct Factor {
    std::string name;
    double kl_z = 0, kl_r = 0;
    int64_t components = 0;
    int64_t living = 0;  ///< components with more than one training image in expectation
    double perplexity = 0;
  };
  std::vector<Factor> factors;  ///< empty in pre-training, which has no mixture
};

/// The line of metrics.jsonl.
Json to_record(const StepReport& report);

}  // namespace facet
