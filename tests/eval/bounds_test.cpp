// The evaluation of a model: its terms add up, agree with the objective's and do not depend on the
// batch size, and the importance-weighted bound has the value that theory predicts.
#include "facet/eval/bounds.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/eval/clusters.h"
#include "facet/model/objective.h"
#include "tests/close.h"
#include "tests/parameters.h"

namespace facet {
namespace {

constexpr int64_t kImages = 240;

/// A model whose encoder's means are spread widely enough that images get different components.
Vae tiny_model(const std::vector<FactorOptions>& factors = {{"hair", 6, 3}, {"smile", 3, 2}}) {
  ModelOptions options;
  options.network = {.preset = "custom", .channels = {4, 6}, .strides = {1, 2}, .kernel = 3};
  options.factors = factors;
  Vae model(options, {1, 8, 8}, Key(1));
  {
    torch::NoGradGuard no_gradient;
    parameter_of(model, "encoder.head.weight").narrow(0, 0, 5).mul_(6);
  }
  for (size_t i = 0; i < 2; ++i)
    model.prior.posteriors[i] = random_posterior(Key(2).fold(i), options.factors[i].components,
                                                 options.factors[i].dimensions);
  return model;
}

/// Random images with two properties: the first unknown, the second known for half of the images.
ImageSet image_set() {
  ImageSet set;
  set.pixels = uniform(Key(3), {kImages, 1, 8, 8}, kFloat32).mul(255).to(kUInt8);
  torch::Tensor style = torch::arange(kImages).remainder(3);
  style.narrow(0, 0, kImages / 2).fill_(-1);
  set.labels = torch::stack({torch::full({kImages}, -1, kInt64), style}, 1);
  return set;
}

const std::vector<Property> kAgeAndStyle = {{"age", {"young", "old"}},
                                            {"style", {"long", "short", "bald"}}};

EvaluationOptions with_batch(int64_t batch_size) {
  EvaluationOptions options;
  options.batch_size = batch_size;
  return options;
}

TEST(Evaluate, TermsAddUpToTheBound) {
  Vae model = tiny_model();
  EvaluationOptions options = with_batch(100);
  options.samples = 3;
  const Evaluation result = evaluate(model, image_set(), kAgeAndStyle, "test", options);
  EXPECT_EQ(result.count, kImages);
  EXPECT_EQ(result.samples, 3);
  EXPECT_EQ(result.split, "test");
  // Only the order of float64 sums differs.
  EXPECT_NEAR(result.elbo, result.reconstruction - result.kl_z - result.kl_r, 1e-9);
  EXPECT_NEAR(result.kl_z, result.factors[0].kl_z + result.factors[1].kl_z, 1e-12);
  EXPECT_NEAR(result.kl_r, result.factors[0].kl_r + result.factors[1].kl_r, 1e-12);
  EXPECT_FALSE(result.importance_bound.has_value());
}

TEST(Evaluate, IsTheMeanOfTheObjectiveOverTheImages) {
  Vae model = tiny_model();
  const ImageSet set = image_set();
  torch::NoGradGuard no_gradient;
  const torch::Tensor x = model.likelihood().from_pixels(set.pixels.all());
  EvaluationOptions options = with_batch(64);
  options.samples = 100;
  const Evaluation result = evaluate(model, set, kAgeAndStyle, "test", options);
  double bound = 0;
  for (uint64_t draw = 0; draw < 100; ++draw)
    bound += bound_terms(model, x, {}, Key(4).fold(draw)).bound().mean().item<double>() / 100;
  const BoundTerms terms = bound_terms(model, x, {}, Key(5));
  const double error = terms.bound().std().item<double>() / std::sqrt(kImages);
  // Each is a mean over a hundred draws, and one draw has at most this standard error.
  EXPECT_NEAR(result.elbo, bound, 5 * std::sqrt(2.0 / 100) * error);
  // The KL terms need no draws: they differ only by float32 convolutions at other batch sizes.
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(result.factors[i].kl_z, terms.factors[i].kl_z.mean().item<double>(), 1e-4);
    EXPECT_NEAR(result.factors[i].kl_r, terms.factors[i].kl_r.mean().item<double>(), 1e-4);
  }
  // With one draw the standard error is the spread over images; another draw changes it by the
  // relative sampling error of a standard deviation, 1 / sqrt(2 n) = 0.05.
  options.samples = 1;
  EXPECT_NEAR(evaluate(model, set, kAgeAndStyle, "test", options).standard_error, error,
              0.25 * error);
}

TEST(Evaluate, DivergencesDoNotDependOnTheBatchSize) {
  Vae model = tiny_model();
  const ImageSet set = image_set();
  const Evaluation whole = evaluate(model, set, kAgeAndStyle, "test", with_batch(kImages));
  for (const int64_t size : {1, 7, 100, 10'000}) {
    const Evaluation parts = evaluate(model, set, kAgeAndStyle, "test", with_batch(size));
    for (size_t i = 0; i < 2; ++i) {
      // float32 convolutions may sum in another order for another batch.
      EXPECT_NEAR(parts.factors[i].kl_z, whole.factors[i].kl_z, 1e-4);
      EXPECT_NEAR(parts.factors[i].kl_r, whole.factors[i].kl_r, 1e-4);
      EXPECT_NEAR(parts.factors[i].perplexity, whole.factors[i].perplexity, 1e-4);
      EXPECT_EQ(parts.factors[i].used, whole.factors[i].used);
    }
  }
}

TEST(Evaluate, IsAFunctionOfItsSeed) {
  Vae model = tiny_model();
  const ImageSet set = image_set();
  EvaluationOptions options = with_batch(100);
  const double once = evaluate(model, set, kAgeAndStyle, "test", options).elbo;
  EXPECT_EQ(once, evaluate(model, set, kAgeAndStyle, "test", options).elbo);
  options.seed = 2;
  EXPECT_NE(once, evaluate(model, set, kAgeAndStyle, "test", options).elbo);
}

TEST(Evaluate, ImportanceBoundLiesAboveTheElboAndGrowsWithSamples) {
  Vae model = tiny_model();
  const ImageSet set = image_set();
  EvaluationOptions options = with_batch(kImages);
  options.samples = 30;
  const double elbo = evaluate(model, set, kAgeAndStyle, "test", options).elbo;
  double previous = elbo;
  for (const int64_t samples : {1, 4, 16, 64}) {
    options.samples = 1;
    options.importance = samples;
    const Evaluation result = evaluate(model, set, kAgeAndStyle, "test", options);
    ASSERT_TRUE(result.importance_bound.has_value());
    EXPECT_EQ(result.importance_samples, samples);
    // One draw is as noisy as the ELBO; more draws reduce the noise and raise the bound.
    const double noise = samples == 1 ? 3 * *result.importance_standard_error : 0;
    EXPECT_GT(*result.importance_bound, previous - noise) << samples;
    previous = *result.importance_bound;
  }
  EXPECT_GT(previous, elbo);
}

TEST(Evaluate, ImportanceBoundOfAnExactPosteriorIsTheEvidence) {
  // The decoder ignores z and the encoder gives the Normal of the components: the log weight is
  // log p(x) + log (predictive / q) for every z, and the predictive is nearly q itself.
  Vae model = tiny_model();
  torch::NoGradGuard no_gradient;
  for (const auto& [name, parameter] : model.parameters()) parameter.zero_();
  for (FactorPosterior& posterior : model.prior.posteriors) {
    const torch::Tensor one = torch::ones_like(posterior.mean().m);
    posterior = FactorPosterior::from_mean({0 * one, 1e8 * one, 1e8 * one, 1e8 * one},
                                           torch::ones_like(posterior.counts));
  }
  EvaluationOptions options = with_batch(100);
  options.importance = 2;
  const Evaluation result = evaluate(model, image_set(), kAgeAndStyle, "test", options);
  // Bernoulli with p = 1/2 for every pixel: -64 log 2. The tolerance is for float32 sums of 64.
  EXPECT_NEAR(*result.importance_bound, -64 * std::log(2.0), 1e-4);
  EXPECT_NEAR(result.reconstruction, -64 * std::log(2.0), 1e-4);
  // All components are the same: KL[z] is 0, and KL[r] is log 1/K - E[log pi], that is
  // psi(K) - psi(1) - log K for every factor.
  EXPECT_NEAR(result.kl_z, 0, 1e-5);
  const double six = 1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0 + 1 / 5.0 - std::log(6.0);
  const double three = 1 + 1 / 2.0 - std::log(3.0);
  EXPECT_NEAR(result.factors[0].kl_r, six, 1e-9);
  EXPECT_NEAR(result.factors[1].kl_r, three, 1e-9);
  EXPECT_NEAR(result.factors[0].perplexity, 6, 1e-9);
}

TEST(Evaluate, UsedComponentsHaveMoreThanOneImageInExpectation) {
  Vae model = tiny_model();
  const ImageSet set = image_set();
  torch::NoGradGuard no_gradient;
  const BoundTerms terms =
      bound_terms(model, model.likelihood().from_pixels(set.pixels.all()), {}, Key(4));
  const Evaluation result = evaluate(model, set, kAgeAndStyle, "test", with_batch(50));
  for (size_t i = 0; i < 2; ++i) {
    const torch::Tensor usage = terms.factors[i].responsibilities.sum(0);
    EXPECT_EQ(result.factors[i].used, usage.gt(1).sum().item<int64_t>());
    const std::vector<double> weights(usage.data_ptr<double>(),
                                      usage.data_ptr<double>() + usage.numel());
    EXPECT_NEAR(result.factors[i].perplexity, perplexity(weights), 1e-3);
  }

  // One component at the encodings, the others a thousand away: one is used.
  FactorPosterior& posterior = model.prior.posteriors[0];
  const NormalGamma q = posterior.mean();
  torch::Tensor far = torch::full_like(q.m, 1000.0);
  far[4] = 0;
  posterior = FactorPosterior::from_mean({far, q.s, q.a, q.b}, posterior.counts);
  const Evaluation single = evaluate(model, set, kAgeAndStyle, "test", with_batch(50));
  EXPECT_EQ(single.factors[0].used, 1);
  EXPECT_NEAR(single.factors[0].perplexity, 1, 1e-6);
}

TEST(Evaluate, AgreementIsMeasuredOnKnownLabels) {
  Vae model = tiny_model();
  ImageSet set = image_set();
  torch::NoGradGuard no_gradient;
  const BoundTerms terms =
      bound_terms(model, model.likelihood().from_pixels(set.pixels.all()), {}, Key(4));
  // The known labels of the second property are the codes of the second factor.
  const torch::Tensor codes = terms.factors[1].responsibilities.argmax(1);
  ASSERT_GT(torch::bincount(codes.narrow(0, 100, 140), {}, 3).gt(5).sum().item<int64_t>(), 1);
  set.labels.select(1, 1).narrow(0, 100, 140).copy_(codes.narrow(0, 100, 140));
  set.labels.select(1, 1).narrow(0, 0, 100).fill_(-1);
  const Evaluation result = evaluate(model, set, kAgeAndStyle, "test", with_batch(kImages));
  ASSERT_EQ(result.factors[1].properties.size(), 1u);  // no age is known
  const PropertyAgreement* best = result.factors[1].best();
  ASSERT_NE(best, nullptr);
  EXPECT_EQ(best->property, "style");
  EXPECT_NEAR(best->accuracy, 1, 1e-12);
  EXPECT_NEAR(best->purity, 1, 1e-12);
  EXPECT_EQ(result.factors[1].most_explained(5).front(), best);
  EXPECT_DOUBLE_EQ(best->standout.share, 1) << "every component has one value";
  EXPECT_LT(result.factors[0].best()->accuracy, 1);

  set.labels.fill_(-1);
  EXPECT_EQ(evaluate(model, set, kAgeAndStyle, "test", with_batch(kImages)).factors[1].best(),
            nullptr);
}

TEST(Evaluate, GapAndDependenceAreThoseOfTheCodes) {
  Vae model = tiny_model();
  ImageSet set = image_set();
  torch::NoGradGuard no_gradient;
  const BoundTerms terms =
      bound_terms(model, model.likelihood().from_pixels(set.pixels.all()), {}, Key(4));
  const torch::Tensor hair = terms.factors[0].responsibilities.argmax(1);
  const torch::Tensor smile = terms.factors[1].responsibilities.argmax(1);
  // Style is the code of the factor 'smile'; everyone is young, a property without entropy.
  set.labels.select(1, 0).zero_();
  set.labels.select(1, 1).copy_(smile);
  const Evaluation result = evaluate(model, set, kAgeAndStyle, "test", with_batch(kImages));
  ASSERT_EQ(result.gaps.size(), 1u);
  const PropertyGap& gap = result.gaps[0];
  EXPECT_EQ(gap.property, "style");
  EXPECT_EQ(gap.factor, "smile");
  const auto as_vector = [](const torch::Tensor& column) {
    return std::vector<int64_t>(column.data_ptr<int64_t>(),
                                column.data_ptr<int64_t>() + column.numel());
  };
  const Contingency table = contingency(as_vector(hair), as_vector(smile), 6, 3);
  const torch::Tensor counts = torch::bincount(smile, {}, 3).to(kFloat64);
  const torch::Tensor shares = counts / counts.sum();
  const double entropy = -torch::xlogy(shares, shares).sum().item<double>();
  EXPECT_NEAR(gap.entropy, entropy, 1e-12);
  EXPECT_NEAR(gap.gap, 1 - mutual_information(table) / entropy, 1e-12);
  EXPECT_NEAR(*result.mean_gap, gap.gap, 1e-15);
  EXPECT_NEAR(result.factors[0].properties[1].mutual_information, mutual_information(table), 1e-12);
  EXPECT_NEAR(result.factors[1].properties[1].mutual_information, entropy, 1e-12);
  EXPECT_NEAR(result.factors[1].properties[1].adjusted_rand, 1, 1e-12);
  EXPECT_NEAR(result.dependence[0][1], normalised_mutual_information(table), 1e-12);
  EXPECT_NEAR(result.mean_dependence, result.dependence[0][1], 1e-15);
}

TEST(Evaluate, ActiveDimensionsAreThoseThatVaryOverImages) {
  Vae model = tiny_model();
  torch::NoGradGuard no_gradient;
  const torch::Tensor weight = parameter_of(model, "encoder.head.weight");
  const auto active = [&] {
    const Evaluation result = evaluate(model, image_set(), kAgeAndStyle, "test", with_batch(70));
    EXPECT_EQ(result.factors[0].dimensions, 3);
    EXPECT_EQ(result.factors[1].dimensions, 2);
    return std::pair(result.factors[0].active_dimensions, result.factors[1].active_dimensions);
  };
  EXPECT_EQ(active(), std::pair(int64_t{3}, int64_t{2}));
  weight[1].zero_();  // a dimension that is the same for every image
  weight[3].zero_();
  parameter_of(model, "encoder.head.bias")[3].fill_(5);  // constant, though far from 0
  EXPECT_EQ(active(), std::pair(int64_t{2}, int64_t{1}));
}

TEST(Evaluate, AccuracyOfANamedFactorMatchesValuesByName) {
  // The pack has the order long, short, bald.
  Vae model = tiny_model({{"hair", 6, 3}, {"look", 3, 2, "style", {"bald", "long", "short"}}});
  ImageSet set = image_set();
  torch::NoGradGuard no_gradient;
  const BoundTerms terms =
      bound_terms(model, model.likelihood().from_pixels(set.pixels.all()), {}, Key(4));
  const torch::Tensor codes = terms.factors[1].responsibilities.argmax(1);
  ASSERT_GT(torch::bincount(codes, {}, 3).gt(0).sum().item<int64_t>(), 1);
  set.labels.select(1, 1).copy_((codes + 2).remainder(3));  // component 0 is bald, label 2
  const Evaluation right = evaluate(model, set, kAgeAndStyle, "test", with_batch(kImages));
  EXPECT_EQ(right.factors[1].best()->accuracy, 1);
  set.labels.select(1, 1).copy_(codes);
  const Evaluation wrong = evaluate(model, set, kAgeAndStyle, "test", with_batch(kImages));
  EXPECT_EQ(wrong.factors[1].best()->accuracy, 0);
  EXPECT_NEAR(wrong.factors[1].best()->purity, 1, 1e-12) << "the groups are the same";
}

std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

TEST(Evaluate, JsonHasTheDocumentedKeys) {
  Vae model = tiny_model();
  const auto expect_keys = [](const Json& json, const std::vector<std::string>& expected) {
    const auto keys = keys_of(json);
    for (const std::string& key : expected)
      EXPECT_EQ(std::count(keys.begin(), keys.end(), key), 1) << key;
  };
  EvaluationOptions options = with_batch(100);
  const Json plain = to_json(evaluate(model, image_set(), kAgeAndStyle, "valid", options));
  expect_keys(plain,
              {"split", "count", "elbo", "reconstruction", "kl_z", "kl_r", "samples", "factors"});
  EXPECT_FALSE(plain.contains("importance_bound"));
  EXPECT_EQ(plain["split"], "valid");
  ASSERT_EQ(plain["factors"].size(), 2u);
  expect_keys(plain["factors"][1],
              {"name", "components", "used", "perplexity", "kl_z", "kl_r", "accuracy", "nmi",
               "purity", "adjusted_rand", "dead", "dimensions", "active_dimensions"});
  expect_keys(plain["factors"][1]["properties"]["style"],
              {"accuracy", "nmi", "purity", "adjusted_rand", "mutual_information", "explained",
               "standout"});
  expect_keys(plain["factors"][1]["properties"]["style"]["standout"],
              {"component", "value", "images", "share", "usual_share"});
  EXPECT_EQ(plain["factors"][1]["says_most_about"], Json::array({"style"}));  // no age is known
  expect_keys(plain, {"mean_gap", "gaps", "mean_dependence", "dependence"});
  expect_keys(plain["gaps"][0], {"property", "entropy", "gap", "factor"});
  EXPECT_EQ(plain["factors"][1]["name"], "smile");
  EXPECT_EQ(plain["factors"][1]["components"], 3);

  options.importance = 2;
  ImageSet unlabelled = image_set();
  unlabelled.labels.fill_(-1);
  const Json weighted = to_json(evaluate(model, unlabelled, kAgeAndStyle, "valid", options));
  EXPECT_TRUE(weighted["importance_bound"].is_number());
  EXPECT_FALSE(weighted["factors"][0].contains("accuracy"));
  EXPECT_FALSE(weighted.contains("mean_gap"));
  // Other programs read it back: the text parses and numbers keep their values.
  const Json back = Json::parse(weighted.dump());
  EXPECT_EQ(back["elbo"].get<double>(), weighted["elbo"].get<double>());
}

TEST(Evaluate, MeasuresMergedComponentsOfFreeFactorsWhenRequested) {
  Vae model = tiny_model({{"hair", 6, 3}, {"style", 3, 2, "style", {"long", "short", "bald"}}});
  EvaluationOptions options = with_batch(100);
  EXPECT_FALSE(evaluate(model, image_set(), kAgeAndStyle, "test", options).factors[0].merged);
  options.merge = true;
  const Evaluation result = evaluate(model, image_set(), kAgeAndStyle, "test", options);
  EXPECT_FALSE(result.factors[1].merged) << "its components are values";
  ASSERT_TRUE(result.factors[0].merged);
  const MergedEvaluation& merged = *result.factors[0].merged;
  EXPECT_EQ(merged.living, 6);
  ASSERT_EQ(merged.properties.size(), 1u) << "no image has a known age";
  // As many groups as components: the agreement of the components themselves.
  const PropertyAgreement& plain = result.factors[0].properties.front();
  const CutAgreement& cuts = merged.properties.front();
  EXPECT_DOUBLE_EQ(cuts.accuracy[cuts.entry(6)], plain.accuracy);
  EXPECT_NEAR(cuts.nmi[cuts.entry(6)], plain.nmi, 1e-12);
  EXPECT_NEAR(cuts.adjusted_rand[cuts.entry(6)], plain.adjusted_rand, 1e-12);
  EXPECT_TRUE(to_json(result)["factors"][0].contains("merged"));
}

}  // namespace
}  // namespace facet
