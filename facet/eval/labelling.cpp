#include "facet/eval/labelling.h"

#include <algorithm>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/eval/component_labels.h"
#include "facet/eval/value_probabilities.h"
#include "facet/model/objective.h"

namespace facet {

namespace {

constexpr int64_t batch_size = 250;
/// The images that `images_to_ask` chooses among are this many times as many as it returns.
constexpr int64_t candidates_per_question = 10;

const Property* find_property(const std::vector<Property>& properties, const std::string& name) {
  const auto found = std::find_if(properties.begin(), properties.end(),
                                  [&](const Property& property) { return property.name == name; });
  return found == properties.end() ? nullptr : &*found;
}

/// The data's labels of a factor's property as its components, int64 [N] on the CPU.
torch::Tensor given_labels(const FactorOptions& factor, const ImageSet& images,
                           const std::vector<Property>& properties) {
  const Property* const property = find_property(properties, factor.property);
  if (property == nullptr) return torch::full({images.count()}, -1, kInt64);
  require_known_values(*property, factor);
  const torch::Tensor column = images.labels.select(1, property - properties.data());
  return component_labels(column.to(torch::kCPU), *property, factor);
}

/// What one batch adds to the readings.
struct BatchReadings {
  torch::Tensor bounds, codes;
  std::vector<torch::Tensor> log_probabilities;  ///< one per named factor, [B, V]
};

BatchReadings read_batch(Vae& model, const torch::Tensor& pixels, bool mirror, const Key& key) {
  const torch::Tensor x = model.likelihood().from_pixels(pixels);
  const BoundTerms terms = bound_terms(model, x, {}, key);
  BatchReadings batch{
      terms.bound().cpu(), {}, value_log_probabilities(model, x, terms.encoding, mirror)};
  const auto blocks = model.prior.split(terms.encoding.mean);
  std::vector<torch::Tensor> codes;
  for (size_t i = 0; i < model.prior.size(); ++i)
    if (model.prior.factors[i].named()) codes.push_back(blocks[i].cpu());
  batch.codes = torch::cat(codes, 1);
  return batch;
}

/// The entropy of every image's unknown values, summed over the factors, [N].
torch::Tensor open_entropy(const ImageReadings& readings,
                           const std::vector<torch::Tensor>& probabilities) {
  torch::Tensor sum = torch::zeros_like(readings.bounds);
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const torch::Tensor& p = probabilities[i];
    const torch::Tensor open = readings.named[i].given.lt(0).to(kFloat64);
    sum = sum - open * torch::xlogy(p, p).sum(1);
  }
  return sum;
}

}  // namespace

ImageReadings read_images(Vae& model, const ImageSet& images,
                          const std::vector<Property>& properties, uint64_t seed, bool mirror) {
  torch::NoGradGuard no_gradient;
  ImageReadings readings;
  for (const FactorOptions& factor : model.prior.factors)
    if (factor.named())
      readings.named.push_back(
          {factor.property, factor.values, {}, given_labels(factor, images, properties)});
  if (readings.named.empty())
    throw Error({.doing = "labelling images with",
                 .object = "the model",
                 .found = "no named factor",
                 .expected = "at least one, trained with labels of a property"});
  std::vector<torch::Tensor> bounds, codes;
  std::vector<std::vector<torch::Tensor>> scores(readings.named.size());
  const Key key = Key(seed).fold("label");
  const auto read = [&](const torch::Tensor& pixels) {
    const BatchReadings batch =
        read_batch(model, pixels.to(model.device()), mirror, key.fold(bounds.size()));
    bounds.push_back(batch.bounds);
    codes.push_back(batch.codes);
    for (size_t i = 0; i < scores.size(); ++i) scores[i].push_back(batch.log_probabilities[i]);
  };
  images.pixels.for_each_slice(model.images_at_once(batch_size), read);
  readings.bounds = torch::cat(bounds);
  readings.codes = torch::cat(codes).to(kFloat64);
  for (size_t i = 0; i < scores.size(); ++i)
    readings.named[i].log_probabilities = torch::cat(scores[i]);
  return readings;
}

torch::Tensor typicality(const torch::Tensor& bounds, const torch::Tensor& reference) {
  const torch::Tensor sorted = std::get<0>(reference.sort());
  return torch::searchsorted(sorted, bounds).to(kFloat64) / static_cast<double>(sorted.numel());
}

std::vector<DoubtedLabel> doubted_labels(const ImageReadings& readings,
                                         const std::vector<torch::Tensor>& probabilities) {
  std::vector<DoubtedLabel> doubted;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const auto p = probabilities[i].accessor<double, 2>();
    const auto given = readings.named[i].given.accessor<int64_t, 1>();
    const torch::Tensor best = probabilities[i].argmax(1);
    const auto predicted = best.accessor<int64_t, 1>();
    for (int64_t n = 0; n < given.size(0); ++n)
      if (given[n] >= 0 && given[n] != predicted[n])
        doubted.push_back(
            {n, static_cast<int64_t>(i), predicted[n], p[n][given[n]], p[n][predicted[n]]});
  }
  std::stable_sort(doubted.begin(), doubted.end(), [](const auto& a, const auto& b) {
    return a.probability_of_given < b.probability_of_given;
  });
  return doubted;
}

std::vector<int64_t> images_to_ask(const ImageReadings& readings,
                                   const std::vector<torch::Tensor>& probabilities, int64_t count) {
  const torch::Tensor entropy = open_entropy(readings, probabilities);
  const int64_t open = entropy.gt(0).sum().item<int64_t>();
  const int64_t pool = std::min(candidates_per_question * count, open);
  const torch::Tensor candidates = entropy.argsort(0, /*descending=*/true).narrow(0, 0, pool);
  const torch::Tensor codes = readings.codes.index_select(0, candidates);
  std::vector<int64_t> chosen;
  torch::Tensor distance;  // of every candidate from the nearest chosen one
  for (int64_t next = 0; static_cast<int64_t>(chosen.size()) < std::min(count, pool);) {
    chosen.push_back(candidates[next].item<int64_t>());
    const torch::Tensor from_next = (codes - codes[next]).square().sum(1);
    distance = distance.defined() ? torch::minimum(distance, from_next) : from_next;
    distance[next] = -1;
    next = distance.argmax().item<int64_t>();
  }
  return chosen;
}

}  // namespace facet
