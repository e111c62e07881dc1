#include "facet/train/training_data.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/cuda/cuda_graph.h"
#include "facet/prior/factorial_mixture.h"

namespace facet {

namespace {

/// The share of the GPU's free memory that images may use; the rest is for the steps.
constexpr double share_for_images = 0.7;

/// Adds separate batches of labelled images, if the config asks for them.
void add_labelled_batches(TrainingLabels& labels, const Config& config, const ImageSet& images,
                          const Key& key) {
  const JointOptions& joint = config.train.joint;
  if (joint.labelled_batch == 0 || !labels.of_factors.defined()) return;
  const torch::Tensor known = labels.of_factors.ge(0).any(1).nonzero().squeeze(1);
  if (known.numel() == 0) return;
  labels.labelled = labels.of_factors.index_select(0, known);
  ImageSet labelled = images.select(known);
  labelled.augment = joint.augment_labelled;
  // Blurred images are grey; the encoder is trained on black and white.
  if (labelled.augment) labelled.binarize_by_draw = config.data.binarize != "none";
  labels.labelled_batches.emplace(labelled, key.fold("labelled batches"), joint.labelled_batch);
}

}  // namespace

ImageSet training_images(const Config& config, const Pack& pack, torch::Device device,
                         bool streamed, const std::function<void(const std::string&)>& notice) {
  const std::vector<Split> splits = parse_splits(config.data.train_splits);
  if (!streamed && device.is_cuda()) {
    const auto bytes =
        static_cast<double>(pack.indices(splits).numel() * pack.images.image_bytes());
    const auto free = static_cast<double>(cuda::free_memory(device));
    streamed = bytes > share_for_images * free;
    if (streamed && notice)
      notice(
          fmt::format("the images ({:.1f} GB) do not fit into the GPU's free memory ({:.1f} GB) "
                      "beside the model: they are copied to it batch by batch",
                      bytes * 1e-9, free * 1e-9));
  }
  return select_images(pack, splits, config.data, true, device, streamed);
}

bool TrainingLabels::any_known() const {
  return of_factors.defined() && of_factors.ge(0).any().item<bool>();
}

TrainingLabels training_labels(const Config& config, const Pack& pack, const ImageSet& images,
                               const Key& key) {
  const std::vector<int64_t> columns = find_label_columns(config.model.factors, pack);
  TrainingLabels labels;
  labels.of_factors = factor_labels(images.labels, columns);
  labels.value_weights.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i] >= 0)
      labels.value_weights[i] =
          value_weights(labels_of_factor(labels.of_factors, i), config.model.factors[i].components,
                        config.train.joint.balance);
  add_labelled_batches(labels, config, images, key);
  if (config.train.joint.pseudo_labels.weight > 0 && labels.any_known())
    labels.pseudo.emplace(config.model.factors, config.train.joint.pseudo_labels,
                          labels.of_factors);
  return labels;
}

std::vector<std::string> label_remarks(const Config& config, const TrainingLabels& labels) {
  std::vector<std::string> remarks;
  for (size_t i = 0; i < config.model.factors.size(); ++i) {
    const FactorOptions& factor = config.model.factors[i];
    if (!factor.named()) continue;
    const auto values = static_cast<int64_t>(factor.values.size());
    if (values < factor.components)
      remarks.push_back(
          fmt::format("factor '{}' has {} components for the {} values of '{}': the "
                      "others get no name",
                      factor.name, factor.components, values, factor.property));
    std::vector<std::string> missing;
    const torch::Tensor known = labels_of_factor(labels.of_factors, i);
    for (int64_t value = 0; value < values; ++value)
      if (!known.eq(value).any().item<bool>())
        missing.push_back(factor.values[static_cast<size_t>(value)]);
    if (missing.empty()) continue;
    const size_t all = missing.size();
    missing.resize(std::min<size_t>(all, 5));
    remarks.push_back(
        fmt::format("no training image has a label for {} of the {} values of '{}' "
                    "({}{}): the model cannot learn them",
                    all, values, factor.property, fmt::join(missing, ", "),
                    all > missing.size() ? ", ..." : ""));
  }
  return remarks;
}

std::vector<int64_t> find_label_columns(const std::vector<FactorOptions>& factors,
                                        const Pack& pack) {
  std::vector<std::string> names;
  for (const Property& property : pack.properties) names.push_back(property.name);
  std::vector<int64_t> columns;
  for (const FactorOptions& factor : factors) {
    const auto found = std::find(names.begin(), names.end(), factor.property);
    if (factor.named() && found == names.end())
      throw Error({.doing = fmt::format("naming factor '{}' by property", factor.name),
                   .object = factor.property,
                   .found = "no such property in the data",
                   .expected = "one of its properties",
                   .cause = suggest(factor.property, names)});
    const int64_t column = factor.named() ? found - names.begin() : -1;
    if (column >= 0 && std::find(columns.begin(), columns.end(), column) != columns.end())
      throw Error({.doing = fmt::format("naming factor '{}' by property", factor.name),
                   .object = factor.property,
                   .found = "another factor that it names already",
                   .expected = "one factor per property"});
    columns.push_back(column);
  }
  return columns;
}

Config with_value_names(Config config, const Pack& pack) {
  const auto columns = find_label_columns(config.model.factors, pack);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] < 0) continue;
    FactorOptions& factor = config.model.factors[i];
    const std::vector<std::string>& values =
        pack.properties[static_cast<size_t>(columns[i])].values;
    if (!factor.values.empty() && factor.values != values)
      throw Error({.doing = fmt::format("naming factor '{}' by property", factor.name),
                   .object = factor.property,
                   .found = fmt::format("values {} in the data", fmt::join(values, ", ")),
                   .expected = fmt::format("{}", fmt::join(factor.values, ", ")),
                   .cause = "was the pack imported again?"});
    factor.values = values;
    if (static_cast<int64_t>(factor.values.size()) > factor.components)
      throw Error({.doing = fmt::format("naming factor '{}' by property", factor.name),
                   .object = factor.property,
                   .found = fmt::format("{} values for {} components", factor.values.size(),
                                        factor.components),
                   .expected = "at least as many components as values"});
  }
  return config;
}

torch::Tensor factor_labels(const torch::Tensor& labels, const std::vector<int64_t>& columns) {
  if (std::all_of(columns.begin(), columns.end(), [](int64_t column) { return column < 0; }))
    return {};
  std::vector<torch::Tensor> chosen;
  for (const int64_t column : columns)
    chosen.push_back(column < 0 ? torch::full({labels.size(0)}, -1, labels.options())
                                : labels.select(1, column));
  return torch::stack(chosen, 1);
}

torch::Tensor usable_labels(const std::vector<FactorOptions>& factors, const Pack& pack,
                            const ImageSet& images) {
  for (const FactorOptions& factor : factors) {
    const auto same = [&](const Property& property) {
      return property.name == factor.property && property.values == factor.values;
    };
    if (factor.named() && std::none_of(pack.properties.begin(), pack.properties.end(), same))
      return {};
  }
  return factor_labels(images.labels, find_label_columns(factors, pack));
}

torch::Tensor value_weights(const torch::Tensor& labels, int64_t components, double balance) {
  const torch::Tensor known = labels.index_select(0, labels.ge(0).nonzero().squeeze(1));
  const torch::Tensor counts = torch::bincount(known, {}, components).to(kFloat64);
  const torch::Tensor weights = counts.clamp_min(1.0).pow(-balance);
  return weights / ((weights * counts).sum() / counts.sum().clamp_min(1.0)).clamp_min(1e-12);
}

}  // namespace facet
