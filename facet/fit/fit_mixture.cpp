#include "facet/fit/fit_mixture.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/fit/factor_fit.h"
#include "facet/prior/data_pass.h"

namespace facet {

namespace {

/// Rows of the vectors at a time, where all of them are looked at.
constexpr int64_t slice_rows = int64_t{1} << 14;
/// Rows that moves and k-means may ask for, per component at least.
constexpr int64_t random_rows_per_component = 40;
/// More would bury what else is said.
constexpr size_t most_columns_named = 5;

template <class Work>
void for_row_slices(const torch::Tensor& vectors, const Work& work) {
  for (int64_t begin = 0; begin < vectors.size(0); begin += slice_rows)
    work(vectors.narrow(0, begin, std::min(slice_rows, vectors.size(0) - begin)).to(kFloat64));
}

/// The mean and the standard deviation of every column, [Z] each. Computed with a first guess of
/// the mean taken off, so that nothing cancels.
struct ColumnSummary {
  torch::Tensor mean, stddev;

  explicit ColumnSummary(const torch::Tensor& vectors) {
    const auto count = static_cast<double>(vectors.size(0));
    const torch::Tensor guess = vectors.select(0, 0).to(kFloat64);
    torch::Tensor sum = torch::zeros_like(guess), squares = torch::zeros_like(guess);
    for_row_slices(vectors, [&](const torch::Tensor& part) { sum += (part - guess).sum(0); });
    mean = guess + sum / count;
    for_row_slices(vectors,
                   [&](const torch::Tensor& part) { squares += (part - mean).square().sum(0); });
    stddev = torch::sqrt(squares / count);
    // All rows equal the first one: rounding of the mean is no spread.
    stddev = torch::where(stddev.le(1e-12 * guess.abs()), torch::zeros_like(stddev), stddev);
  }
};

std::string constant_columns(const torch::Tensor& constant) {
  const torch::Tensor columns = constant.nonzero().squeeze(1);
  std::vector<int64_t> shown;
  for (int64_t i = 0; i < columns.size(0) && shown.size() < most_columns_named; ++i)
    shown.push_back(columns[i].item<int64_t>());
  const int64_t more = columns.size(0) - static_cast<int64_t>(shown.size());
  return fmt::format("column{} {}{} ha{} one value in all vectors, which tells nothing apart",
                     columns.size(0) == 1 ? "" : "s", fmt::join(shown, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "",
                     columns.size(0) == 1 ? "s" : "ve");
}

}  // namespace

void check_fit_data(const FitConfig& config, const FitData& data) {
  const Attempt fitting{"fitting a mixture to", data.object};
  const int64_t count = data.vectors.size(0);
  int64_t dimensions = 0;
  for (const FactorOptions& factor : config.factors) {
    dimensions += factor.dimensions;
    if (count < factor.components)
      fitting.fail(fmt::format("{} vectors", count),
                   fmt::format("at least {}, one for each component of factor '{}'",
                               factor.components, factor.name),
                   "--components sets another number");
  }
  if (dimensions != data.vectors.size(1))
    fitting.fail(fmt::format("{} columns", data.vectors.size(1)),
                 fmt::format("{}, the sum of the factors' dimensions", dimensions));
  const auto check_components = [&](const torch::Tensor& given, const char* what) {
    if (!given.defined()) return;
    if (given.size(0) != count)
      fitting.fail(fmt::format("{} {}", given.size(0), what),
                   fmt::format("{}, one for each vector", count));
    for (size_t i = 0; i < config.factors.size(); ++i) {
      const auto most = given.select(1, static_cast<int64_t>(i)).max().item<int64_t>();
      if (most >= config.factors[i].components)
        fitting.fail(fmt::format("component {} among the {}", most, what),
                     fmt::format("at most {} for factor '{}'", config.factors[i].components - 1,
                                 config.factors[i].name));
    }
  };
  check_components(data.labels, "labels");
  check_components(data.start, "starting components");
  if (data.start.defined() && data.start.lt(0).any().item<bool>())
    fitting.fail("a negative component among the starting components", "0 or more");
  require_finite_vectors(data.vectors, data.object);
}

namespace {

/// Rows drawn at random; all of them where they are few.
torch::Tensor random_rows(const Key& key, int64_t vectors, int64_t wanted) {
  if (vectors <= 4 * wanted) return permutation(key, vectors);
  const torch::Tensor level = uniform(key, {wanted}, kFloat64);
  return (level * static_cast<double>(vectors)).to(kInt64).clamp_max(vectors - 1);
}

class MixtureFit {
 public:
  MixtureFit(const FitConfig& config, const FitData& data, const FitCallbacks& callbacks)
      : config_(config),
        callbacks_(callbacks),
        count_(static_cast<double>(data.vectors.size(0))),
        mixture_{FactorialMixture(config.factors, config.hyperprior, torch::kCPU,
                                  config.stick_breaking())} {
    scale(data.vectors);
    mixture_.vectors = data.vectors.size(0);
    const Key key = Key(static_cast<uint64_t>(config.seed)).fold("fit");
    for (size_t i = 0; i < mixture_.mixture.size(); ++i) {
      const FactorOptions& factor = mixture_.mixture.factors[i];
      torch::Tensor labels = factor.named() ? labels_of_factor(data.labels, i) : torch::Tensor();
      FactorData own = factor_data(mixture_, i, data.vectors, labels);
      own.random_rows = random_rows(
          key.fold(i).fold("rows"), mixture_.vectors,
          std::max(config.fit.kmeans_vectors, random_rows_per_component * factor.components));
      factors_.push_back(std::make_unique<FactorFit>(key.fold(i), config_.fit, factor, own,
                                                     mixture_.mixture.posteriors[i],
                                                     mixture_.mixture.hyperpriors[i]));
      factors_.back()->place(labels_of_factor(data.start, i));
    }
    settled_.assign(factors_.size(), false);
    bounds_.assign(factors_.size(), 0.0);
  }

  FitResult run() {
    Moves moves;
    for (int64_t iteration = 0;; ++iteration) {
      const bool out_of_iterations = iteration == config_.fit.iterations;
      FitIteration report{iteration, 0, 0, moves.merged, moves.split};
      measure(iteration);
      require_finite_bounds();
      moves = {};
      const bool interrupted = callbacks_.stop && callbacks_.stop();
      if (!out_of_iterations && !interrupted) advance(iteration, moves);
      report.bound = bound();
      for (const auto& factor : factors_) report.living += factor->living();
      const bool converged =
          std::all_of(settled_.begin(), settled_.end(), [](bool own) { return own; });
      report.last = converged || out_of_iterations || interrupted;
      if (callbacks_.report) callbacks_.report(report);
      if (!report.last) continue;
      return {mixture_, report.bound, iteration, converged};
    }
  }

 private:
  void scale(const torch::Tensor& vectors) {
    const ColumnSummary columns(vectors);
    const torch::Tensor constant = columns.stddev.le(0);
    if (constant.any().item<bool>() && callbacks_.notice)
      callbacks_.notice(constant_columns(constant));
    const bool standardise = config_.fit.standardise;
    mixture_.shift = standardise ? columns.mean : torch::zeros_like(columns.mean);
    mixture_.scale = standardise
                         ? torch::where(constant, torch::ones_like(columns.mean), columns.stddev)
                         : torch::ones_like(columns.mean);
  }

  void require_finite_bounds() const {
    for (size_t i = 0; i < bounds_.size(); ++i)
      if (!std::isfinite(bounds_[i]))
        throw NotFinite({.doing = "fitting factor",
                         .object = mixture_.mixture.factors[i].name,
                         .found = fmt::format("a bound of {}", bounds_[i]),
                         .expected = "a finite one",
                         .cause = "are numbers far from 0, or one far from all others? "
                                  "fit.standardise=true helps with the former"});
  }

  /// The bounds of all factors that still change, and which of them are within the tolerance.
  void measure(int64_t iteration) {
    close_.assign(factors_.size(), false);
    for (size_t i = 0; i < factors_.size(); ++i) {
      if (settled_[i]) continue;
      const double before = bounds_[i];
      bounds_[i] = factors_[i]->measure();
      close_[i] = iteration > 0 && std::abs(bounds_[i] - before) < config_.fit.tolerance * count_;
    }
  }

  /// The next posteriors. A factor that is within the tolerance is done, unless a move finds more.
  void advance(int64_t iteration, Moves& moves) {
    for (size_t i = 0; i < factors_.size(); ++i) {
      if (settled_[i]) continue;
      const bool time = iteration > 0 && iteration % config_.fit.moves_every == 0;
      if (close_[i] || time) {
        const Moves own = factors_[i]->move(iteration);
        moves.merged += own.merged;
        moves.split += own.split;
        if (own.merged + own.split > 0) continue;  // the moves end with an update of their own
      }
      // Half of the iterations at most go by with the given hyperprior.
      const bool learns =
          (close_[i] || 2 * iteration >= config_.fit.iterations) && factors_[i]->begin_learning();
      if (close_[i] && !learns)
        settled_[i] = true;
      else
        factors_[i]->update(iteration);
    }
  }

  double bound() const {
    double sum = 0;
    for (const double own : bounds_) sum += own;
    return sum / count_ - mixture_.log_volume();
  }

  const FitConfig& config_;
  const FitCallbacks& callbacks_;
  double count_;
  VectorMixture mixture_;
  std::vector<std::unique_ptr<FactorFit>> factors_;
  std::vector<bool> settled_, close_;
  std::vector<double> bounds_;
};

}  // namespace

FitResult fit_mixture(const FitConfig& config, const FitData& data, const FitCallbacks& callbacks) {
  torch::NoGradGuard no_gradient;
  check_fit_data(config, data);
  return MixtureFit(config, data, callbacks).run();
}

void partial_fit(VectorMixture& mixture, const torch::Tensor& batch, const torch::Tensor& labels,
                 int64_t vectors, double rho) {
  torch::NoGradGuard no_gradient;
  require_vectors(mixture, batch, "a batch");
  const double scale = static_cast<double>(vectors) / static_cast<double>(batch.size(0));
  for (size_t i = 0; i < mixture.mixture.size(); ++i) {
    FactorPosterior& posterior = mixture.mixture.posteriors[i];
    const DataPass pass =
        pass_over(posterior, factor_data(mixture, i, batch, labels_of_factor(labels, i)));
    natural_step(posterior,
                 conjugate_posterior(pass.statistics, scale, mixture.mixture.hyperpriors[i]),
                 torch::full({}, rho, kFloat64));
  }
}

}  // namespace facet
