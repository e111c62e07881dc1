// Training in the paper's three phases: the networks with a N(0, I) prior, the mixtures on
// encodings of the fixed encoder, then both together. The learner (train/learner.h) computes the
// steps; the trainer runs the phases in order and handles metrics, evaluations, checkpoints and
// errors. It never prints: it reports through callbacks. With several ranks, the first one writes
// the files.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "facet/train/best_bound.h"
#include "facet/train/callbacks.h"
#include "facet/train/checkpoint.h"
#include "facet/train/config.h"
#include "facet/train/event_file.h"
#include "facet/train/learner.h"
#include "facet/train/metrics.h"
#include "facet/train/run_folder.h"

namespace facet {

class Trainer {
 public:
  /// Starts a run in a new or empty folder or, with `resume`, continues the one in it, from its
  /// last checkpoint or, where that is damaged, from the one before. Its caller has the lock of the
  /// folder (train/run_lock.h).
  Trainer(const Config& config, const Pack& pack, const RunFolder& folder, torch::Device device,
          bool resume, TrainingCallbacks callbacks, const StepOptions& options = {});

  /// Trains to the end; false if `stop` ended it early. Either way the run folder then has the
  /// state and the model. At the end model() is the one in the file: with averaged weights if the
  /// config averages them.
  bool run();

  Vae& model() { return learner_.model(); }
  int64_t image_count() const { return learner_.image_count(); }
  const Progress& progress() const { return progress_; }
  /// A sentence for the user if the bound is much better on training images than on valid ones.
  std::optional<std::string> overfitting() const;

  /// One step of a phase, which is entered first if the run is in another one. For tests and
  /// benchmarks; run() calls these and does the bookkeeping.
  void pretrain_step() { step(Phase::pretrain); }
  void initialise_step() { step(Phase::initialise); }
  void joint_step() { step(Phase::joint); }
  /// Encodes images and initialises the components; run() does it at the start of phase 2.
  void place_components() { learner_.place_components(); }

 private:
  void restore();
  /// From one of the two states of the run, with its metrics.
  void restore_from(const std::filesystem::path& path);
  /// The newest checkpoint that is whole.
  void restore_newest();
  /// Reopens the joint phase of a finished run that is to be longer than `before`.
  void extend(int64_t before);
  void write_config() const;
  void enter(Phase phase);
  void step(Phase phase);
  bool run_phase();
  bool stopped();
  bool due(int64_t every) const;
  bool out_of_patience() const;
  void require_finite() const;
  [[noreturn]] void fail_not_finite(const std::string& name) const;
  [[noreturn]] void fail_on_gpu(const c10::Error& error) const;
  std::string position_text() const;
  void log(const StepReport& report);
  void evaluate_valid(const StepReport& report);
  /// Learner::swap_average(), if the joint phase has started.
  void swap_average();
  void save();
  void draw_progress();

  RunFolder folder_;
  TrainingCallbacks callbacks_;
  torch::Device device_;
  Learner learner_;
  Ranks& ranks_;                 ///< the learner's
  const TrainOptions& options_;  ///< the learner's
  std::optional<ImageSet> valid_;
  std::vector<Property> properties_;
  TrainedOn data_;
  Progress progress_;
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<EventFile> events_;
  BestBound best_;
  double last_train_bound_ = 0, last_valid_bound_ = 0;  ///< 0 before the first
  std::string last_checkpoint_;                         ///< "step 100 of phase joint"
};

}  // namespace facet
