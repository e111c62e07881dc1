// The data of a training run: its images, and the labels of named factors, with the names of their
// values and the weights of the values in the loss.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/data/batches.h"
#include "facet/data/pack.h"
#include "facet/train/config.h"
#include "facet/train/pseudo_labels.h"

namespace facet {

/// The images of the training splits, on the device. With `streamed`, or if they do not fit into
/// the GPU's memory, they are on the host; in the latter case `notice` gets a sentence for the
/// user.
ImageSet training_images(const Config& config, const Pack& pack, torch::Device device,
                         bool streamed, const std::function<void(const std::string&)>& notice);

/// The labels that a run trains with.
struct TrainingLabels {
  /// One column per factor, int64 [N, I], -1 where unknown; undefined without named factors.
  torch::Tensor of_factors;
  /// The weight of each value in the cross-entropy, [K]; undefined for free factors.
  std::vector<torch::Tensor> value_weights;
  /// Separate batches of labelled images, if the config asks for them.
  std::optional<Batches> labelled_batches;
  torch::Tensor labelled;              ///< the labels of those images, in the form of of_factors
  std::optional<PseudoLabels> pseudo;  ///< if the config asks for them

  bool any_known() const;
};
TrainingLabels training_labels(const Config& config, const Pack& pack, const ImageSet& images,
                               const Key& key);

/// Sentences for the user about labels that a run lacks or cannot use.
std::vector<std::string> label_remarks(const Config& config, const TrainingLabels& labels);

/// The column of each factor's property in the data, -1 for free factors. Throws an Error if the
/// data do not have the property.
std::vector<int64_t> find_label_columns(const std::vector<FactorOptions>& factors,
                                        const Pack& pack);

/// The config with the names of values filled in from the data. Throws an Error if they differ from
/// those in the config, or if there are more than the factor has components.
Config with_value_names(Config config, const Pack& pack);

/// The data's labels [N, P] as one column per factor, int64 [N, I], -1 where unknown and for free
/// factors; undefined if all are free.
torch::Tensor factor_labels(const torch::Tensor& labels, const std::vector<int64_t>& columns);

/// The same for images of data that may lack the properties, or have other values: then undefined.
torch::Tensor usable_labels(const std::vector<FactorOptions>& factors, const Pack& pack,
                            const ImageSet& images);

/// frequency^-balance of each value among the known labels, with a mean of one over them, [K].
torch::Tensor value_weights(const torch::Tensor& labels, int64_t components, double balance);

}  // namespace facet
