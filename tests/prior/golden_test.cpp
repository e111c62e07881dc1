// The prior against numbers that owe nothing to its formulas: the thirteen cases of golden.json,
// integrals of the densities that golden.py takes numerically. Twelve are random; the last looks
// like a trained model, with components of thousands of images, a dead one and an image far from
// its label.
#include <filesystem>

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/prior/factorial_mixture.h"
#include "facet/prior/student_t.h"
#include "facet/prior/weights.h"
#include "paths.h"
#include "tests/close.h"

namespace facet {
namespace {

torch::Tensor tensor_of(const Json& json) {
  std::vector<int64_t> shape;
  for (const Json* level = &json; level->is_array(); level = &level->front())
    shape.push_back(static_cast<int64_t>(level->size()));
  std::vector<double> values;
  const Json flat = json.flatten();
  for (const Json& value : flat) values.push_back(value.get<double>());
  return torch::tensor(values, kFloat64).view(shape);
}

/// The file's numbers are right to the last digit; ours are float64 sums with a cancellation in b
/// (lambda_2 against s m^2 / 2, 1e4 times larger in the last case), which leaves ten digits. The
/// absolute part is for numbers that are differences of larger ones (a KL near zero).
testing::AssertionResult agrees(const torch::Tensor& actual, const Json& expected) {
  return close(actual, tensor_of(expected), 1e-9, 1e-12);
}

void check_components(const Json& factor, const FactorPosterior& posterior) {
  const NormalGammaMoments expected = moments(posterior.mean());
  const Json& golden = factor["moments"];
  EXPECT_TRUE(agrees(expected.log_alpha, golden["log_alpha"]));
  EXPECT_TRUE(agrees(expected.alpha, golden["alpha"]));
  EXPECT_TRUE(agrees(expected.alpha_mu, golden["alpha_mu"]));
  EXPECT_TRUE(agrees(expected.alpha_mu2, golden["alpha_mu2"]));
  EXPECT_TRUE(agrees(log_normaliser(posterior.components), factor["log_normaliser"]));
}

void check_factor(const Json& factor, const Hyperprior& hyperprior, double images, double rho) {
  const auto tensor = [&](const char* name) { return tensor_of(factor.at(name)); };
  const NormalGamma mean{tensor("m"), tensor("s"), tensor("a"), tensor("b")};
  FactorPosterior posterior = FactorPosterior::from_mean(mean, tensor("c"));
  const BlockEncoding block{tensor("encoder_mean"), tensor("encoder_variance")};
  const torch::Tensor labels = tensor("label").to(kInt64);
  check_components(factor, posterior);

  const torch::Tensor log_normal = expected_log_normal(block, posterior.mean());
  const torch::Tensor log_weights = posterior.expected_log_weights();
  EXPECT_TRUE(agrees(log_normal, factor["expected_log_normal"]));
  EXPECT_TRUE(agrees(log_weights, factor["expected_log_pi"]));
  EXPECT_TRUE(agrees(posterior.expected_weights(), factor["expected_pi"]));
  EXPECT_TRUE(agrees(assignment_probabilities(log_normal, log_weights), factor["allocation"]));

  const FactorTerms terms = factor_terms(block, posterior.parameters(), labels);
  EXPECT_TRUE(agrees(terms.responsibilities, factor["responsibilities"]));
  EXPECT_TRUE(agrees(e_step(block, posterior, labels), factor["responsibilities"]));
  EXPECT_TRUE(agrees(terms.kl_z, factor["kl_z"]));
  EXPECT_TRUE(agrees(terms.kl_r, factor["kl_r"]));
  EXPECT_TRUE(agrees(terms.label_log_likelihood, factor["label_log_likelihood"]));

  const HyperpriorKl kl = hyperprior_kl(posterior.parameters(), hyperprior);
  EXPECT_TRUE(agrees(kl.components, factor["kl_normal_gamma"]));
  EXPECT_TRUE(agrees(kl.weights, factor["kl_dirichlet"]));

  const torch::Tensor z = tensor("z");
  EXPECT_TRUE(agrees(student_t_log_density(z, posterior.mean()), factor["student_t_logpdf"]));
  EXPECT_TRUE(agrees(predictive_log_density(z, posterior), factor["predictive_logpdf"]));

  const double scale = images / static_cast<double>(labels.numel());
  natural_step(posterior,
               conjugate_posterior(statistics(block, terms.responsibilities), scale, hyperprior),
               torch::full({}, rho, kFloat64));
  const NormalGamma stepped = posterior.mean();
  const Json& expected = factor["natural_step"];
  EXPECT_TRUE(agrees(stepped.m, expected["m"]));
  EXPECT_TRUE(agrees(stepped.s, expected["s"]));
  EXPECT_TRUE(agrees(stepped.a, expected["a"]));
  EXPECT_TRUE(agrees(stepped.b, expected["b"]));
  EXPECT_TRUE(agrees(posterior.counts, expected["c"]));
}

void check_case(const Json& golden) {
  Hyperprior hyperprior;
  read_options(hyperprior, golden["hyperprior"], "golden case");
  for (size_t i = 0; i < golden["factors"].size(); ++i) {
    SCOPED_TRACE(testing::Message() << "factor " << i);
    check_factor(golden["factors"][i], hyperprior, golden["N"].get<double>(),
                 golden["rho"].get<double>());
  }
}

TEST(GoldenPrior, EveryCaseOfTheFileAgrees) {
  const std::filesystem::path path = FACET_SOURCE_FOLDER "/tests/prior/golden.json";
  const Json cases = parse_config(read_text(path, "reading golden cases"), path.string());
  ASSERT_EQ(cases.size(), 13u);
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "case " << i);
    check_case(cases[i]);
  }
}

}  // namespace
}  // namespace facet
