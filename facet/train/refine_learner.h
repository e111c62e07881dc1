// The steps of a refiner's training: conditional flow matching on a frozen model. A step draws
// images, their latent vectors from q(z|x), times and noise, all as functions of the seed and the
// step, and never waits for the GPU; there it is captured and replayed (cuda/cuda_graph.h). A batch
// may be computed in parts, on one rank or on several (rank_parts.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "facet/cuda/cuda_graph.h"
#include "facet/data/batches.h"
#include "facet/model/refiner.h"
#include "facet/model/vae.h"
#include "facet/nets/adam.h"
#include "facet/train/config.h"
#include "facet/train/finite_check.h"
#include "facet/train/rank_parts.h"
#include "facet/train/refine_config.h"
#include "facet/train/step_options.h"
#include "facet/train/step_plan.h"

namespace facet {

class RefineLearner {
 public:
  /// A new refiner of a model, on the model's device. `run` is the config that the model was
  /// trained with: the images are drawn as it says. `notice` gets a sentence for the user if they
  /// do not fit into the GPU's memory.
  RefineLearner(const RefineConfig& config, const Config& run, std::shared_ptr<Vae> model,
                const Pack& pack, const StepOptions& options,
                const std::function<void(const std::string&)>& notice);

  /// Step `step`, counted from 0.
  void step(int64_t step);

  /// The name of a tensor of the last step with a NaN or an infinity; nothing if all are finite.
  /// Waits for the GPU.
  std::optional<std::string> find_not_finite() const;
  /// Swaps the weights with their averages.
  void swap_average();

  const std::shared_ptr<Refiner>& refiner() { return refiner_; }
  Adam& adam() { return adam_; }
  /// The average of the weights, flat as Adam::parameters().
  torch::Tensor& average() { return average_; }
  /// The sums of both losses and of gradient norms since the last metrics line, float64 [3].
  torch::Tensor& sums() { return sums_; }
  int64_t image_count() const { return batches_.count(); }
  Ranks& ranks() const { return parts_.ranks(); }

 private:
  void plan(int64_t step);
  void compute_step();
  /// The shares of a part in the losses of the batch, [2], whose gradient is added to those of the
  /// parts before.
  torch::Tensor compute_part(const BatchPart& part);
  /// The loss of images [B, C, H, W] and their means, in [-1, 1].
  torch::Tensor loss(const torch::Tensor& images, const torch::Tensor& means, const Key& key);
  /// That of the flow of latent vectors, for images with these encodings and labels [B, I].
  torch::Tensor latent_loss(const Encoding& encoding, const torch::Tensor& labels, const Key& key);
  void update_average(int64_t step);

  RefineConfig config_;
  Key key_;
  std::shared_ptr<Vae> model_;
  std::shared_ptr<Refiner> refiner_;
  Adam adam_;
  torch::Tensor average_;
  RankParts parts_;
  ImageSet images_;
  torch::Tensor labels_;  ///< of named factors, [N, I]; may be undefined
  Batches batches_;
  PlanTable plans_;
  std::vector<StepPlan> planned_;  ///< those in the table
  torch::Tensor sums_;
  cuda::CudaGraphCache graphs_;
  DebugTensors debug_;
};

}  // namespace facet
