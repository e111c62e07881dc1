#include "facet/prior/weights.h"

#include <cmath>

#include "facet/core/torch.h"

namespace facet {

namespace {

/// The Betas of the first K - 1 sticks, [K - 1] each.
struct Sticks {
  torch::Tensor first, second;

  Sticks(const torch::Tensor& counts, const torch::Tensor& concentration) {
    const torch::Tensor images = counts - 1.0;
    const torch::Tensor later = images.sum() - images.cumsum(0);
    const int64_t sticks = counts.size(0) - 1;
    first = counts.narrow(0, 0, sticks);
    second = concentration + later.narrow(0, 0, sticks).clamp_min(0);
  }
  /// E[log v] and E[log(1 - v)].
  torch::Tensor log_taken() const { return torch::digamma(first) - torch::digamma(first + second); }
  torch::Tensor log_left() const { return torch::digamma(second) - torch::digamma(first + second); }
};

/// From what the sticks take and leave, to the weights: 1 (or its logarithm) for the last stick.
torch::Tensor padded(const torch::Tensor& sticks, double value, bool in_front) {
  const torch::Tensor end = torch::full({1}, value, sticks.options());
  return in_front ? torch::cat({end, sticks}) : torch::cat({sticks, end});
}

}  // namespace

torch::Tensor expected_log_weights(const torch::Tensor& counts,
                                   const torch::Tensor& concentration) {
  if (!concentration.defined()) return torch::digamma(counts) - torch::digamma(counts.sum());
  const Sticks sticks(counts, concentration);
  return padded(sticks.log_taken(), 0.0, false) + padded(sticks.log_left().cumsum(0), 0.0, true);
}

torch::Tensor expected_weights(const torch::Tensor& counts, const torch::Tensor& concentration) {
  if (!concentration.defined()) return counts / counts.sum();
  const Sticks sticks(counts, concentration);
  const torch::Tensor taken = sticks.first / (sticks.first + sticks.second);
  return padded(taken, 1.0, false) * padded((1.0 - taken).cumprod(0), 1.0, true);
}

torch::Tensor weights_kl(const torch::Tensor& counts, const torch::Tensor& concentration,
                         const torch::Tensor& c0) {
  if (!concentration.defined()) {
    const auto components = static_cast<double>(counts.size(0));
    return torch::lgamma(counts.sum()) - torch::lgamma(components * c0) -
           (torch::lgamma(counts) - torch::lgamma(c0)).sum() +
           ((counts - c0) * expected_log_weights(counts, {})).sum();
  }
  const Sticks sticks(counts, concentration);
  const torch::Tensor &first = sticks.first, &second = sticks.second;
  return (-torch::log(concentration) - torch::lgamma(first) - torch::lgamma(second) +
          torch::lgamma(first + second) + (first - 1.0) * sticks.log_taken() +
          (second - concentration) * sticks.log_left())
      .sum();
}

torch::Tensor best_pseudo_count(const torch::Tensor& counts, double lowest, double highest) {
  // The maximum of log Gamma(K c) - K log Gamma(c) + c sum_k E[log pi_k], by Newton's method on
  // log c, in which it is concave (Minka, 2000).
  const auto components = static_cast<double>(counts.size(0));
  const torch::Tensor mean_log = expected_log_weights(counts, {}).mean();
  torch::Tensor log_c = torch::zeros_like(mean_log);
  for (int i = 0; i < 20; ++i) {
    const torch::Tensor c = torch::exp(log_c);
    const torch::Tensor slope = torch::digamma(components * c) - torch::digamma(c) + mean_log;
    const torch::Tensor curvature =
        components * torch::polygamma(1, components * c) - torch::polygamma(1, c);
    const torch::Tensor first = c * slope, second = c * c * curvature + first;
    log_c = (log_c - first / second.clamp_max(-1e-12)).clamp(std::log(lowest), std::log(highest));
  }
  return torch::exp(log_c);
}

torch::Tensor best_concentration(const torch::Tensor& counts, const torch::Tensor& concentration,
                                 double lowest, double highest) {
  const Sticks sticks(counts, concentration);
  return (-1.0 / sticks.log_left().mean()).clamp(lowest, highest);
}

}  // namespace facet
