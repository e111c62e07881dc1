// The fit of one factor: its start, and one update after another.
#pragma once

#include "facet/core/random.h"
#include "facet/fit/fit_options.h"
#include "facet/prior/exact_fit.h"
#include "facet/prior/factorial_mixture.h"
#include "facet/prior/moves.h"

namespace facet {

class FactorFit {
 public:
  /// The posterior and the hyperprior are changed in place. `data` has random_rows.
  FactorFit(const Key& key, const FitOptions& options, const FactorOptions& factor,
            const FactorData& data, FactorPosterior& posterior, FactorHyperprior& hyperprior);

  /// Places the components: at `start` [N] if it is defined, else where labels or k-means say.
  void place(const torch::Tensor& start);

  /// The bound of the posterior as it is, in nats over all vectors, in standard units. Keeps the
  /// statistics for update().
  double measure();
  /// The next posterior: from the statistics of the last measure(), or from steps on batches.
  void update(int64_t iteration);
  /// Merges and splits, if the options say so and the factor is free.
  Moves move(int64_t iteration);

  /// Begins to learn the hyperprior, if the options say so; false if it already does, or never
  /// will. Components find their number under the given hyperprior first: one that is learned from
  /// too many components makes each of them cheap, and they stay.
  bool begin_learning();

  int64_t living() const;

 private:
  bool free() const { return !factor_.named(); }
  FactorData sample() const;
  void exact_step();
  void batch_steps(int64_t iteration);
  void learn();
  void learned_hyperprior();

  Key key_;
  const FitOptions& options_;
  const FactorOptions& factor_;
  FactorData data_;
  FactorPosterior& posterior_;
  FactorHyperprior& hyperprior_;
  FactorStatistics statistics_;
  torch::Tensor least_b0_;
  bool learning_ = false;
  int64_t step_ = 0;
};

}  // namespace facet
