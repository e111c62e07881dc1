#include "facet/prior/data_pass.h"

#include <cmath>
#include <map>
#include <mutex>
#include <numbers>

#include "facet/core/parallel.h"
#include "facet/core/torch.h"
#include "facet/prior/softmax_rows.h"

namespace facet {

namespace {

/// Numbers in a tile's features or scores: a quarter of a megabyte.
constexpr int64_t tile_numbers = int64_t{1} << 15;
/// The score of a column that is no component.
constexpr double no_component = -1e300;

/// eq:Elogp + E[log pi] as one matrix product: scores = constant + [z, z^2 + variance] weights.
struct ScoreWeights {
  torch::Tensor weights;   ///< [2 D, columns]
  torch::Tensor constant;  ///< [columns]
  int64_t columns = 0;     ///< K, rounded up for softmax_rows

  explicit ScoreWeights(const FactorPosterior& posterior) {
    const NormalGammaMoments expected = moments(posterior.mean());
    const int64_t components = posterior.counts.size(0), dimensions = expected.alpha.size(1);
    columns = (components + kSoftmaxWidth - 1) / kSoftmaxWidth * kSoftmaxWidth;
    weights = torch::zeros({2 * dimensions, columns}, kFloat64);
    const torch::Tensor own = weights.narrow(1, 0, components);
    own.narrow(0, 0, dimensions).copy_(expected.alpha_mu.t());
    own.narrow(0, dimensions, dimensions).copy_(-0.5 * expected.alpha.t());
    constant = torch::full({columns}, no_component, kFloat64);
    constant.narrow(0, 0, components)
        .copy_(0.5 * (expected.log_alpha - std::log(2.0 * std::numbers::pi) - expected.alpha_mu2)
                         .sum(1) +
               posterior.expected_log_weights());
  }
};

/// What one thread adds up over its tiles.
class PassSums {
 public:
  PassSums(const ScoreWeights& scores, const FactorData& data, int64_t rows)
      : scores_(scores),
        data_(data),
        dimensions_(data.block.mean.size(1)),
        features_(torch::empty({rows, 2 * dimensions_}, kFloat64)),
        gamma_(torch::empty({rows, scores.columns}, kFloat64)),
        sums_(torch::zeros({scores.columns, 2 * dimensions_}, kFloat64)),
        counts_(torch::zeros({scores.columns}, kFloat64)) {}

  void add(int64_t begin, int64_t count) {
    const torch::Tensor features = features_.narrow(0, 0, count),
                        gamma = gamma_.narrow(0, 0, count);
    const torch::Tensor first = features.narrow(1, 0, dimensions_),
                        second = features.narrow(1, dimensions_, dimensions_);
    first.copy_(data_.block.mean.narrow(0, begin, count));
    if (data_.shift.defined()) first.sub_(data_.shift).mul_(data_.scale_by);
    torch::Tensor square = second;
    torch::mul_out(square, first, first);
    if (data_.block.variance.defined()) second.add_(data_.block.variance.narrow(0, begin, count));
    torch::Tensor scores = gamma;
    torch::addmm_out(scores, scores_.constant, features, scores_.weights);
    const int64_t* labels =
        data_.labels.defined() ? data_.labels.data_ptr<int64_t>() + begin : nullptr;
    bound_ += softmax_rows(gamma.data_ptr<double>(), count, scores_.columns, labels,
                           counts_.data_ptr<double>());
    sums_.addmm_(gamma.t(), features);
  }

  void add_to(DataPass& pass) const {
    const int64_t components = pass.statistics.counts.size(0);
    pass.statistics.counts += counts_.narrow(0, 0, components);
    const torch::Tensor own = sums_.narrow(0, 0, components);
    pass.statistics.first += own.narrow(1, 0, dimensions_);
    pass.statistics.second += own.narrow(1, dimensions_, dimensions_);
    pass.bound += bound_;
  }

 private:
  const ScoreWeights& scores_;
  const FactorData& data_;
  int64_t dimensions_;
  torch::Tensor features_, gamma_, sums_, counts_;
  double bound_ = 0;
};

}  // namespace

DataPass pass_over(const FactorPosterior& posterior, const FactorData& given) {
  torch::NoGradGuard no_gradient;
  FactorData data = given;
  if (data.labels.defined()) data.labels = data.labels.contiguous();
  const ScoreWeights scores(posterior);
  const int64_t images = data.images(), dimensions = data.block.mean.size(1);
  const int64_t rows =
      std::clamp<int64_t>(tile_numbers / std::max(scores.columns, 2 * dimensions), 32, 1024);
  const int64_t tiles = (images + rows - 1) / rows;
  std::map<int64_t, PassSums> parts;  // by their first tile: they are added in one order
  std::mutex mutex;
  parallel_for(tiles, [&](int64_t first, int64_t last) {
    torch::NoGradGuard none_here_either;  // the guard above is that of another thread
    PassSums sums(scores, data, rows);
    for (int64_t tile = first; tile < last; ++tile)
      sums.add(tile * rows, std::min(rows, images - tile * rows));
    const std::lock_guard lock(mutex);
    parts.emplace(first, std::move(sums));
  });
  const torch::Tensor like = posterior.components.alpha;
  DataPass pass{
      {torch::zeros_like(posterior.counts), torch::zeros_like(like), torch::zeros_like(like)}};
  for (const auto& [first, sums] : parts) sums.add_to(pass);
  return pass;
}

}  // namespace facet
