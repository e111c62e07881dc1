#include "facet/train/pseudo_labels.h"

#include "facet/core/torch.h"

namespace facet {

namespace {

/// Decay per step of the mean assignment probabilities.
constexpr double decay = 0.99;

/// The frequencies of values among the known labels, with one more label of each, [K].
torch::Tensor frequencies_of(const torch::Tensor& labels, int64_t components) {
  const torch::Tensor known = labels.index_select(0, labels.ge(0).nonzero().squeeze(1));
  const torch::Tensor counts = torch::bincount(known, {}, components).to(kFloat64) + 1.0;
  return counts / counts.sum();
}

}  // namespace

PseudoLabels::PseudoLabels(const std::vector<FactorOptions>& factors,
                           const PseudoLabelOptions& options, const torch::Tensor& labels)
    : options_(options), frequencies_(factors.size()) {
  for (size_t i = 0; i < factors.size(); ++i) {
    if (!factors[i].named()) continue;
    const torch::Tensor labelled =
        frequencies_of(labels_of_factor(labels, i), factors[i].components);
    frequencies_[i] = {factors[i].name, labelled, labelled.clone()};
  }
}

torch::Tensor PseudoLabels::mean_probabilities(const std::vector<FactorTerms>& factors) const {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> means;
  for (size_t i = 0; i < factors.size(); ++i)
    if (frequencies_[i].labelled.defined()) means.push_back(factors[i].responsibilities.mean(0));
  return torch::cat(means);
}

void PseudoLabels::observe(const torch::Tensor& mean_probabilities) {
  if (!options_.align) return;
  torch::NoGradGuard no_gradient;
  int64_t begin = 0;
  for (const Frequencies& factor : frequencies_) {
    if (!factor.predicted.defined()) continue;
    const int64_t count = factor.predicted.size(0);
    factor.predicted.mul_(decay).add_(mean_probabilities.narrow(0, begin, count), 1.0 - decay);
    begin += count;
  }
}

torch::Tensor PseudoLabels::choose(const std::vector<FactorTerms>& factors) const {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> columns;
  for (size_t i = 0; i < factors.size(); ++i) {
    const torch::Tensor& responsibilities = factors[i].responsibilities;
    const auto& [name, labelled, predicted] = frequencies_[i];
    if (!labelled.defined()) {
      columns.push_back(
          torch::full({responsibilities.size(0)}, -1, responsibilities.options().dtype(kInt64)));
      continue;
    }
    torch::Tensor probabilities = responsibilities;
    if (options_.align) {
      probabilities = responsibilities * (labelled / predicted.clamp_min(1e-6));
      probabilities = probabilities / probabilities.sum(1, /*keepdim=*/true);
    }
    const auto [sureness, value] = probabilities.max(1);
    columns.push_back(
        torch::where(sureness.ge(options_.threshold), value, torch::full_like(value, -1)));
  }
  return torch::stack(columns, 1);
}

NamedTensors PseudoLabels::tensors() const {
  NamedTensors tensors;
  for (const Frequencies& factor : frequencies_)
    if (factor.predicted.defined())
      tensors.emplace_back("pseudo_labels." + factor.factor, factor.predicted);
  return tensors;
}

}  // namespace facet
