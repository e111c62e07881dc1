// What changes from step to step: which images, and the numbers of the schedules. On the host a
// plan is a pure function of the phase and the step. The device gets the plans of many steps in one
// copy, and each step begins by taking the next one into its slots; what follows reads the slots
// alone, so that a step is the same work every time and the host never waits.
#pragma once

#include <vector>

#include "facet/core/tensor.h"
#include "facet/data/batches.h"
#include "facet/train/config.h"
#include "facet/train/phase.h"
#include "facet/train/training_data.h"

namespace facet {

struct StepPlan {
  int64_t step = 0;           ///< of the phase, from 0
  int64_t gradient_step = 0;  ///< of the phases in which the networks move
  double learning_rate = 0, named_rate = 0, kl_weight = 0, label_weight = 0, step_size = 0;
  /// Whether labels pull: a batch without labels takes exactly the unsupervised step.
  bool supervised = false;
  torch::Tensor images;    ///< int64 [B] on the CPU; in phase 2, of the encodings
  torch::Tensor labelled;  ///< of the labelled images, int64 [L]; undefined where not asked for
};

/// A plan where a step finds it: numbers and indices on the device that stay in their places.
struct StepSlots {
  torch::Tensor step, gradient_step;                                            ///< int64
  torch::Tensor learning_rate, named_rate, kl_weight, label_weight, step_size;  ///< float64
  torch::Tensor images, labelled;                                               ///< int64 [B], [L]
};

/// The plans of the steps to come on the device, and the slots of the one under way.
class PlanTable {
 public:
  /// Steps that are planned at once.
  static constexpr int64_t capacity = 256;

  PlanTable(int64_t batch, int64_t labelled, torch::Device device);

  /// At most `capacity` plans in the place of those that were there.
  void fill(const std::vector<StepPlan>& plans);
  /// Takes the next plan into the slots: what every step begins with.
  void advance();
  const StepSlots& slots() const { return slots_; }

 private:
  torch::Tensor rows_;      ///< int64 [capacity, W]; numbers of the schedules as float64's bits
  torch::Tensor position_;  ///< int64 [1], the next row
  torch::Tensor current_;   ///< int64 [1, W]: the slots are views of it
  StepSlots slots_;
};

/// Makes the plans of a run.
class StepPlanner {
 public:
  /// `labels` [N, I] of the images on any device, undefined without named factors; `labelled` may
  /// be none. The batches are used, not owned.
  StepPlanner(const Config& config, const Key& key, Batches& batches, Batches* labelled,
              const torch::Tensor& labels);

  StepPlan plan(Phase phase, int64_t step);

 private:
  bool any_label(const torch::Tensor& images) const;

  const TrainOptions options_;
  Key key_;
  Batches& batches_;
  Batches* labelled_;
  torch::Tensor has_label_;  ///< bool [N] on the CPU; undefined without named factors
};

/// The plans of a run in the order of its steps: made ahead, `PlanTable::capacity` at a time.
class StepPlans {
 public:
  /// The batches and the labels' batches are used, not owned.
  StepPlans(const Config& config, const Key& key, Batches& batches, TrainingLabels& labels,
            torch::Device device);

  /// The plan of a step, which the next advance() takes into the slots.
  const StepPlan& next(Phase phase, int64_t step);
  void advance() { table_.advance(); }
  const StepSlots& slots() const { return table_.slots(); }

 private:
  TrainOptions options_;
  StepPlanner planner_;
  PlanTable table_;
  std::vector<StepPlan> plans_;  ///< in the table
  Phase phase_ = Phase::done;    ///< which they are of
  size_t next_ = 0;
};

/// How many images phase 2 encodes.
int64_t encoded_images(const InitialiseOptions& options, int64_t images);
/// The size of the natural-gradient step that follows `step` steps of a phase.
double natural_step_size(const TrainOptions& options, Phase phase, int64_t step);
/// How many steps a phase has.
int64_t phase_steps(const TrainOptions& options, Phase phase);

}  // namespace facet
