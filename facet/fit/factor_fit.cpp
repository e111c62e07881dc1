#include "facet/fit/factor_fit.h"

#include <algorithm>

#include "facet/core/torch.h"
#include "facet/prior/data_pass.h"
#include "facet/prior/evidence.h"
#include "facet/prior/initialise.h"

namespace facet {

namespace {

/// A learned b0 over the given one, at least. Where a component has one value in a dimension, as in
/// columns of zeros and ones, less is always better, without end.
constexpr double least_b0 = 1e-4;

/// The part of the bound that q(xi) and the hyperprior decide, for fixed responsibilities and with
/// q(xi) at its optimum (prior/moves.h).
double evidence(const FactorPosterior& posterior, const FactorHyperprior& hyperprior) {
  const int64_t components = posterior.counts.size(0);
  const std::vector<double> empty(static_cast<size_t>(components), hyperprior.count.item<double>());
  return log_normalisers(posterior).sum().item<double>() -
         static_cast<double>(components) *
             empty_log_normaliser(hyperprior, posterior.components.alpha.size(1)) +
         weights_evidence(to_doubles(posterior.counts), hyperprior.concentration) -
         weights_evidence(empty, hyperprior.concentration);
}

/// Components in the order of their sizes, largest first: the best for stick-breaking weights.
FactorStatistics sorted(const FactorStatistics& statistics) {
  const torch::Tensor order = statistics.counts.argsort(0, /*descending=*/true);
  const auto rows = [&](const torch::Tensor& all) { return all.index_select(0, order); };
  return {rows(statistics.counts), rows(statistics.first), rows(statistics.second)};
}

}  // namespace

FactorFit::FactorFit(const Key& key, const FitOptions& options, const FactorOptions& factor,
                     const FactorData& data, FactorPosterior& posterior,
                     FactorHyperprior& hyperprior)
    : key_(key),
      options_(options),
      factor_(factor),
      data_(data),
      posterior_(posterior),
      hyperprior_(hyperprior),
      least_b0_(least_b0 * hyperprior.components.b) {}

bool FactorFit::begin_learning() {
  if (learning_ || !options_.learn_hyperprior || !free()) return false;
  return learning_ = true;
}

int64_t FactorFit::living() const {
  return (posterior_.counts - hyperprior_.count).gt(1.0).sum().item<int64_t>();
}

FactorData FactorFit::sample() const {
  return data_.random_part(std::max(options_.kmeans_vectors, 10 * factor_.components));
}

void FactorFit::place(const torch::Tensor& start) {
  torch::NoGradGuard no_gradient;
  const int64_t vectors = data_.images();
  if (start.defined()) {
    FactorData given = data_;
    given.labels = start;
    posterior_.assign(
        conjugate_posterior(pass_over(posterior_, given).statistics, data_.scale, hyperprior_));
    return;
  }
  FactorData some = sample();
  if (data_.labels.defined() && factor_.named()) {
    // Labels are few: all of them, and random vectors for the overall variance.
    FactorData known = data_;
    known.random_rows = data_.labels.ge(0).nonzero().squeeze(1);
    const FactorData labelled = known.random_part(known.random_rows.size(0));
    const BlockEncoding block{torch::cat({labelled.block.mean, some.block.mean})};
    const torch::Tensor labels =
        torch::cat({labelled.labels, torch::full({some.images()}, -1, kInt64)});
    posterior_.assign(labelled_posterior(block, labels, factor_.components, vectors, hyperprior_));
    return;
  }
  posterior_.assign(initial_posterior(key_.fold("k-means"), some.block, factor_.components, vectors,
                                      options_.kmeans_iterations, hyperprior_));
  if (hyperprior_.concentration.defined()) sort_components(posterior_);
}

double FactorFit::measure() {
  const DataPass pass = pass_over(posterior_, data_);
  statistics_ = pass.statistics;
  const HyperpriorKl kl = hyperprior_kl(posterior_.parameters(), hyperprior_);
  return data_.scale * pass.bound - (kl.components.sum() + kl.weights).item<double>();
}

void FactorFit::update(int64_t iteration) {
  torch::NoGradGuard no_gradient;
  if (options_.stochastic())
    batch_steps(iteration);
  else
    exact_step();
}

void FactorFit::exact_step() {
  if (hyperprior_.concentration.defined()) statistics_ = sorted(statistics_);
  posterior_.assign(conjugate_posterior(statistics_, data_.scale, hyperprior_));
  if (learning_) learn();
}

void FactorFit::learned_hyperprior() {
  learn_hyperprior(hyperprior_, posterior_);
  torch::Tensor& b0 = hyperprior_.components.b;
  b0.copy_(torch::maximum(b0, least_b0_));
}

/// For the same responsibilities, the hyperprior with the highest bound. Only living components
/// have a say in it, so what it gives is checked.
void FactorFit::learn() {
  const double before = evidence(posterior_, hyperprior_);
  std::vector<torch::Tensor> old;
  for (const auto& [name, tensor] : hyperprior_.tensors()) old.push_back(tensor.clone());
  learned_hyperprior();
  const FactorPosterior next = conjugate_posterior(statistics_, data_.scale, hyperprior_);
  if (evidence(next, hyperprior_) >= before) {
    posterior_.assign(next);
    return;
  }
  const NamedTensors own = hyperprior_.tensors();
  for (size_t i = 0; i < own.size(); ++i) own[i].second.copy_(old[i]);
}

void FactorFit::batch_steps(int64_t iteration) {
  const Key key = key_.fold("batches").fold(static_cast<uint64_t>(iteration));
  const torch::Tensor order = permutation(key, data_.images());
  for (const torch::Tensor& rows : order.split(options_.batch_size)) {
    FactorData batch = data_;
    batch.random_rows = rows;
    batch = batch.random_part(rows.size(0));
    const double rho = std::min(1.0, options_.step_size.at(step_++));
    natural_step(
        posterior_,
        conjugate_posterior(pass_over(posterior_, batch).statistics, batch.scale, hyperprior_),
        torch::full({}, rho, kFloat64));
  }
  if (hyperprior_.concentration.defined()) sort_components(posterior_);
  if (learning_) learned_hyperprior();
}

Moves FactorFit::move(int64_t iteration) {
  if (!options_.merge_and_split || !free()) return {};
  const Key key = key_.fold("moves").fold(static_cast<uint64_t>(iteration));
  return merge_and_split(move_goal(options_.move_goal), key, posterior_, data_, hyperprior_);
}

}  // namespace facet
