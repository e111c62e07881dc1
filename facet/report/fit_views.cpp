#include "facet/report/fit_views.h"

#include <fmt/format.h>

#include "facet/core/torch.h"

namespace facet {

namespace {

/// Points that are drawn, and vectors that the axes are computed from.
constexpr int64_t drawn_points = 1500, axis_vectors = 20000;
/// Components that are drawn: more would hide each other.
constexpr size_t most_ellipses = 16;

/// The largest living components, at most most_ellipses.
std::vector<int64_t> largest_components(const torch::Tensor& held) {
  const torch::Tensor order = held.argsort(0, /*descending=*/true);
  std::vector<int64_t> chosen;
  for (int64_t place = 0; place < held.size(0) && chosen.size() < most_ellipses; ++place) {
    const auto k = order[place].item<int64_t>();
    if (held[k].item<double>() > 1.0) chosen.push_back(k);
  }
  return chosen;
}

/// The principal axes of the rows, [D, D], the widest first, and their shares of the variance, [D].
struct PrincipalAxes {
  torch::Tensor axes, shares;

  explicit PrincipalAxes(const torch::Tensor& rows) {
    const torch::Tensor centred = rows - rows.mean(0);
    const torch::Tensor covariance =
        centred.t().matmul(centred) / static_cast<double>(rows.size(0));
    const auto [values, vectors] = torch::linalg_eigh(covariance, "L");
    axes = vectors.flip(1);
    const torch::Tensor variances = values.flip(0).clamp_min(0);
    shares = variances / variances.sum().clamp_min(1e-300);
  }
};

/// Rows drawn at random, the same every time. Equal distances would miss a cluster in vectors that
/// come in turns.
FactorData some_rows(FactorData data, int64_t count) {
  if (data.images() <= count) return data.slice(0, data.images());
  const torch::Tensor level = uniform(Key(1).fold("views"), {count}, kFloat64);
  data.random_rows = (level * static_cast<double>(data.images())).to(kInt64);
  return data.random_part(count);
}

}  // namespace

std::vector<Scatter> factor_views(const VectorMixture& mixture, size_t factor,
                                  const torch::Tensor& vectors, size_t most) {
  torch::NoGradGuard no_gradient;
  const FactorOptions& options = mixture.mixture.factors[factor];
  if (options.dimensions < 2) return {};
  const FactorData data = factor_data(mixture, factor, vectors);
  const FactorPosterior& posterior = mixture.mixture.posteriors[factor];
  const PrincipalAxes principal(some_rows(data, axis_vectors).block.mean);
  const torch::Tensor points = some_rows(data, drawn_points).block.mean;
  const torch::Tensor codes = e_step({points}, posterior, {}).argmax(1);
  const NormalGamma components = posterior.mean();
  const torch::Tensor variance = components.b / components.a;  // [K, D]
  const std::vector<int64_t> shown = largest_components(mixture.mixture.held_images(factor));
  std::vector<Scatter> views;
  for (int64_t first = 0; first + 1 < options.dimensions && views.size() < most; first += 2) {
    const torch::Tensor axes = principal.axes.narrow(1, first, 2);  // [D, 2]
    const torch::Tensor at = points.matmul(axes).contiguous(),
                        centres = components.m.matmul(axes).contiguous();
    const torch::Tensor one = axes.select(1, 0), other = axes.select(1, 1);
    const torch::Tensor xx = variance.matmul(one * one), xy = variance.matmul(one * other),
                        yy = variance.matmul(other * other);
    Scatter view;
    const auto title = [&](int64_t axis) {
      return fmt::format("axis {} ({:.0f} % of the variance)", axis + 1,
                         100 * principal.shares[axis].item<double>());
    };
    view.title = fmt::format("{}, principal axes {} and {}", options.name, first + 1, first + 2);
    view.x_title = title(first);
    view.y_title = title(first + 1);
    for (int64_t n = 0; n < at.size(0); ++n)
      view.points.push_back({at[n][0].item<double>(), at[n][1].item<double>(),
                             static_cast<size_t>(codes[n].item<int64_t>())});
    for (const int64_t k : shown)
      view.ellipses.push_back({centres[k][0].item<double>(), centres[k][1].item<double>(),
                               xx[k].item<double>(), xy[k].item<double>(), yy[k].item<double>(),
                               static_cast<size_t>(k)});
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace facet
