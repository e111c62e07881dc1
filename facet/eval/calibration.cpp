#include "facet/eval/calibration.h"

#include <algorithm>
#include <cmath>

#include "facet/core/torch.h"

namespace facet {

namespace {

constexpr int64_t most_bins = 15;
constexpr int64_t fewest_in_bin = 20;
/// The standard deviation of log T before any label is seen.
constexpr double prior_stddev = 0.5;

/// The rows with a label, and those labels.
struct KnownRows {
  torch::Tensor rows, labels;
};
KnownRows known_rows(const torch::Tensor& all, const torch::Tensor& labels) {
  const torch::Tensor known = labels.ge(0).nonzero().squeeze(1);
  return {all.index_select(0, known), labels.index_select(0, known)};
}

}  // namespace

torch::Tensor at_temperature(const torch::Tensor& log_probabilities, double temperature) {
  return torch::softmax(log_probabilities / temperature, 1);
}

double fit_temperature(const torch::Tensor& log_probabilities, const torch::Tensor& labels) {
  const auto [rows, known] = known_rows(log_probabilities, labels);
  if (known.numel() == 0) return 1.0;
  const auto loss = [&, rows = rows, known = known](double log_temperature) {
    const torch::Tensor scaled = torch::log_softmax(rows / std::exp(log_temperature), 1);
    const double likelihood = scaled.gather(1, known.unsqueeze(1)).sum().item<double>();
    return 0.5 * std::pow(log_temperature / prior_stddev, 2) - likelihood;
  };
  // The loss has one minimum: golden-section search.
  const double golden = 0.5 * (std::sqrt(5.0) - 1.0);
  double low = -3, high = 5;
  double left = high - golden * (high - low), right = low + golden * (high - low);
  double left_loss = loss(left), right_loss = loss(right);
  for (int i = 0; i < 40; ++i) {
    if (left_loss < right_loss) {
      high = right, right = left, right_loss = left_loss;
      left = high - golden * (high - low), left_loss = loss(left);
    } else {
      low = left, left = right, left_loss = right_loss;
      right = low + golden * (high - low), right_loss = loss(right);
    }
  }
  return std::exp(0.5 * (low + high));
}

Reliability reliability(const torch::Tensor& probabilities, const torch::Tensor& labels) {
  const auto [rows, known] = known_rows(probabilities, labels);
  Reliability result;
  result.images = known.numel();
  if (result.images == 0) return result;
  const auto [best, value] = rows.max(1);
  const torch::Tensor order = best.argsort();
  const torch::Tensor sorted = best.index_select(0, order);
  const torch::Tensor right = value.eq(known).to(kFloat64).index_select(0, order);
  const int64_t bins = std::clamp<int64_t>(result.images / fewest_in_bin, 1, most_bins);
  for (int64_t b = 0; b < bins; ++b) {
    const int64_t begin = result.images * b / bins, end = result.images * (b + 1) / bins;
    const auto mean = [&](const torch::Tensor& all) {
      return all.narrow(0, begin, end - begin).mean().item<double>();
    };
    const ReliabilityBin bin{mean(sorted), mean(right), end - begin};
    const double share = static_cast<double>(bin.images) / static_cast<double>(result.images);
    result.error += share * std::abs(bin.probability - bin.accuracy);
    result.accuracy += share * bin.accuracy;
    result.bins.push_back(bin);
  }
  return result;
}

}  // namespace facet
