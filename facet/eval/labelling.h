// What a model says of images one by one: the values of its named factors with their
// probabilities, and how typical each image is. From this come a completed table of labels, the
// given labels that the model doubts, and the images whose labels would help most.
#pragma once

#include <string>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/data/batches.h"
#include "facet/model/vae.h"

namespace facet {

/// The values of one named factor. Probabilities are those of the factor's values alone: components
/// beyond them have no name. Tensors are on the CPU.
struct NamedValues {
  std::string property;
  std::vector<std::string> values;
  torch::Tensor log_probabilities;  ///< float64 [N, V], up to a constant per image
  torch::Tensor given;              ///< int64 [N], the data's own label; -1 where unknown
};

struct ImageReadings {
  std::vector<NamedValues> named;  ///< one per named factor
  torch::Tensor bounds;            ///< the bound of eq:test-elbo of every image, float64 [N]
  torch::Tensor codes;             ///< the means of the named factors' blocks, float64 [N, D]
};

/// Throws an Error if the model has no named factor, or if the data's values of a property are not
/// those of the model. A property that the data do not have counts as unknown. With `mirror`,
/// probabilities are those of value_log_probabilities() with the mirror image.
ImageReadings read_images(Vae& model, const ImageSet& images,
                          const std::vector<Property>& properties, uint64_t seed,
                          bool mirror = false);

/// The share of reference images that have a lower bound than each image, [N]: near 0 for an image
/// unlike all others.
torch::Tensor typicality(const torch::Tensor& bounds, const torch::Tensor& reference);

/// A given label that the model doubts.
struct DoubtedLabel {
  int64_t image, factor, predicted;
  double probability_of_given, probability_of_predicted;
};
/// Given labels less probable than another value, the least probable first. `probabilities` are
/// calibrated, one [N, V] per named factor.
std::vector<DoubtedLabel> doubted_labels(const ImageReadings& readings,
                                         const std::vector<torch::Tensor>& probabilities);

/// The images whose labels would help most, at most `count`: the model is unsure of a value that is
/// not given, and they differ from each other.
std::vector<int64_t> images_to_ask(const ImageReadings& readings,
                                   const std::vector<torch::Tensor>& probabilities, int64_t count);

}  // namespace facet
