// Mixtures fitted to vectors: against plain formulas, on planted clusters, with labels, and on data
// that is scaled badly.
#include "facet/fit/fit_mixture.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "facet/core/tensor.h"
#include "facet/core/torch.h"
#include "facet/eval/clusters.h"
#include "facet/fit/fit_evaluation.h"
#include "facet/fit/vector_labels.h"
#include "tests/close.h"
#include "tests/contains.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

/// Vectors around `clusters` centres; vector n belongs to cluster n modulo `clusters`.
torch::Tensor planted(const Key& key, int64_t clusters, int64_t count, int64_t dimensions) {
  const torch::Tensor centres = 5.0 * normal64(key.fold("centres"), {clusters, dimensions});
  return centres.index_select(0, torch::arange(count).remainder(clusters)) +
         0.5 * normal64(key.fold("noise"), {count, dimensions});
}

FitConfig config_of(std::vector<FactorOptions> factors) {
  FitConfig config;
  config.factors = std::move(factors);
  return config;
}

FactorOptions factor(const std::string& name, int64_t components, int64_t dimensions) {
  FactorOptions options;
  options.name = name;
  options.components = components;
  options.dimensions = dimensions;
  return options;
}

/// The bounds of all iterations of a fit.
struct Recorded {
  std::vector<double> bounds;
  FitCallbacks callbacks() {
    FitCallbacks result;
    result.report = [this](const FitIteration& iteration) { bounds.push_back(iteration.bound); };
    return result;
  }
};

/// NMI of a factor's components with the planted clusters.
double agreement(const torch::Tensor& components, int64_t clusters, int64_t offset = 0) {
  std::vector<int64_t> codes, classes;
  for (int64_t n = 0; n < components.size(0); ++n) {
    codes.push_back(components[n].item<int64_t>());
    classes.push_back((n / (offset == 0 ? 1 : offset)) % clusters);
  }
  return normalised_mutual_information(contingency(codes, classes, 64, clusters));
}

/// Coordinate ascent by plain loops over vectors, components and dimensions.
class SlowFit {
 public:
  SlowFit(torch::Tensor vectors, torch::Tensor start, int64_t components, Hyperprior prior)
      : x_(std::move(vectors)), K(components), D(x_.size(1)), N(x_.size(0)), p(prior) {
    gamma_ = torch::zeros({N, K}, kFloat64);
    for (int64_t n = 0; n < N; ++n) gamma_[n][start[n].item<int64_t>()] = 1.0;
    update();
  }
  void iterate() {
    respond();
    update();
  }
  double bound() {
    double sum = respond();
    const double C = c.sum().item<double>();
    sum -= std::lgamma(C) - std::lgamma(static_cast<double>(K) * p.c0);
    for (int64_t k = 0; k < K; ++k) {
      sum -= -std::lgamma(at(c, k)) + std::lgamma(p.c0) + (at(c, k) - p.c0) * log_weight(k);
      for (int64_t d = 0; d < D; ++d) {
        const double s = at(S, k, d), a = at(A, k, d), b = at(B, k, d), m = at(M, k, d);
        sum -= 0.5 * (p.s0 * a / b * (m - p.m0) * (m - p.m0) + p.s0 / s - std::log(p.s0 / s) - 1);
        sum -= p.a0 * std::log(b / p.b0) - std::lgamma(a) + std::lgamma(p.a0) +
               (a - p.a0) * psi(a) - (b - p.b0) * a / b;
      }
    }
    return sum;
  }

  torch::Tensor M, S, A, B, c;

 private:
  static double at(const torch::Tensor& t, int64_t i) { return t[i].item<double>(); }
  static double at(const torch::Tensor& t, int64_t i, int64_t j) { return t[i][j].item<double>(); }
  static double psi(double x) { return torch::digamma(number(x)).item<double>(); }
  double log_weight(int64_t k) { return psi(at(c, k)) - psi(c.sum().item<double>()); }

  void update() {
    M = torch::zeros({K, D}, kFloat64);
    S = M.clone(), A = M.clone(), B = M.clone(), c = torch::zeros({K}, kFloat64);
    for (int64_t k = 0; k < K; ++k) {
      double count = 0;
      for (int64_t n = 0; n < N; ++n) count += at(gamma_, n, k);
      c[k] = p.c0 + count;
      for (int64_t d = 0; d < D; ++d) {
        double mean = 0, scatter = 0;
        for (int64_t n = 0; n < N; ++n) mean += at(gamma_, n, k) * at(x_, n, d);
        mean /= std::max(count, 1e-300);
        for (int64_t n = 0; n < N; ++n)
          scatter += at(gamma_, n, k) * std::pow(at(x_, n, d) - mean, 2);
        S[k][d] = p.s0 + count;
        M[k][d] = (p.s0 * p.m0 + count * mean) / (p.s0 + count);
        A[k][d] = p.a0 + 0.5 * count;
        B[k][d] =
            p.b0 + 0.5 * scatter + 0.5 * p.s0 * count / (p.s0 + count) * std::pow(mean - p.m0, 2);
      }
    }
  }

  /// The responsibilities; the sum of their log normalisers.
  double respond() {
    double total = 0;
    for (int64_t n = 0; n < N; ++n) {
      std::vector<double> score(static_cast<size_t>(K));
      double most = -1e300, sum = 0;
      for (int64_t k = 0; k < K; ++k) {
        double& own = score[static_cast<size_t>(k)];
        own = log_weight(k);
        for (int64_t d = 0; d < D; ++d)
          own += 0.5 *
                 (psi(at(A, k, d)) - std::log(at(B, k, d)) - std::log(2 * M_PI) - 1 / at(S, k, d) -
                  at(A, k, d) / at(B, k, d) * std::pow(at(x_, n, d) - at(M, k, d), 2));
        most = std::max(most, own);
      }
      for (const double own : score) sum += std::exp(own - most);
      for (int64_t k = 0; k < K; ++k)
        gamma_[n][k] = std::exp(score[static_cast<size_t>(k)] - most) / sum;
      total += most + std::log(sum);
    }
    return total;
  }

  torch::Tensor x_, gamma_;
  int64_t K, D, N;
  Hyperprior p;
};

TEST(FitMixture, EqualsCoordinateAscentByPlainLoops) {
  const torch::Tensor vectors = planted(Key(1), 3, 40, 2);
  const torch::Tensor start = torch::arange(40).remainder(4);
  FitConfig config = config_of({factor("all", 4, 2)});
  config.hyperprior = {0.3, 0.7, 1.5, 2.0, 0.4};
  config.fit.standardise = config.fit.learn_hyperprior = config.fit.merge_and_split = false;
  config.fit.iterations = 3;
  config.fit.tolerance = 0;
  Recorded record;
  const FitResult result =
      fit_mixture(config, {vectors, {}, start.unsqueeze(1)}, record.callbacks());
  SlowFit slow(vectors, start, 4, config.hyperprior);
  ASSERT_EQ(record.bounds.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(40 * record.bounds[i], slow.bound(), 1e-8) << "after " << i << " updates";
    if (i < 3) slow.iterate();
  }
  const NormalGamma fitted = components_of(result.mixture, 0);
  EXPECT_TRUE(close(fitted.m, slow.M, 1e-9));
  EXPECT_TRUE(close(fitted.s, slow.S, 1e-9));
  EXPECT_TRUE(close(fitted.a, slow.A, 1e-9));
  EXPECT_TRUE(close(fitted.b, slow.B, 1e-9));
  EXPECT_NEAR(40 * result.bound, vector_bound(result.mixture, vectors), 1e-9);
}

TEST(FitMixture, BoundNeverFallsWithAnyWeights) {
  const torch::Tensor vectors = planted(Key(2), 6, 3000, 4);
  for (const char* weights : {"dirichlet", "stick_breaking"}) {
    FitConfig config = config_of({factor("all", 12, 4)});
    config.weights = weights;
    config.fit.moves_every = 3;
    Recorded record;
    const FitResult result = fit_mixture(config, {vectors}, record.callbacks());
    EXPECT_TRUE(result.converged) << weights;
    for (size_t i = 1; i < record.bounds.size(); ++i)
      EXPECT_GE(record.bounds[i], record.bounds[i - 1] - 1e-9) << weights << ", iteration " << i;
  }
}

TEST(FitMixture, RecoversPlantedClustersWithKAsAnUpperLimit) {
  const torch::Tensor vectors = planted(Key(3), 7, 3500, 5);
  // Sorted by cluster, as users' files often are.
  const torch::Tensor sorted = vectors.view({500, 7, 5}).transpose(0, 1).reshape({3500, 5});
  for (const auto& [data, offset] :
       {std::pair{vectors, int64_t{0}}, std::pair{sorted, int64_t{500}}}) {
    FitConfig config = config_of({factor("all", 24, 5)});
    const FitResult result = fit_mixture(config, {data});
    EXPECT_EQ(result.mixture.mixture.held_images(0).gt(1).sum().item<int64_t>(), 7);
    const Prediction prediction = predict(result.mixture, data);
    EXPECT_GT(agreement(prediction.components.select(1, 0), 7, offset), 0.999);
  }
}

TEST(FitMixture, FactorsAreIndependentOfEachOther) {
  const torch::Tensor one = planted(Key(4), 3, 1200, 2);
  const torch::Tensor other = planted(Key(5), 4, 1200, 3);
  const FitConfig config = config_of({factor("one", 8, 2), factor("other", 8, 3)});
  const FitResult both = fit_mixture(config, {torch::cat({one, other}, 1)});
  const Prediction prediction = predict(both.mixture, torch::cat({one, other}, 1));
  EXPECT_GT(agreement(prediction.components.select(1, 0), 3), 0.999);
  EXPECT_GT(agreement(prediction.components.select(1, 1), 4), 0.999);
  const FitResult alone = fit_mixture(config_of({factor("one", 8, 2)}), {one});
  EXPECT_TRUE(close(components_of(both.mixture, 0).m, components_of(alone.mixture, 0).m, 1e-12));
}

TEST(FitMixture, LabelsDecideTheComponentsOfANamedFactor) {
  const torch::Tensor vectors = planted(Key(6), 3, 900, 3);
  // Each thirtieth vector has a label, and the values are in another order than the clusters.
  const torch::Tensor kind = (torch::arange(900) + 1).remainder(3);
  torch::Tensor labels = torch::full({900, 1}, -1, kInt64);
  for (int64_t n = 0; n < 900; n += 31) labels[n][0] = kind[n];
  FactorOptions named = factor("kind", 3, 3);
  named.property = "kind";
  named.values = {"low", "mid", "high"};
  const FitResult result = fit_mixture(config_of({named}), {vectors, labels});
  EXPECT_TRUE(predict(result.mixture, vectors).components.select(1, 0).equal(kind));
  // Labels against the data are kept all the same: their vectors count for their component.
  labels.fill_(-1);
  for (int64_t n = 0; n < 60; ++n) labels[n][0] = n / 20;
  const FitResult odd = fit_mixture(config_of({named}), {vectors, labels});
  EXPECT_GE(odd.mixture.mixture.held_images(0).min().item<double>(), 20.0);
}

TEST(FitMixture, UnitsAndOffsetsDoNotMatter) {
  const torch::Tensor vectors = planted(Key(7), 4, 1000, 3);
  const torch::Tensor scale = torch::tensor(std::vector<double>{1e-6, 1.0, 1e5}, kFloat64),
                      shift = torch::tensor(std::vector<double>{0.0, 1e7, -3e8}, kFloat64);
  const torch::Tensor scaled = vectors * scale + shift;
  const FitConfig config = config_of({factor("all", 8, 3)});
  const FitResult plain = fit_mixture(config, {vectors}), far = fit_mixture(config, {scaled});
  // The offsets leave nine digits of the vectors.
  EXPECT_NEAR(far.bound, plain.bound - std::log(1e-1), 1e-5);
  // The same groups; which of two equally large ones comes first is decided by rounding.
  const std::vector<int64_t> groups = to_integers(predict(plain.mixture, vectors).components),
                             far_groups = to_integers(predict(far.mixture, scaled).components);
  std::map<int64_t, int64_t> partner, back;
  for (size_t n = 0; n < groups.size(); ++n) {
    EXPECT_EQ(partner.emplace(groups[n], far_groups[n]).first->second, far_groups[n]);
    EXPECT_EQ(back.emplace(far_groups[n], groups[n]).first->second, groups[n]);
  }
  EXPECT_TRUE(close(log_density(far.mixture, scaled),
                    log_density(plain.mixture, vectors) - std::log(1e-1), 1e-5, 1e-5));
}

TEST(FitMixture, ConstantColumnsAreSaidAndHarmless) {
  torch::Tensor vectors = planted(Key(8), 3, 600, 3);
  vectors = torch::cat({vectors, torch::full({600, 1}, 0.1, kFloat64)}, 1);
  std::vector<std::string> said;
  FitCallbacks callbacks;
  callbacks.notice = [&](const std::string& sentence) { said.push_back(sentence); };
  const FitResult result = fit_mixture(config_of({factor("all", 6, 4)}), {vectors}, callbacks);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(contains(said[0], "column 3 has one value")) << said[0];
  EXPECT_TRUE(std::isfinite(result.bound));
  EXPECT_GT(agreement(predict(result.mixture, vectors).components.select(1, 0), 3), 0.999);
  const FitResult nothing =
      fit_mixture(config_of({factor("all", 3, 2)}), {torch::full({50, 2}, 7.0, kFloat64)});
  EXPECT_TRUE(std::isfinite(nothing.bound)) << "also if all columns are constant";
}

TEST(FitMixture, ColumnsOfZerosAndOnesDoNotDivergeOrFall) {
  // Two patterns of bits: within a cluster every column is constant.
  const torch::Tensor pattern =
      torch::tensor(std::vector<double>{0, 1, 0, 1, 1, 0, 1, 1}, kFloat64).view({2, 4});
  const torch::Tensor vectors = pattern.index_select(0, torch::arange(400).remainder(2));
  Recorded record;
  const FitResult result =
      fit_mixture(config_of({factor("all", 6, 4)}), {vectors}, record.callbacks());
  EXPECT_TRUE(result.converged);
  for (size_t i = 1; i < record.bounds.size(); ++i)
    EXPECT_GE(record.bounds[i], record.bounds[i - 1] - 1e-9);
  EXPECT_GT(agreement(predict(result.mixture, vectors).components.select(1, 0), 2), 0.999);
}

TEST(FitMixture, StochasticStepsComeCloseToTheExactFit) {
  const torch::Tensor vectors = planted(Key(9), 5, 4000, 3);
  FitConfig config = config_of({factor("all", 5, 3)});
  config.fit.learn_hyperprior = false;
  const double exact = fit_mixture(config, {vectors}).bound;
  config.fit.method = "stochastic";
  config.fit.batch_size = 200;
  config.fit.iterations = 30;
  const FitResult stochastic = fit_mixture(config, {vectors});
  EXPECT_LE(stochastic.bound, exact + 1e-6);
  EXPECT_GT(stochastic.bound, exact - 0.02) << "nats per vector";
}

TEST(FitMixture, SeedsAndFileTypesGiveTheSameNumbers) {
  const torch::Tensor vectors = planted(Key(10), 4, 900, 3).to(kFloat32);
  const FitConfig config = config_of({factor("all", 8, 3)});
  const double first = fit_mixture(config, {vectors}).bound;
  EXPECT_EQ(fit_mixture(config, {vectors}).bound, first);
  EXPECT_NEAR(fit_mixture(config, {vectors.to(kFloat64)}).bound, first, 1e-10);
  EXPECT_NEAR(fit_mixture(config, {vectors.t().contiguous().t()}).bound, first, 1e-10);
}

TEST(FitMixture, PartialFitFollowsAStream) {
  const torch::Tensor vectors = planted(Key(11), 4, 4000, 3);
  FitConfig config = config_of({factor("all", 4, 3)});
  config.fit.learn_hyperprior = config.fit.merge_and_split = false;
  const double whole = fit_mixture(config, {vectors}).bound;
  FitResult first = fit_mixture(config, {vectors.narrow(0, 0, 200)});
  for (int64_t begin = 200; begin < 4000; begin += 200)
    partial_fit(first.mixture, vectors.narrow(0, begin, 200), {}, 4000,
                std::pow(1.0 + static_cast<double>(begin) / 200.0, -0.6));
  EXPECT_GT(vector_bound(first.mixture, vectors) / 4000, whole - 0.1);
}

TEST(FitMixture, StopsWhenAskedTo) {
  FitConfig config = config_of({factor("all", 8, 3)});
  config.fit.tolerance = 0;
  FitCallbacks callbacks;
  int64_t asked = 0;
  callbacks.stop = [&] { return ++asked == 3; };
  const FitResult result = fit_mixture(config, {planted(Key(12), 4, 300, 3)}, callbacks);
  EXPECT_EQ(result.iterations, 2);
  EXPECT_FALSE(result.converged);
}

TEST(FitMixture, RefusesWhatDoesNotFit) {
  const torch::Tensor vectors = planted(Key(13), 2, 10, 3);
  const auto refusal = [](const FitConfig& config, const FitData& data) {
    return message_of([&] { fit_mixture(config, data); });
  };
  const FitConfig config = config_of({factor("all", 4, 3)});
  EXPECT_TRUE(contains(refusal(config_of({factor("all", 11, 3)}), {vectors}), "10 vectors"));
  EXPECT_TRUE(contains(refusal(config_of({factor("all", 4, 2)}), {vectors}), "3 columns"));
  torch::Tensor bad = vectors.clone();
  bad[6][1] = NAN;
  EXPECT_TRUE(contains(refusal(config, {bad}), "nan in row 6, column 1"));
  EXPECT_TRUE(contains(refusal(config, {vectors, torch::zeros({9, 1}, kInt64)}), "9 labels"));
  EXPECT_TRUE(contains(refusal(config, {vectors, torch::full({10, 1}, 4, kInt64)}), "component 4"));
}

TEST(FitMixture, NumbersTooLargeToSquareAreRefusedAndABoundThatIsNoneEndsIt) {
  FitConfig config = config_of({factor("all", 2, 3)});
  torch::Tensor vectors = planted(Key(13), 2, 10, 3).to(kFloat64);
  vectors[6][1] = 1e200;
  EXPECT_TRUE(contains(message_of([&] { fit_mixture(config, {vectors}); }), "1e+200"));
  config.fit.standardise = false;
  const torch::Tensor far = 1e15 + planted(Key(13), 2, 50, 3).to(kFloat64);
  EXPECT_THROW(fit_mixture(config, {far}), NotFinite) << "squares of 1e15 leave no digit";
}

TEST(VectorMixture, FileKeepsEverything) {
  const TemporaryFolder folder;
  const torch::Tensor vectors = 1e4 + 3.0 * planted(Key(14), 4, 700, 5);
  for (const char* weights : {"dirichlet", "stick_breaking"}) {
    FitConfig config = config_of({factor("one", 6, 2), factor("other", 4, 3)});
    config.weights = weights;
    const FitResult result = fit_mixture(config, {vectors});
    write_mixture(folder / "m.safetensors", result.mixture);
    const VectorMixture read = read_mixture(folder / "m.safetensors");
    EXPECT_EQ(read.vectors, 700);
    EXPECT_NEAR(vector_bound(read, vectors), vector_bound(result.mixture, vectors), 1e-5);
    EXPECT_TRUE(
        close(log_density(read, vectors), log_density(result.mixture, vectors), 1e-9, 1e-9));
  }
}

TEST(VectorMixture, DensityIntegratesToOneAndSamplesFollowIt) {
  const torch::Tensor vectors = 2.0 + 0.3 * planted(Key(15), 3, 500, 1);
  const FitResult result = fit_mixture(config_of({factor("all", 5, 1)}), {vectors});
  const torch::Tensor grid = torch::linspace(-60, 60, 200001, kFloat64).unsqueeze(1);
  const torch::Tensor density = torch::exp(log_density(result.mixture, grid));
  EXPECT_NEAR((density.sum() * (120.0 / 200000)).item<double>(), 1.0, 1e-3);
  const torch::Tensor draws = sample_vectors(Key(16), result.mixture, 20000);
  EXPECT_NEAR(draws.median().item<double>(), vectors.median().item<double>(), 0.3);
}

TEST(VectorMixture, ProbabilitiesSumToOneAndNameThePrediction) {
  const torch::Tensor vectors = planted(Key(17), 3, 300, 2);
  const FitResult result = fit_mixture(config_of({factor("all", 6, 2)}), {vectors});
  const torch::Tensor probabilities = predict_probabilities(result.mixture, 0, vectors);
  EXPECT_TRUE(close(probabilities.sum(1), torch::ones({300}, kFloat64), 1e-12));
  const Prediction prediction = predict(result.mixture, vectors);
  EXPECT_TRUE(prediction.components.select(1, 0).equal(probabilities.argmax(1)));
  EXPECT_TRUE(close(prediction.usage[0], probabilities.sum(0), 1e-12, 1e-12));
}

TEST(FitEvaluation, MeasuresBoundsAndAgreement) {
  const torch::Tensor vectors = planted(Key(18), 4, 1000, 3);
  const FitResult result = fit_mixture(config_of({factor("all", 10, 3)}), {vectors});
  VectorLabels labels;
  labels.properties = {{"cluster", {"a", "b", "c", "d"}}};
  labels.labels = torch::arange(1000).remainder(4).unsqueeze(1);
  const Evaluation evaluation = evaluate_mixture(result.mixture, vectors, labels, "vectors");
  EXPECT_EQ(evaluation.count, 1000);
  EXPECT_EQ(evaluation.factors[0].used, 4);
  EXPECT_GT(evaluation.factors[0].best()->nmi, 0.999);
  EXPECT_NEAR(evaluation.elbo, -evaluation.kl_z - evaluation.kl_r, 1e-9);
  EXPECT_NEAR(evaluation.predictive_bound,
              log_density(result.mixture, vectors).mean().item<double>(), 1e-9);
  EXPECT_GT(evaluation.elbo, result.bound) << "without the KL of the hyperprior";
}

}  // namespace
}  // namespace facet
