// What changes from step to step: the images, and the values of the schedules. A plan is a pure
// function of the phase and the step, made on the host. The plans of many steps are copied to the
// device at once, and every step begins by copying the next one into its slots. The rest of the
// step reads only the slots, so that every step is the same work and the host never waits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/data/batches.h"
#include "facet/train/config.h"
#include "facet/train/phase.h"
#include "facet/train/training_data.h"

namespace facet {

struct StepPlan {
  int64_t step = 0;           ///< of the phase, from 0
  int64_t gradient_step = 0;  ///< counts over the phases that train the networks
  double learning_rate = 0, named_rate = 0, kl_weight = 0, label_weight = 0, step_size = 0;
  /// Whether the step uses labels; a batch without any takes exactly the unsupervised step.
  bool supervised = false;
  torch::Tensor images;    ///< indices of images, in phase 2 of encodings; int64 [B] on the CPU
  torch::Tensor labelled;  ///< indices into the labelled images, int64 [L]; undefined if unused
};

/// The current plan on the device, in tensors that are never reallocated.
struct StepSlots {
  torch::Tensor step, gradient_step;                                            ///< int64
  torch::Tensor learning_rate, named_rate, kl_weight, label_weight, step_size;  ///< float64
  torch::Tensor images, labelled;                                               ///< int64 [B], [L]
};

/// The plans of the next steps on the device, and the slots of the current one.
class PlanTable {
 public:
  /// The number of steps that are planned at once.
  static constexpr int64_t capacity = 256;

  PlanTable(int64_t batch, int64_t labelled, torch::Device device);

  /// Replaces the plans by others, at most `capacity`.
  void fill(const std::vector<StepPlan>& plans);
  /// Copies the next plan into the slots; every step begins with it.
  void advance();
  const StepSlots& slots() const { return slots_; }

 private:
  torch::Tensor rows_;      ///< int64 [capacity, W]; float64 values are stored bit for bit
  torch::Tensor position_;  ///< int64 [1], the next row
  torch::Tensor current_;   ///< int64 [1, W]; the slots are views of it
  StepSlots slots_;
};

/// Makes the plans of a run.
class StepPlanner {
 public:
  /// `labels` [N, I] are those of the images, on any device, undefined without named factors;
  /// `labelled` may be null. The batches are used, not owned.
  StepPlanner(const Config& config, const Key& key, Batches& batches, Batches* labelled,
              const torch::Tensor& labels);

  StepPlan plan(Phase phase, int64_t step);

 private:
  bool any_label(const torch::Tensor& images) const;

  const TrainOptions options_;
  int64_t encoded_images_;
  Key key_;
  Batches& batches_;
  Batches* labelled_;
  torch::Tensor has_label_;  ///< bool [N] on the CPU; undefined without named factors
};

/// The plans of a run in the order of its steps, made `PlanTable::capacity` at a time.
class StepPlans {
 public:
  /// The batches and the labels' batches are used, not owned.
  StepPlans(const Config& config, const Key& key, Batches& batches, TrainingLabels& labels,
            torch::Device device);

  /// The plan of a step, which the next advance() copies into the slots.
  const StepPlan& next(Phase phase, int64_t step);
  void advance() { table_.advance(); }
  const StepSlots& slots() const { return table_.slots(); }

 private:
  TrainOptions options_;
  StepPlanner planner_;
  PlanTable table_;
  std::vector<StepPlan> plans_;  ///< those in the table
  Phase phase_ = Phase::done;    ///< their phase
  size_t next_ = 0;
};

/// The number of images to which the mixtures are fitted: those of `train.initialise.images`, or as
/// many as have room in 4 GB, at 16 bytes per image and latent dimension.
int64_t encoded_images(const Config& config, int64_t images);
/// A sentence for the user if their number is less than the config's; otherwise nothing.
std::optional<std::string> too_many_encodings(const Config& config, int64_t images);
/// The size of the natural-gradient step after `step` steps of a phase; 0 while the prior is
/// frozen.
double natural_step_size(const TrainOptions& options, Phase phase, int64_t step);
/// The number of steps of a phase.
int64_t phase_steps(const TrainOptions& options, Phase phase);

}  // namespace facet
