#include "facet/eval/evaluation_classifier.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/eval/component_labels.h"
#include "facet/model/generate.h"
#include "facet/nets/adam.h"
#include "facet/prior/sampling.h"

namespace facet {

namespace {

/// The log frequency of a value that no training image has.
constexpr double never = -1e9;
/// Images per batch where no gradient is needed.
constexpr int64_t inference_batch = 500;

/// Convolutions of stride 2 with twice the channels each, until the shorter side has four pixels:
/// the cost per pixel is about the same for every size, and features keep their position.
NetworkOptions network_for(const ImageShape& shape, int64_t channels) {
  NetworkOptions options{.preset = "custom", .channels = {}, .strides = {}, .kernel = 3};
  for (int64_t side = std::min(shape.height, shape.width); side > 4; side = (side + 1) / 2) {
    options.channels.insert(options.channels.begin(), channels);
    options.strides.push_back(2);
    channels = std::max<int64_t>(channels / 2, 16);
  }
  if (options.channels.empty()) {  // an image of at most four pixels
    options.channels = {channels};
    options.strides = {1};
  }
  return options;
}

/// Bytes to -1 .. 1.
torch::Tensor to_units(const torch::Tensor& pixels) {
  return pixels.to(kFloat32).div_(127.5).sub_(1);
}

/// Linear warm-up over a twentieth of the steps, then cosine decay. Smaller for a wider network,
/// where the changes of more weights add up.
double learning_rate(const ClassifierOptions& options, int64_t step) {
  const double progress = static_cast<double>(step + 1) / static_cast<double>(options.steps + 1);
  const double width =
      static_cast<double>(ClassifierOptions().channels) / static_cast<double>(options.channels);
  return options.learning_rate * width * std::min(1.0, 20 * progress) * 0.5 *
         (1 + std::cos(std::numbers::pi * progress));
}

/// A named factor may have more components than its property has values; the others have no label.
int64_t value_count(const FactorOptions& factor) {
  return static_cast<int64_t>(factor.values.size());
}

std::vector<size_t> named_factors(const FactorialMixture& prior) {
  std::vector<size_t> named;
  for (size_t i = 0; i < prior.size(); ++i)
    if (prior.factors[i].named()) named.push_back(i);
  if (named.empty())
    throw Error({.doing = "classifying samples",
                 .found = "a model without a named factor",
                 .expected = "a factor with a property",
                 .cause = "give a factor of the config a \"property\""});
  return named;
}

torch::Tensor labels_of(const FactorOptions& factor, const ImageSet& images,
                        const std::vector<Property>& properties) {
  torch::Tensor labels = torch::full({images.count()}, -1, images.labels.options());
  for (size_t p = 0; p < properties.size(); ++p)
    if (properties[p].name == factor.property)
      labels =
          component_labels(images.labels.select(1, static_cast<int64_t>(p)), properties[p], factor);
  if (!labels.ge(0).any().item<bool>())
    throw Error({.doing = "classifying samples of factor",
                 .object = factor.name,
                 .found = fmt::format("no image with a label of property '{}'", factor.property),
                 .expected = "labels in the training splits and in the split to evaluate on",
                 .cause = "the evaluation classifier is trained on labels"});
  return labels;
}

/// The model's reconstructions of all images, U8 [N, C, H, W].
torch::Tensor reconstruct_pixels(Vae& model, const ImageSet& images, const Key& key) {
  std::vector<torch::Tensor> parts;
  const torch::Tensor all = torch::arange(images.count(), images.labels.options());
  for (const torch::Tensor& part : all.split(inference_batch)) {
    const torch::Tensor x =
        model.likelihood().from_pixels(images.draw(part, key.fold(parts.size())));
    parts.push_back(decode_means(model, model.encode(x).mean));
  }
  return torch::cat(parts);
}

/// The accuracy on images with a known label, one number per property.
std::vector<double> accuracies(const torch::Tensor& predicted, const torch::Tensor& labels) {
  std::vector<double> shares;
  for (int64_t p = 0; p < labels.size(1); ++p) {
    const torch::Tensor label = labels.select(1, p);
    const torch::Tensor right = predicted.select(1, p).eq(label).masked_select(label.ge(0));
    shares.push_back(right.to(kFloat64).mean().item<double>());
  }
  return shares;
}

}  // namespace

torch::Tensor named_labels(const FactorialMixture& prior, const ImageSet& images,
                           const std::vector<Property>& properties) {
  std::vector<torch::Tensor> columns;
  for (const size_t i : named_factors(prior))
    columns.push_back(labels_of(prior.factors[i], images, properties));
  return torch::stack(columns, 1);
}

EvaluationClassifier::EvaluationClassifier(const ImageShape& shape,
                                           const std::vector<int64_t>& values, const Key& key,
                                           int64_t channels)
    : values_(values),
      network_(convolution_layers(network_for(shape, channels), shape),
               std::accumulate(values.begin(), values.end(), int64_t{0}), key) {}

std::vector<torch::Tensor> EvaluationClassifier::scores(const torch::Tensor& x) {
  return network_.forward(x).split_with_sizes(values_, 1);
}

torch::Tensor EvaluationClassifier::loss(const torch::Tensor& x, const torch::Tensor& labels) {
  torch::Tensor sum = torch::zeros({}, x.options());
  const auto all = scores(x);
  for (size_t p = 0; p < all.size(); ++p)
    sum = sum + torch::cross_entropy_loss(all[p] + log_frequencies_[p],
                                          labels.select(1, static_cast<int64_t>(p)), {},
                                          at::Reduction::Sum, /*ignore_index=*/-1);
  return sum / static_cast<double>(x.size(0));
}

void EvaluationClassifier::train(const ImageSet& images, const torch::Tensor& labels,
                                 const ClassifierOptions& options) {
  const torch::Device device = images.pixels.device();
  for (auto& [name, parameter] : network_.parameters()) parameter.set_data(parameter.to(device));
  const torch::Tensor known = labels.ge(0).any(1).nonzero().squeeze(1);
  training_labels_ = known.numel();
  const ImageSet chosen = images.select(known);
  const ImageSet labelled{.pixels = chosen.pixels,
                          .labels = labels.index_select(0, known),
                          .shards = chosen.shards,
                          .augment = true,
                          .mirror = images.mirror};
  log_frequencies_.clear();
  log_uniform_.clear();
  for (size_t p = 0; p < values_.size(); ++p) {
    const torch::Tensor column = labelled.labels.select(1, static_cast<int64_t>(p));
    const torch::Tensor counts =
        torch::bincount(column.masked_select(column.ge(0)), {}, values_[p]).to(kFloat32);
    const torch::Tensor missing = counts.eq(0);
    log_frequencies_.push_back((counts / counts.sum()).log().masked_fill(missing, never));
    log_uniform_.push_back(torch::zeros_like(counts).masked_fill(missing, never));
  }

  const Key key = Key(options.seed).fold("judge");
  Batches batches(labelled, key, std::min(options.batch_size, training_labels_));
  Adam adam(network_.parameters(), {.weight_decay = options.weight_decay});
  const Adam::Range all = adam.range_of(network_.parameters());
  for (int64_t step = 0; step < options.steps; ++step) {
    adam.zero_gradients();
    loss(to_units(batches.pixels(step)), batches.labels(step)).backward();
    adam.begin_step();
    adam.update(all,
                torch::full({}, learning_rate(options, step),
                            torch::TensorOptions().dtype(kFloat64).device(device)),
                {});
  }
}

torch::Tensor EvaluationClassifier::most_likely(const ImageRows& pixels,
                                                const std::vector<torch::Tensor>& log_priors) {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> parts;
  pixels.for_each_slice(inference_batch, [&](const torch::Tensor& part) {
    const auto all = scores(to_units(part.to(network_.head().weight.device())));
    std::vector<torch::Tensor> columns;
    for (size_t p = 0; p < all.size(); ++p) columns.push_back((all[p] + log_priors[p]).argmax(1));
    parts.push_back(torch::stack(columns, 1));
  });
  return torch::cat(parts);
}

torch::Tensor EvaluationClassifier::classify(const ImageRows& pixels) {
  return most_likely(pixels, log_uniform_);
}

torch::Tensor EvaluationClassifier::classify_natural(const ImageRows& pixels) {
  return most_likely(pixels, log_frequencies_);
}

EvaluationClassifier train_classifier(const FactorialMixture& prior, const ImageSet& images,
                                      const std::vector<Property>& properties,
                                      const ClassifierOptions& options) {
  const torch::Tensor labels = named_labels(prior, images, properties);
  std::vector<int64_t> values;
  for (const size_t i : named_factors(prior)) values.push_back(value_count(prior.factors[i]));
  EvaluationClassifier classifier(images.pixels.shape(), values,
                                  Key(options.seed).fold("judge network"), options.channels);
  classifier.train(images, labels, options);
  return classifier;
}

namespace {

/// Adds the samples of the next value, of which the classifier has predicted int64 [N].
void add_value(ClassifierReport::Samples& samples, const torch::Tensor& predicted, int64_t values) {
  const auto value = samples.confusion.size();
  samples.confusion.push_back(to_integers(torch::bincount(predicted, {}, values)));
  samples.agreement_by_value.push_back(static_cast<double>(samples.confusion[value][value]) /
                                       static_cast<double>(predicted.numel()));
  samples.agreement += samples.agreement_by_value.back() / static_cast<double>(values);
}

/// Classifies samples with factor `index` fixed at each of its values in turn; `column` is the
/// factor's position among the named ones.
ClassifierReport::Factor classify_factor(EvaluationClassifier& classifier, Vae& model, size_t index,
                                         int64_t column, int64_t samples, const Key& key,
                                         const Refinement& refinement) {
  const FactorOptions& factor = model.prior.factors[index];
  ClassifierReport::Factor result;
  result.name = factor.name;
  result.property = factor.property;
  if (refinement) result.refined.emplace();
  const int64_t values = value_count(factor);
  for (int64_t value = 0; value < values; ++value) {
    std::vector<int64_t> fixed(model.prior.size(), -1);
    fixed[index] = value;
    const Key own = key.fold(static_cast<uint64_t>(value));
    const LatentSample draw = sample_latents(own, model.prior, samples, fixed);
    const auto predicted = [&](const Refinement& chosen) {
      return classifier
          .classify(decode_pictures(model, draw, chosen, PictureNoise::each(own, samples)))
          .select(1, column);
    };
    result.values.push_back(factor.component_name(value));
    add_value(result.means, predicted({}), values);
    if (refinement) add_value(*result.refined, predicted(refinement), values);
  }
  return result;
}

}  // namespace

ClassifierReport classify_samples(EvaluationClassifier& classifier, Vae& model,
                                  const ImageSet& real, const std::vector<Property>& properties,
                                  const ClassifierOptions& options, const Refinement& refinement) {
  torch::NoGradGuard no_gradient;
  const FactorialMixture& prior = model.prior;
  const std::vector<size_t> named = named_factors(prior);
  const torch::Tensor labels = named_labels(prior, real, properties);
  const Key key = Key(options.seed).fold("judged samples");
  const auto own = accuracies(classifier.classify_natural(real.pixels), labels);
  const auto reconstructed = accuracies(
      classifier.classify_natural(reconstruct_pixels(model, real, key.fold("binarize"))), labels);
  ClassifierReport report;
  report.samples = options.samples;
  report.refine_steps = refinement ? refinement.steps : 0;
  report.refine_guidance = refinement ? refinement.strength() : 0;
  report.training_labels = classifier.training_labels();
  int64_t all_values = 0;
  for (size_t f = 0; f < named.size(); ++f) {
    const auto column = static_cast<int64_t>(f);
    ClassifierReport::Factor factor = classify_factor(classifier, model, named[f], column,
                                                      options.samples, key.fold(f), refinement);
    factor.own_accuracy = own[f];
    factor.reconstructed_accuracy = reconstructed[f];
    all_values += value_count(prior.factors[named[f]]);
    report.factors.push_back(std::move(factor));
  }
  const LatentSample mixed =
      sample_even_values(key.fold("all"), prior, all_values * options.samples);
  std::vector<torch::Tensor> intended;
  for (const size_t i : named)
    intended.push_back(mixed.components.select(1, static_cast<int64_t>(i)));
  const auto all_as_intended = [&](const Refinement& chosen) {
    const torch::Tensor predicted = classifier.classify(decode_pictures(
        model, mixed, chosen, PictureNoise::each(key.fold("all"), mixed.z.size(0))));
    return predicted.eq(torch::stack(intended, 1)).all(1).to(kFloat64).mean().item<double>();
  };
  report.joint_agreement = all_as_intended({});
  if (refinement) report.refined_joint_agreement = all_as_intended(refinement);
  return report;
}

ClassifierReport classify_model_samples(Vae& model, const Pack& pack, const DataOptions& data,
                                        Split split, bool seen_labels_only,
                                        const ClassifierOptions& options,
                                        const Refinement& refinement) {
  // Decoded means are grey, so the classifier is trained on grey images.
  DataOptions grey = data;
  grey.binarize = "none";
  const std::vector<Split> splits = parse_splits(data.train_splits);
  const torch::Device device = model.device();
  ImageSet seen = select_images(pack, splits, grey, seen_labels_only, device);
  seen.mirror = data.mirror;
  EvaluationClassifier classifier = train_classifier(model.prior, seen, pack.properties, options);
  ImageSet real = select_images(pack, {split}, grey, false, device);
  real.binarize_by_draw = data.binarize != "none";  // as the model saw them
  return classify_samples(classifier, model, real, pack.properties, options, refinement);
}

namespace {

Json to_json(const ClassifierReport::Samples& samples) {
  return {{"agreement", samples.agreement},
          {"agreement_by_value", samples.agreement_by_value},
          {"confusion", samples.confusion}};
}

}  // namespace

Json to_json(const ClassifierReport& report) {
  Json json = {
      {"training_labels", report.training_labels}, {"samples", report.samples},
      {"refine_steps", report.refine_steps},       {"refine_guidance", report.refine_guidance},
      {"joint_agreement", report.joint_agreement}, {"factors", Json::array()}};
  if (report.refined_joint_agreement)
    json["refined_joint_agreement"] = *report.refined_joint_agreement;
  for (const ClassifierReport::Factor& factor : report.factors) {
    Json entry = to_json(factor.means);
    entry.update({{"name", factor.name},
                  {"property", factor.property},
                  {"own_accuracy", factor.own_accuracy},
                  {"reconstructed_accuracy", factor.reconstructed_accuracy},
                  {"values", factor.values}});
    if (factor.refined) entry["refined"] = to_json(*factor.refined);
    json["factors"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace facet
