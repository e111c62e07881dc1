// What a step of training is. The learner owns the model, its optimizers and the images, and knows
// the steps of the three phases; the trainer around it keeps the order of phases, the metrics and
// the checkpoints. A step never waits for a card: what changes from step to step is planned ahead
// (train/step_plan.h), and the rest is recorded once and replayed (cuda/step_graph.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "facet/cuda/step_graph.h"
#include "facet/data/batches.h"
#include "facet/model/objective.h"
#include "facet/model/vae.h"
#include "facet/train/adam.h"
#include "facet/train/checkpoint.h"
#include "facet/train/config.h"
#include "facet/train/guard.h"
#include "facet/train/metrics.h"
#include "facet/train/step_plan.h"

namespace facet {

/// How the steps of a run are computed. The numbers are the same either way.
struct StepOptions {
  bool record = true;          ///< on a card: record steps and replay them
  bool stream_images = false;  ///< keep pixels in the host's memory also where a card has room
};

class Learner {
 public:
  /// An Error where the config's named factors do not fit the data. `notice` gets a sentence for
  /// the user where images do not fit on the card.
  Learner(const Config& config, const Pack& pack, torch::Device device, const StepOptions& options,
          const std::function<void(const std::string&)>& notice);

  /// Step `step` of a phase, counted from 0.
  void step(Phase phase, int64_t step);
  /// Encodes images and places the components: what phase 2 begins with.
  void place_components();
  /// The encodings of phase 2 are not needed any more.
  void forget_encodings();

  /// Looks at the last step: the name of a tensor with a NaN or an infinity, nothing where all is
  /// well. Waits for a card.
  std::optional<std::string> find_not_finite() const;

  const Config& config() const { return config_; }  ///< with the names of values
  int64_t image_count() const { return images_.count(); }
  Vae& model() { return *model_; }
  const Vae& model() const { return *model_; }
  Adam& adam() { return adam_; }
  NamedOptimizers& named() { return named_; }
  /// Null where the config asks for none.
  WeightAverage* average() { return average_ ? &*average_ : nullptr; }
  /// Exchanges the model's numbers for their running means, or back, where there are such.
  void swap_average();
  /// Of the metrics line under way (train/metrics.h).
  torch::Tensor& sums() { return sums_; }

 private:
  /// What can be looked at after a step.
  struct Trace {
    torch::Tensor loss;    ///< which `number` is made of, on another stream
    torch::Tensor number;  ///< finite where everything is
    NamedTensors tensors;  ///< on the way of the images
  };

  void choose_precision();
  std::optional<Batches> labelled_batches();
  const StepPlan& next_plan(Phase phase, int64_t step);
  /// The gradient's norm; it and the moved decoder are there after side_.join().
  torch::Tensor optimise(const torch::Tensor& loss, NamedTensors trail, Trace& trace);
  void pretrain_step(Trace& trace);
  void initialise_step();
  void joint_step(bool supervised, Trace& trace);
  std::vector<FactorParameters> tracked_parameters(bool supervised);
  torch::Tensor joint_loss(const BoundTerms& terms, const std::vector<FactorParameters>& parameters,
                           const torch::Tensor& labels, bool supervised);
  torch::Tensor labelled_batch_loss(const std::vector<FactorParameters>& parameters);
  void move_components(const torch::Tensor& x, const torch::Tensor& labels, bool supervised);
  NaturalGradient natural_gradient(int64_t batch) const;
  void revive_components(int64_t step);
  /// Gives a prior that has no posterior of its own its form: what phase 3 begins with.
  void settle_components();
  void update_average(int64_t step);
  /// A VampPrior's components become the present encodings of its pseudo-inputs.
  void encode_pseudo_inputs();
  bool is_named(size_t factor) const { return label_columns_[factor] >= 0; }
  /// Whether a factor's components move by Adam in a step.
  bool moves_by_gradient(size_t factor, bool supervised) const;
  /// What the encoder sees of x.
  torch::Tensor seen(const torch::Tensor& x, const Key& noise) const;
  torch::Tensor drawn_batch(const Batches& batches, const torch::Tensor& chosen,
                            const torch::Tensor& step) const;
  const std::vector<BlockEncoding>& cached_encodings();
  torch::Tensor known_labels(size_t factor) const;
  void untangle_factors();

  Config config_;
  StepOptions options_;
  torch::Device device_;
  Key key_;
  std::shared_ptr<Vae> model_;
  Adam adam_;
  NamedOptimizers named_;
  std::optional<WeightAverage> average_;
  std::vector<int64_t> label_columns_;  ///< the data's property that names each factor, -1 for none
  ImageSet images_;
  Batches batches_;
  torch::Tensor labels_;  ///< one column a factor, int64 [N, I]; undefined without named factors
  std::vector<torch::Tensor> value_weights_;  ///< weight of each value in the cross-entropy, [K]
  torch::Tensor labelled_labels_;             ///< of labelled images only, as labels_
  std::optional<Batches> labelled_;           ///< and those images, where the config asks for them
  StepPlanner planner_;
  PlanTable table_;
  torch::Tensor sums_;
  std::vector<BlockEncoding> encodings_;  ///< phase 2: of every image it uses, one a factor
  torch::Tensor encoding_labels_;         ///< and their labels, as labels_

  std::vector<StepPlan> plans_;  ///< in the table
  Phase planned_phase_ = Phase::done;
  size_t next_ = 0;  ///< of plans_
  cuda::SideStream side_;
  cuda::StepGraphs graphs_;
  std::map<int64_t, Trace> traces_;  ///< by the kind of step
  int64_t last_kind_ = -1;
};

}  // namespace facet
