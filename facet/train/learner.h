// The steps of training. The learner owns the model, its optimizers and the images, and computes
// the steps of the three phases; the parts that depend on the kind of prior are in its strategy
// (model/prior_strategy.h). The trainer runs the phases in order and handles metrics and
// checkpoints. A step never waits for the GPU: what changes from step to step is planned ahead
// (train/step_plan.h), and the rest is captured once and replayed (cuda/cuda_graph.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "facet/cuda/cuda_graph.h"
#include "facet/data/batches.h"
#include "facet/model/objective.h"
#include "facet/model/vae.h"
#include "facet/nets/adam.h"
#include "facet/prior/sampling.h"
#include "facet/train/average.h"
#include "facet/train/config.h"
#include "facet/train/encoded_images.h"
#include "facet/train/finite_check.h"
#include "facet/train/part_gradients.h"
#include "facet/train/step_options.h"
#include "facet/train/step_plan.h"
#include "facet/train/training_data.h"

namespace facet {

class Learner {
 public:
  /// Throws an Error if the config does not fit the data. `notice` gets a sentence for the user if
  /// the images do not fit into the GPU's memory, or their encodings into 4 GB, or if our kernels
  /// do not compute on the GPU.
  Learner(const Config& config, const Pack& pack, torch::Device device, const StepOptions& options,
          const std::function<void(const std::string&)>& notice);

  /// Step `step` of a phase, counted from 0.
  void step(Phase phase, int64_t step);
  /// Initialises the components of the prior, at the start of phase 2.
  void place_components();
  /// Frees the encodings of phase 2.
  void clear_encodings();
  /// The exact updates of the prior after the last step (train/refit.h).
  void finish_prior();

  /// The name of a tensor of the last step with a NaN or an infinity; nothing if all are finite.
  /// Waits for the GPU.
  std::optional<std::string> find_not_finite() const;

  const Config& config() const { return config_; }  ///< with the names of values
  Ranks& ranks() const { return gradients_.ranks(); }
  int64_t image_count() const { return images_.count(); }
  Vae& model() { return *model_; }
  const Vae& model() const { return *model_; }
  Adam& adam() { return adam_; }
  /// Null without weight averaging.
  WeightAverage* average() { return average_ ? &*average_ : nullptr; }
  /// Swaps the model's values with their averages; does nothing without weight averaging.
  void swap_average();
  /// Further tensors that a resumed run needs.
  NamedTensors state() const { return labels_.pseudo ? labels_.pseudo->tensors() : NamedTensors(); }
  /// The sums of the current metrics line (train/metrics.h).
  torch::Tensor& sums() { return sums_; }

 private:
  void use_kernels(const std::function<void(const std::string&)>& notice);
  /// Updates the networks and returns the gradient's norm; the norm and the decoder's update are
  /// complete after side_.join().
  torch::Tensor optimise(DebugTensors& debug);
  void pretrain_step(DebugTensors& debug);
  void initialise_step(DebugTensors& debug);
  void joint_step(bool supervised, DebugTensors& debug);
  /// The noise of a part of a batch of the joint phase.
  Key joint_noise(const BatchPart& part) const;
  Key consistency_key(const BatchPart& part) const;
  /// `labels` are those of the whole batch, or undefined.
  PartTerms joint_part(const std::vector<FactorParameters>& parameters, bool supervised,
                       const BatchPart& part, const torch::Tensor& x, const torch::Tensor& labels);
  /// What a part of a step with labels puts through the networks besides its batch: labelled
  /// images, strongly augmented views for pseudo-labels, and conditional samples.
  struct LabelInput {
    FurtherInput further;
    BatchPart labelled;  ///< the part of the labelled batch
    LatentSample sample;
  };
  LabelInput label_input(const BatchPart& part) const;
  torch::Tensor joint_loss(const JointTerms& terms, const LabelInput& input,
                           const std::vector<FactorParameters>& parameters,
                           const torch::Tensor& labels, bool supervised, const BatchPart& part);
  /// The cross-entropy of labelled images, and that of pseudo-labels in augmented views.
  torch::Tensor further_label_loss(const JointTerms& terms, const LabelInput& input,
                                   const BatchPart& part);
  /// Shows the batch to the pseudo-labels before they are chosen, if it is in several parts.
  void observe_parts(const std::vector<FactorParameters>& parameters,
                     const std::vector<BatchPart>& own, const std::vector<torch::Tensor>& images);
  /// The labels of the batch, int64 [B, I]; undefined without any.
  torch::Tensor batch_labels() const;
  NaturalGradient natural_gradient() const;
  /// A part of the images of a step, in the likelihood's units.
  torch::Tensor drawn_images(const Batches& batches, const torch::Tensor& chosen,
                             const torch::Tensor& step, const BatchPart& part) const;
  /// x with the encoder's input noise.
  torch::Tensor with_noise(const torch::Tensor& x, const Key& noise) const;

  Config config_;
  Key key_;
  std::shared_ptr<Vae> model_;
  Adam adam_;
  PartGradients gradients_;
  std::optional<WeightAverage> average_;
  ImageSet images_;
  Batches batches_;
  TrainingLabels labels_;
  StepPlans plans_;
  EncodedImages encoded_;
  torch::Tensor sums_;
  cuda::SideStream side_;
  cuda::CudaGraphCache graphs_;
  StepDebug debug_;
};

}  // namespace facet
