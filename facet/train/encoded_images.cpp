#include "facet/train/encoded_images.h"

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/prior/initialise.h"
#include "facet/prior/untangle.h"
#include "facet/train/finite_check.h"
#include "facet/train/step_plan.h"

namespace facet {

EncodedImages::EncodedImages(const Vae& model, const ImageSet& images, const torch::Tensor& labels,
                             const Config& config, const Key& key, Ranks& ranks)
    : model_(model),
      images_(images),
      all_labels_(labels),
      count_(encoded_images(config, images.count())),
      key_(key),
      ranks_(ranks) {}

const std::vector<BlockEncoding>& EncodedImages::blocks() {
  if (!blocks_.empty()) return blocks_;
  torch::NoGradGuard no_gradient;
  const int64_t slice_size = model_.device().is_cpu() ? 500 : 4000;
  const torch::Tensor chosen = permutation(key_, images_.count()).narrow(0, 0, count_);
  const std::vector<torch::Tensor> slices = chosen.split(model_.images_at_once(slice_size));
  std::vector<int64_t> rows(static_cast<size_t>(ranks_.size()));
  // A rank may have no slice.
  const torch::Tensor none = torch::empty({0, model_.prior.dimensions()}, model_.device());
  std::vector<torch::Tensor> means = {none}, variances = {none};
  for (size_t i = 0; i < slices.size(); ++i) {
    const size_t rank = i * rows.size() / slices.size();
    rows[rank] += slices[i].size(0);
    if (static_cast<int64_t>(rank) != ranks_.rank()) continue;
    const torch::Tensor pixels = images_.draw(slices[i], key_.fold(i));
    const Encoding encoding = model_.encode(model_.likelihood().from_pixels(pixels));
    means.push_back(encoding.mean);
    variances.push_back(encoding.variance());
  }
  const torch::Tensor mean = ranks_.gather(torch::cat(means), rows),
                      variance = ranks_.gather(torch::cat(variances), rows);
  if (!first_not_finite({{"means", mean}, {"variances", variance}}).empty())
    throw NotFinite({.doing = "fitting the components to the encodings of",
                     .object = fmt::format("{} images", count_),
                     .found = "NaN or infinity in the encodings",
                     .expected = "finite numbers",
                     .cause = "did training diverge? The last good checkpoint is unchanged"});
  blocks_ = model_.prior.split(mean, variance);
  if (all_labels_.defined()) labels_ = all_labels_.index_select(0, chosen.to(all_labels_.device()));
  return blocks_;
}

torch::Tensor EncodedImages::known_labels(size_t factor) const {
  const torch::Tensor labels = labels_of_factor(labels_, factor);
  return labels.defined() && labels.ge(0).any().item<bool>() ? labels : torch::Tensor();
}

std::vector<FactorData> EncodedImages::data() {
  std::vector<FactorData> all;
  for (const BlockEncoding& block : blocks())
    all.push_back({block, known_labels(all.size()),
                   static_cast<double>(images_.count()) / static_cast<double>(count_)});
  return all;
}

void EncodedImages::renew(const Key& key) {
  clear();
  key_ = key;
}

void EncodedImages::clear() {
  blocks_.clear();
  labels_ = torch::Tensor();
}

void untangle_factors(Vae& model, EncodedImages& encoded, const Key& key) {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> means, variances;
  std::vector<BlockPlan> blocks;
  for (const BlockEncoding& block : encoded.blocks()) {
    const size_t factor = blocks.size();
    means.push_back(block.mean);
    variances.push_back(block.variance);
    blocks.push_back(
        {block.mean.size(1), model.prior.factors[factor].components, encoded.known_labels(factor)});
  }
  const Coordinates coordinates = untangle(key, torch::cat(means, 1), blocks);
  const torch::Tensor variance = torch::cat(variances, 1).mean(0);  // [Z]
  const torch::Tensor transformed = coordinates.transform.square().matmul(variance);
  model.change_coordinates(coordinates, torch::log(transformed));
}

void place_components(Vae& model, EncodedImages& encoded, int64_t images,
                      const InitialiseOptions& options, const Key& key) {
  torch::NoGradGuard no_gradient;
  FactorialMixture& prior = model.prior;
  const auto& blocks = encoded.blocks();
  for (size_t i = 0; i < blocks.size(); ++i) {
    const int64_t components = prior.factors[i].components;
    const torch::Tensor labels = encoded.known_labels(i);
    prior.posteriors[i].assign(
        labels.defined()
            ? labelled_posterior(blocks[i], labels, components, images, prior.hyperpriors[i])
            : initial_posterior(key.fold(i), blocks[i], components, images,
                                options.kmeans_iterations, prior.hyperpriors[i]));
  }
  const std::vector<FactorData> data = encoded.data();
  for (size_t i = 0; i < data.size(); ++i)
    for (int64_t pass = 0; pass < options.passes; ++pass)
      exact_update(prior.posteriors[i], data[i], prior.hyperpriors[i]);
}

}  // namespace facet
