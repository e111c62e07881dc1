// The gradients of a batch that is computed in parts, on one rank or on several (rank_parts.h).
// Losses are means over images, so the gradients of parts add up to those of the batch.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/model/vae.h"
#include "facet/nets/adam.h"
#include "facet/train/config.h"
#include "facet/train/finite_check.h"
#include "facet/train/metrics.h"
#include "facet/train/rank_parts.h"

namespace facet {

/// What a part of a batch gives.
struct PartTerms {
  torch::Tensor loss;    ///< its share of the loss of the batch
  StepTerms step;        ///< without the gradient's norm and the labels
  NamedTensors tensors;  ///< for messages about numbers that are not finite
};

class PartGradients {
 public:
  /// The model and its optimizer are used, not owned. Throws an Error if there are fewer parts than
  /// ranks.
  PartGradients(const TrainOptions& options, Vae& model, Adam& adam, std::shared_ptr<Ranks> ranks);

  Ranks& ranks() const { return parts_.ranks(); }
  /// The parts that this rank computes.
  std::vector<BatchPart> own_parts() const { return parts_.own(); }
  /// Whether the batch is a single part.
  bool whole() const { return parts_.count() == 1; }

  /// The gradients of the batch, in the places where optimizers expect them, from those of the
  /// rank's parts; and the terms of all images, in their order.
  StepTerms compute(const std::vector<BatchPart>& own, DebugTensors& debug,
                    const std::function<PartTerms(const BatchPart&)>& part_terms);
  /// The rows of the batch from those of the rank's parts, [B, ...].
  torch::Tensor gather_images(const std::vector<torch::Tensor>& of_parts) const;
  /// The sum over the parts of the batch of the rank's terms, [n] each.
  torch::Tensor sum_of_parts(const std::vector<torch::Tensor>& of_parts) const {
    return parts_.sum(of_parts);
  }

 private:
  /// What ranks exchange of a part beside the networks' gradients, as one row of bytes.
  struct PartRecord {
    torch::Tensor loss;
    StepTerms step;
    std::vector<torch::Tensor> posterior_gradients;
  };
  std::vector<torch::Tensor*> posterior_gradients() const;
  /// Whether gradients of parts are computed apart and then added in order, because they would
  /// otherwise be summed in another order, or at other ranks.
  bool parts_apart() const {
    return exact_ && (!ranks().alone() || (model_.accelerated() && !whole()));
  }
  void begin_part(bool first);
  /// Takes the network gradients of part `index` of the rank's own out of the optimizer.
  void keep_part(torch::Tensor& of_parts, int64_t index, int64_t own);
  PartRecord record_of(PartTerms terms) const;
  std::vector<PartRecord> all_records(std::vector<PartRecord> own) const;
  /// A tensor of a record: one number per image, or always as many.
  struct Piece {
    torch::Tensor* tensor;
    bool per_image;

    int64_t count(int64_t images) const { return per_image ? images : tensor->numel(); }
  };
  static std::vector<Piece> pieces_of(PartRecord& record);
  static int64_t packed_bytes(PartRecord& like, int64_t images);
  static torch::Tensor pack_record(PartRecord& record);
  static PartRecord unpack_record(PartRecord like, const torch::Tensor& bytes, int64_t images);
  void sum_network_gradients(const torch::Tensor& of_parts);
  void sum_posterior_gradients(const std::vector<PartRecord>& records);

  Vae& model_;
  Adam& adam_;
  RankParts parts_;
  bool exact_;
};

}  // namespace facet
