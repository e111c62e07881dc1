#include "facet/eval/fidelity.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"

namespace facet {

namespace {

constexpr int64_t fidelity_neighbours = 5;
constexpr int64_t fidelity_blocks = 10;
constexpr int64_t rows_at_once = 1000;

void require_features(const torch::Tensor& a, const torch::Tensor& b, int64_t least) {
  if (a.dim() != 2 || b.dim() != 2 || a.size(1) != b.size(1) ||
      std::min(a.size(0), b.size(0)) < least)
    Attempt{"comparing features"}.fail(fmt::format("{} and {} rows", a.size(0), b.size(0)),
                                       fmt::format("at least {} of each, of one length", least));
}

torch::Tensor covariance(const torch::Tensor& features) {
  const torch::Tensor centred = features - features.mean(0, /*keepdim=*/true);
  return centred.t().matmul(centred) / static_cast<double>(features.size(0) - 1);
}

/// The square root of a symmetric matrix without negative eigenvalues.
torch::Tensor symmetric_root(const torch::Tensor& matrix) {
  const auto [values, vectors] = torch::linalg_eigh(matrix);
  return (vectors * values.clamp_min(0).sqrt()).matmul(vectors.t());
}

/// The sum of (x.y / F + 1)^3 over all pairs of rows.
double kernel_sum(const torch::Tensor& a, const torch::Tensor& b) {
  double sum = 0;
  for (const torch::Tensor& rows : a.split(rows_at_once))
    sum += (rows.matmul(b.t()) / static_cast<double>(a.size(1)) + 1).pow(3).sum().item<double>();
  return sum;
}

/// The unbiased squared MMD: rows of one set are not compared with themselves.
double unbiased_mmd(const torch::Tensor& a, const torch::Tensor& b) {
  const auto within = [](const torch::Tensor& set) {
    const torch::Tensor self = (set.square().mean(1) + 1).pow(3).sum();
    const auto count = static_cast<double>(set.size(0));
    return (kernel_sum(set, set) - self.item<double>()) / (count * (count - 1));
  };
  const auto pairs = static_cast<double>(a.size(0) * b.size(0));
  return within(a) + within(b) - 2 * kernel_sum(a, b) / pairs;
}

/// The distance of every row to its k-th nearest other row, [N].
torch::Tensor neighbour_radii(const torch::Tensor& features, int64_t neighbours) {
  std::vector<torch::Tensor> radii;
  for (const torch::Tensor& rows : features.split(rows_at_once))
    // The nearest of all is the row itself.
    radii.push_back(std::get<0>(torch::cdist(rows, features).kthvalue(neighbours + 1, 1)));
  return torch::cat(radii);
}

Json fidelity_row_json(const FidelityRow& row) {
  return {{"name", row.name},
          {"frechet_distance", row.frechet},
          {"kernel_distance", row.kernel.value},
          {"kernel_distance_error", row.kernel.standard_error},
          {"precision", row.neighbours.precision},
          {"recall", row.neighbours.recall},
          {"density", row.neighbours.density},
          {"coverage", row.neighbours.coverage}};
}

}  // namespace

double frechet_distance(const torch::Tensor& a, const torch::Tensor& b) {
  require_features(a, b, 2);
  const torch::Tensor one = covariance(a), other = covariance(b), root = symmetric_root(one);
  // tr (S_a S_b)^(1/2) from a symmetric matrix with the same eigenvalues.
  const torch::Tensor product = root.matmul(other).matmul(root);
  const torch::Tensor cross =
      torch::linalg_eigvalsh((product + product.t()) * 0.5).clamp_min(0).sqrt().sum();
  return ((a.mean(0) - b.mean(0)).square().sum() + one.trace() + other.trace() - 2 * cross)
      .item<double>();
}

KernelDistance kernel_distance(const torch::Tensor& a, const torch::Tensor& b, int64_t blocks) {
  require_features(a, b, 2 * blocks);
  if (blocks < 2) Attempt{"comparing features"}.fail("one block", "at least two");
  std::vector<double> values;
  const int64_t size = std::min(a.size(0), b.size(0)) / blocks;
  for (int64_t n = 0; n < blocks; ++n)
    values.push_back(unbiased_mmd(a.narrow(0, n * size, size), b.narrow(0, n * size, size)));
  const double spread = torch::tensor(values, kFloat64).std(/*unbiased=*/true).item<double>();
  return {unbiased_mmd(a, b), spread / std::sqrt(static_cast<double>(blocks))};
}

NeighbourMeasures neighbour_measures(const torch::Tensor& images, const torch::Tensor& samples,
                                     int64_t neighbours) {
  require_features(images, samples, neighbours + 1);
  const torch::Tensor image_radii = neighbour_radii(images, neighbours);
  const torch::Tensor sample_radii = neighbour_radii(samples, neighbours);
  int64_t precise = 0, inside = 0;
  torch::Tensor recalled = torch::zeros({images.size(0)}, images.options().dtype(torch::kBool));
  torch::Tensor covered = recalled.clone();
  int64_t begin = 0;
  for (const torch::Tensor& rows : samples.split(rows_at_once)) {
    const torch::Tensor distances = torch::cdist(rows, images);  // [rows, images]
    const torch::Tensor in_image_ball = distances.le(image_radii.unsqueeze(0));
    const torch::Tensor own = sample_radii.narrow(0, begin, rows.size(0)).unsqueeze(1);
    precise += in_image_ball.any(1).sum().item<int64_t>();
    inside += in_image_ball.sum().item<int64_t>();
    covered |= in_image_ball.any(0);
    recalled |= distances.le(own).any(0);
    begin += rows.size(0);
  }
  const auto count = static_cast<double>(samples.size(0));
  return {static_cast<double>(precise) / count, recalled.to(kFloat64).mean().item<double>(),
          static_cast<double>(inside) / (count * static_cast<double>(neighbours)),
          covered.to(kFloat64).mean().item<double>()};
}

FidelityRow measure_fidelity(const std::string& name, const torch::Tensor& images,
                             const torch::Tensor& samples) {
  return {name, frechet_distance(images, samples),
          kernel_distance(images, samples, fidelity_blocks),
          neighbour_measures(images, samples, fidelity_neighbours)};
}

double share_recognised(const torch::Tensor& pictures, const torch::Tensor& changed) {
  require_features(pictures, changed, 1);
  const torch::Tensor moved_back = changed - (changed.mean(0) - pictures.mean(0));
  int64_t right = 0, begin = 0;
  for (const torch::Tensor& rows : pictures.split(rows_at_once)) {
    const torch::Tensor nearest = torch::cdist(rows, moved_back).argmin(1);
    right += nearest.eq(torch::arange(begin, begin + rows.size(0), nearest.options()))
                 .sum()
                 .item<int64_t>();
    begin += rows.size(0);
  }
  return static_cast<double>(right) / static_cast<double>(pictures.size(0));
}

Json to_json(const Fidelity& fidelity) {
  Json json = {{"split", fidelity.split}, {"count", fidelity.count}, {"features", Json::array()}};
  for (const FidelityTable& table : fidelity.tables) {
    Json rows = Json::array();
    for (const FidelityRow& row : table.rows) rows.push_back(fidelity_row_json(row));
    json["features"].push_back({{"network", table.features}, {"rows", rows}});
  }
  if (fidelity.recognised.empty()) return json;
  json["recognised"] = {{"count", fidelity.changed}, {"factors", Json::array()}};
  for (const RecognisedRow& row : fidelity.recognised) {
    Json entry = {{"factor", row.factor}, {"means", row.means}};
    if (row.refined) entry["refined"] = *row.refined;
    json["recognised"]["factors"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace facet
