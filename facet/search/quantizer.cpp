#include "facet/search/quantizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/prior/kmeans.h"
#include "facet/search/fast_scan.h"

namespace facet {

namespace {

constexpr int64_t kKMeansIterations = 25;
/// Of a stored quantizer: sums of squares of such numbers are finite in float32.
constexpr double kLargestNumber = 1e9;

/// The error to expect of 16 centres for axes with these variances: the least that a Gaussian
/// allows at 4 bits. All axes that get bits have the same error (reverse water-filling); those
/// whose variance is below it get none.
double expected_error(const std::vector<int64_t>& axes, const std::vector<double>& variances) {
  std::vector<double> sorted;
  for (const int64_t axis : axes)
    sorted.push_back(std::max(variances[static_cast<size_t>(axis)], 1e-12));
  std::sort(sorted.begin(), sorted.end());  // the smallest leave first
  double left_out = 0;
  for (size_t first = 0;; left_out += sorted[first++]) {
    double log_sum = 0;
    for (size_t i = first; i < sorted.size(); ++i) log_sum += std::log(sorted[i]);
    const auto count = static_cast<double>(sorted.size() - first);
    const double level = std::exp((log_sum - 2 * std::log(static_cast<double>(kCentres))) / count);
    if (level <= sorted[first]) return count * level + left_out;
  }
}

int64_t total_dimensions(const std::vector<FactorOptions>& factors) {
  int64_t total = 0;
  for (const FactorOptions& factor : factors) total += factor.dimensions;
  return total;
}

/// The principal axes of every block, block-diagonal [Z, Z], with their variances.
std::pair<torch::Tensor, std::vector<double>> principal_axes(
    const torch::Tensor& centred, const std::vector<FactorOptions>& factors) {
  torch::Tensor axes = torch::zeros({centred.size(1), centred.size(1)}, kFloat64);
  std::vector<double> variances;
  int64_t begin = 0;
  for (const FactorOptions& factor : factors) {
    const torch::Tensor block = centred.narrow(1, begin, factor.dimensions);
    const torch::Tensor covariance =
        block.t().matmul(block) / static_cast<double>(std::max<int64_t>(1, centred.size(0)));
    const auto [values, vectors] = torch::linalg_eigh(covariance);
    axes.narrow(0, begin, factor.dimensions).narrow(1, begin, factor.dimensions).copy_(vectors);
    for (int64_t d = 0; d < factor.dimensions; ++d) variances.push_back(values[d].item<double>());
    begin += factor.dimensions;
  }
  return {axes, variances};
}

std::vector<int64_t> factor_of_axes(const std::vector<FactorOptions>& factors) {
  std::vector<int64_t> owners;
  for (size_t i = 0; i < factors.size(); ++i)
    owners.insert(owners.end(), static_cast<size_t>(factors[i].dimensions),
                  static_cast<int64_t>(i));
  return owners;
}

}  // namespace

std::vector<std::vector<int64_t>> group_axes(const std::vector<double>& variances,
                                             const std::vector<int64_t>& factors, int64_t parts) {
  std::vector<std::vector<int64_t>> groups;
  for (size_t d = 0; d < variances.size(); ++d) groups.push_back({static_cast<int64_t>(d)});
  const auto owner = [&](const std::vector<int64_t>& group) {
    return factors[static_cast<size_t>(group[0])];
  };
  while (static_cast<int64_t>(groups.size()) > parts) {
    double least = std::numeric_limits<double>::infinity();
    std::pair<size_t, size_t> best{0, 0};
    for (size_t i = 0; i < groups.size(); ++i)
      for (size_t j = i + 1; j < groups.size() && owner(groups[i]) == owner(groups[j]); ++j) {
        std::vector<int64_t> merged = groups[i];
        merged.insert(merged.end(), groups[j].begin(), groups[j].end());
        const double cost = expected_error(merged, variances) -
                            expected_error(groups[i], variances) -
                            expected_error(groups[j], variances);
        if (cost < least) least = cost, best = {i, j};
      }
    if (best.second == 0) break;  // every factor has one part left
    std::vector<int64_t>& into = groups[best.first];
    into.insert(into.end(), groups[best.second].begin(), groups[best.second].end());
    std::sort(into.begin(), into.end());
    groups.erase(groups.begin() + static_cast<long>(best.second));
  }
  return groups;
}

torch::Tensor LatentQuantizer::quantize(const torch::Tensor& latents) const {
  torch::NoGradGuard no_gradient;
  const torch::Tensor rotated = (latents.to(kFloat32) - mean).matmul(rotation);
  torch::Tensor numbers = torch::zeros({latents.size(0), stored_parts()}, kUInt8);
  for (int64_t m = 0; m < parts(); ++m) {
    const auto at = static_cast<size_t>(m);
    const int64_t begin = begins[at], size = begins[at + 1] - begin;
    const torch::Tensor own = centres.narrow(1, begin, size);
    const torch::Tensor scores =
        torch::addmm(own.square().sum(1), rotated.narrow(1, begin, size), own.t(), 1, -2);
    numbers.select(1, m).copy_(scores.argmin(1));
  }
  return numbers;
}

torch::Tensor LatentQuantizer::reconstruct(const torch::Tensor& numbers) const {
  torch::NoGradGuard no_gradient;
  torch::Tensor rotated = torch::empty({numbers.size(0), mean.size(0)}, kFloat32);
  for (int64_t m = 0; m < parts(); ++m) {
    const auto at = static_cast<size_t>(m);
    const int64_t begin = begins[at], size = begins[at + 1] - begin;
    rotated.narrow(1, begin, size)
        .copy_(centres.narrow(1, begin, size).index_select(0, numbers.select(1, m).to(kInt64)));
  }
  return rotated.matmul(rotation.t()) + mean;
}

torch::Tensor LatentQuantizer::tables(const torch::Tensor& latent) const {
  torch::NoGradGuard no_gradient;
  const torch::Tensor rotated = (latent.to(kFloat32) - mean).matmul(rotation);
  const torch::Tensor squares = (centres - rotated).square();  // [16, Z]
  torch::Tensor part_of_axis = torch::empty({mean.size(0)}, kInt64);
  for (int64_t m = 0; m < parts(); ++m) {
    const auto at = static_cast<size_t>(m);
    std::fill(part_of_axis.data_ptr<int64_t>() + begins[at],
              part_of_axis.data_ptr<int64_t>() + begins[at + 1], m);
  }
  return torch::zeros({stored_parts(), kCentres}, kFloat32)
      .index_add_(0, part_of_axis, squares.t().contiguous());
}

void LatentQuantizer::store(TensorFile& file) const {
  file.tensors["quantizer.mean"] = mean;
  file.tensors["quantizer.rotation"] = rotation;
  file.tensors["quantizer.centres"] = centres;
  file.tensors["quantizer.begins"] = torch::tensor(begins, kInt64);
  file.tensors["quantizer.factors"] = torch::tensor(factors, kInt64);
}

LatentQuantizer LatentQuantizer::restore(const TensorFile& file,
                                         const std::vector<FactorOptions>& factors,
                                         const std::string& object) {
  const int64_t dimensions = total_dimensions(factors);
  LatentQuantizer result;
  result.mean = file.get("quantizer.mean", kFloat32, {dimensions}, object).clone();
  result.rotation =
      file.get("quantizer.rotation", kFloat32, {dimensions, dimensions}, object).clone();
  result.centres = file.get("quantizer.centres", kFloat32, {kCentres, dimensions}, object).clone();
  const auto numbers = [&](const char* name) {
    return to_integers(file.get(name, kInt64, {-1}, object));
  };
  result.begins = numbers("quantizer.begins");
  result.factors = numbers("quantizer.factors");
  const auto count = static_cast<int64_t>(factors.size());
  bool good = !result.factors.empty() && result.parts() <= kMostParts &&
              result.begins.size() == result.factors.size() + 1 && result.begins.front() == 0 &&
              result.begins.back() == dimensions &&
              std::is_sorted(result.begins.begin(), result.begins.end());
  for (const int64_t factor : result.factors) good = good && factor >= 0 && factor < count;
  for (const torch::Tensor& tensor : {result.mean, result.rotation, result.centres})
    good = good && tensor.abs().le(kLargestNumber).all().item<bool>();
  if (!good)
    Attempt{"reading an index", object}.fail("a quantizer that does not fit together",
                                             "parts of all latent dimensions",
                                             "is the file damaged?");
  return result;
}

LatentQuantizer fit_quantizer(const Key& key, const torch::Tensor& latents,
                              const std::vector<FactorOptions>& factors, int64_t parts) {
  torch::NoGradGuard no_gradient;
  const torch::Tensor points = latents.to(kFloat64);
  const torch::Tensor mean = points.mean(0), centred = points - mean;
  const auto [axes, variances] = principal_axes(centred, factors);
  const std::vector<int64_t> owners = factor_of_axes(factors);
  LatentQuantizer result;
  std::vector<int64_t> order;
  for (const auto& group : group_axes(variances, owners, std::min(parts, kMostParts))) {
    result.begins.push_back(static_cast<int64_t>(order.size()));
    result.factors.push_back(owners[static_cast<size_t>(group[0])]);
    order.insert(order.end(), group.begin(), group.end());
  }
  result.begins.push_back(static_cast<int64_t>(order.size()));
  result.mean = mean.to(kFloat32);
  result.rotation = axes.index_select(1, torch::tensor(order, kInt64)).to(kFloat32);
  const torch::Tensor rotated = centred.to(kFloat32).matmul(result.rotation);
  result.centres = torch::empty({kCentres, points.size(1)}, kFloat32);
  for (int64_t m = 0; m < result.parts(); ++m) {
    const auto at = static_cast<size_t>(m);
    const int64_t begin = result.begins[at], size = result.begins[at + 1] - begin;
    const KMeans clusters =
        k_means(key.fold(static_cast<uint64_t>(m)), rotated.narrow(1, begin, size).contiguous(),
                kCentres, kKMeansIterations);
    result.centres.narrow(1, begin, size).copy_(clusters.centres);
  }
  return result;
}

}  // namespace facet
