#include "facet/eval/agreement.h"

#include <algorithm>

#include "facet/core/torch.h"
#include "facet/eval/component_labels.h"
#include "facet/prior/merge_tree.h"

namespace facet {

namespace {

/// Share of images in the component of their label; `labels` are int64 [N].
double named_accuracy(const std::vector<int64_t>& codes, const torch::Tensor& labels,
                      const FactorOptions& factor, const Property& property) {
  return accuracy(contingency(codes, to_integers(component_labels(labels, property, factor)),
                              factor.components, static_cast<int64_t>(factor.values.size())));
}

PropertyAgreement agreement(const std::vector<int64_t>& codes, const torch::Tensor& labels,
                            const FactorOptions& factor, const Property& property) {
  const auto values = static_cast<int64_t>(property.values.size());
  const Contingency table = contingency(codes, to_integers(labels), factor.components, values);
  const bool own = factor.named() && factor.property == property.name;
  if (own) require_known_values(property, factor);
  PropertyAgreement result;
  result.property = property.name;
  result.values = values;
  result.images = labels.ge(0).sum().item<int64_t>();
  result.accuracy = own ? named_accuracy(codes, labels, factor, property) : matched_accuracy(table);
  result.nmi = normalised_mutual_information(table);
  result.purity = purity(table);
  result.adjusted_rand = adjusted_rand_index(table);
  result.mutual_information = mutual_information(table);
  result.explained = explained_share(table);
  result.standout = strongest_pair(table);
  result.value = property.values[static_cast<size_t>(result.standout.klass)];
  result.component = factor.component_name(result.standout.cluster);
  return result;
}

double label_entropy(const torch::Tensor& labels, const Property& property) {
  std::vector<double> counts(property.values.size(), 0);
  for (const int64_t label : to_integers(labels))
    if (label >= 0) ++counts[static_cast<size_t>(label)];
  return entropy(counts);
}

/// The gap of the property that was added last to every factor.
PropertyGap last_property_gap(const std::vector<FactorEvaluation>& factors, double entropy) {
  std::vector<double> information;
  for (const FactorEvaluation& factor : factors)
    information.push_back(factor.properties.back().mutual_information);
  const auto most = std::max_element(information.begin(), information.end());
  return {factors.front().properties.back().property, entropy,
          information_gap(information, entropy),
          factors[static_cast<size_t>(most - information.begin())].name};
}

}  // namespace

void compare_codes(Evaluation& result, const std::vector<std::vector<int64_t>>& codes,
                   const std::vector<FactorOptions>& factors, const torch::Tensor& labels,
                   const std::vector<Property>& properties) {
  for (size_t p = 0; p < properties.size(); ++p) {
    const torch::Tensor column = labels.select(1, static_cast<int64_t>(p));
    if (!column.ge(0).any().item<bool>()) continue;
    for (size_t i = 0; i < factors.size(); ++i)
      result.factors[i].properties.push_back(
          agreement(codes[i], column, factors[i], properties[p]));
    if (const double entropy = label_entropy(column, properties[p]); entropy > 0)
      result.gaps.push_back(last_property_gap(result.factors, entropy));
  }
  double sum = 0;
  for (const PropertyGap& gap : result.gaps) sum += gap.gap;
  if (!result.gaps.empty()) result.mean_gap = sum / static_cast<double>(result.gaps.size());
  std::vector<int64_t> components;
  for (const FactorOptions& factor : factors) components.push_back(factor.components);
  result.dependence = dependence(codes, components);
  result.mean_dependence = mean_dependence(result.dependence);
}

void compare_mirrored(Evaluation& result, const std::vector<std::vector<int64_t>>& values,
                      const std::vector<FactorOptions>& factors, const torch::Tensor& labels,
                      const std::vector<Property>& properties) {
  auto own = values.begin();
  for (size_t i = 0; i < factors.size() && own != values.end(); ++i) {
    if (!factors[i].named()) continue;
    for (size_t p = 0; p < properties.size(); ++p) {
      const torch::Tensor column = labels.select(1, static_cast<int64_t>(p));
      if (properties[p].name == factors[i].property && column.ge(0).any().item<bool>())
        result.factors[i].mirrored_accuracy =
            named_accuracy(*own, column, factors[i], properties[p]);
    }
    ++own;
  }
}

void compare_merged(Evaluation& result, const FactorialMixture& prior,
                    const std::vector<std::vector<int64_t>>& codes, const torch::Tensor& labels,
                    const std::vector<Property>& properties) {
  for (size_t i = 0; i < prior.size(); ++i) {
    if (prior.factors[i].named() || prior.held_images(i).gt(1.0).sum().item<int64_t>() < 2)
      continue;
    const MergeTree tree = merge_tree(prior.posteriors[i], prior.hyperpriors[i]);
    MergedEvaluation merged = evaluate_merges(tree);
    for (size_t p = 0; p < properties.size(); ++p) {
      const std::vector<int64_t> classes = to_integers(labels.select(1, static_cast<int64_t>(p)));
      if (std::all_of(classes.begin(), classes.end(), [](int64_t label) { return label < 0; }))
        continue;
      merged.properties.push_back(cut_agreement(tree, codes[i], classes, properties[p].name,
                                                static_cast<int64_t>(properties[p].values.size())));
    }
    result.factors[i].merged = std::move(merged);
  }
}

const PropertyAgreement* FactorEvaluation::best() const {
  for (const PropertyAgreement& agreement : properties)
    if (agreement.property == property) return &agreement;
  const auto found = std::max_element(properties.begin(), properties.end(),
                                      [](const auto& a, const auto& b) { return a.nmi < b.nmi; });
  return found == properties.end() ? nullptr : &*found;
}

std::vector<const PropertyAgreement*> FactorEvaluation::most_explained(size_t limit) const {
  std::vector<const PropertyAgreement*> order;
  for (const PropertyAgreement& agreement : properties) order.push_back(&agreement);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->explained > b->explained; });
  order.resize(std::min(order.size(), limit));
  return order;
}

}  // namespace facet
