// The training of a run's refiner: metrics, checkpoints and errors around the steps of
// train/refine_learner.h. It never prints: it reports through callbacks. With several ranks, the
// first one writes the files.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "facet/train/event_file.h"
#include "facet/train/loaded_run.h"
#include "facet/train/refine_learner.h"
#include "facet/train/refine_report.h"
#include "facet/train/run_folder.h"

namespace facet {

struct RefineCallbacks {
  std::function<void(const RefineReport&)> report;  ///< every log_every steps
  /// After every checkpoint, with the refiner that is in the file, at every rank: those who waited
  /// for the first could take it for lost.
  std::function<void(const std::shared_ptr<Refiner>&)> saved;
  std::function<void(const std::string&)> notice;  ///< a sentence for the user
  std::function<bool()> stop;  ///< asked before every step; true saves and ends the training early
};

class RefineTrainer {
 public:
  /// Starts a refiner of the run, in place of one that it may have, or, with `resume`, continues
  /// it. Throws an Error if the pack has images of another size than the model.
  RefineTrainer(const RefineConfig& config, const LoadedRun& run, const Pack& pack, bool resume,
                RefineCallbacks callbacks, const StepOptions& options = {});

  /// Trains to the end; false if `stop` ended it early. Either way the run then has the state and
  /// the refiner.
  bool run();

  const std::shared_ptr<Refiner>& refiner() { return learner_.refiner(); }
  int64_t image_count() const { return learner_.image_count(); }
  int64_t completed_steps() const { return step_; }

 private:
  /// Continues a refiner; the number of metrics lines that its state has.
  int64_t continue_refiner();
  /// The number of metrics lines that the state has.
  int64_t restore();
  int64_t restore_from(const std::filesystem::path& path);
  bool run_steps();
  void require_finite() const;
  void log();
  void write_state();
  void save();

  RefineConfig config_;
  RunFolder folder_;
  RefineCallbacks callbacks_;
  torch::Device device_;
  RefineLearner learner_;
  Ranks& ranks_;
  std::string data_;  ///< the fingerprint of the pack
  int64_t step_ = 0;  ///< completed steps
  int64_t logged_step_ = 0;
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<EventFile> events_;
  int64_t saved_step_ = 0;
};

}  // namespace facet
