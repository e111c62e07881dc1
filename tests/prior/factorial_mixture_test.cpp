// All factors of a model together: names and sizes are checked, blocks are in order, and terms and
// updates are those of the single factors.
#include "facet/prior/factorial_mixture.h"

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "tests/close.h"
#include "tests/message_of.h"

namespace facet {
namespace {

TEST(FactorialMixture, RefusesInvalidFactors) {
  const auto build = [](std::vector<FactorOptions> factors) {
    return message_of([&] { FactorialMixture(factors, Hyperprior{}); });
  };
  const auto contains = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  contains(build({}), "at least one");
  contains(build({{"hair", 4, 2}, {"hair", 3, 2}}), "'hair': found two factors of this name");
  contains(build({{"hair", 0, 2}}), "0 components");
  contains(build({{"hair", 4, -1}}), "-1 dimensions");
  contains(build({{"", 4, 2}}), "without a name");
}

TEST(FactorialMixture, StartsAtTheHyperprior) {
  const FactorialMixture mixture({{"hair", 4, 3}, {"smile", 2, 5}}, kHyperprior);
  ASSERT_EQ(mixture.size(), 2u);
  EXPECT_EQ(mixture.dimensions(), 8);
  for (const FactorPosterior& posterior : mixture.posteriors) {
    const HyperpriorKl kl = hyperprior_kl(posterior.parameters(), kHyperprior);
    EXPECT_TRUE(close(kl.components, torch::zeros_like(kl.components), 0, 1e-12));
    EXPECT_NEAR(kl.weights.item<double>(), 0, 1e-12);
  }
  EXPECT_EQ(mixture.posteriors[1].mean().m.sizes(), (std::vector<int64_t>{2, 5}));
}

TEST(FactorialMixture, UnknownNamesGetSuggestions) {
  const FactorialMixture mixture({{"glasses", 2, 2}, {"smiling", 2, 2}}, {});
  EXPECT_EQ(mixture.index_of("smiling"), 1u);
  const std::string text = message_of([&] { mixture.index_of("smilling"); });
  EXPECT_NE(text.find("'smilling'"), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean 'smiling'"), std::string::npos) << text;
}

TEST(FactorialMixture, SplitGivesBlocksInOrderInFloat64) {
  const FactorialMixture mixture({{"a", 2, 1}, {"b", 2, 3}, {"c", 2, 2}}, {});
  const torch::Tensor z = torch::arange(12, kFloat32).view({2, 6});
  const auto blocks = mixture.split(z);
  ASSERT_EQ(blocks.size(), 3u);
  const auto columns = [&](int64_t first, int64_t count) {
    return z.narrow(1, first, count).to(kFloat64);
  };
  EXPECT_TRUE(torch::equal(blocks[0], columns(0, 1)));
  EXPECT_TRUE(torch::equal(blocks[1], columns(1, 3)));
  EXPECT_TRUE(torch::equal(blocks[2], columns(4, 2)));
  const auto encodings = mixture.split(z, z + 100);
  EXPECT_TRUE(torch::equal(encodings[1].mean, columns(1, 3)));
  EXPECT_TRUE(torch::equal(encodings[1].variance, columns(1, 3) + 100));
}

/// Two factors with different posteriors, float32 encodings [6, 5] as networks give them, and
/// labels of the second factor for half of the images.
struct TwoFactors {
  FactorialMixture mixture{{{"a", 4, 2}, {"b", 3, 3}}, kHyperprior};
  torch::Tensor mean = normal64(Key(90), {6, 5}).to(kFloat32),
                log_variance = normal64(Key(91), {6, 5}).to(kFloat32);
  torch::Tensor labels = torch::stack(
      {int64_tensor({-1, -1, -1, -1, -1, -1}), int64_tensor({2, -1, 0, -1, 1, -1})}, 1);

  TwoFactors() {
    for (size_t i = 0; i < 2; ++i)
      mixture.posteriors[i] = random_posterior(Key(92).fold(i), mixture.factors[i].components,
                                               mixture.factors[i].dimensions);
  }
  BlockEncoding block(size_t factor) const {
    return mixture.split(mean, torch::exp(log_variance))[factor];
  }
};

TEST(FactorialMixture, TermsAreThoseOfItsBlocks) {
  const TwoFactors two;
  // Other parameters instead of the first posterior.
  std::vector<FactorParameters> parameters(2);
  parameters[0] = random_posterior(Key(93), 4, 2).parameters();
  const auto terms = factor_terms(two.mixture, two.mean, two.log_variance, parameters, two.labels);
  ASSERT_EQ(terms.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const FactorTerms expected =
        factor_terms(two.block(i), i == 0 ? parameters[0] : two.mixture.posteriors[1].parameters(),
                     labels_of_factor(two.labels, i));
    EXPECT_TRUE(torch::equal(terms[i].responsibilities, expected.responsibilities));
    EXPECT_TRUE(torch::equal(terms[i].kl_z, expected.kl_z));
    EXPECT_TRUE(torch::equal(terms[i].kl_r, expected.kl_r));
    EXPECT_TRUE(torch::equal(terms[i].label_log_likelihood, expected.label_log_likelihood));
  }
}

TEST(FactorialMixture, AnUpdateChangesOnlyTheChosenFactors) {
  TwoFactors two;
  const TwoFactors before;
  natural_gradient_update(two.mixture, two.mean, two.log_variance, two.labels, {7.0, number(0.3)},
                          {false, true});
  EXPECT_TRUE(torch::equal(two.mixture.posteriors[0].components.alpha,
                           before.mixture.posteriors[0].components.alpha));
  FactorPosterior expected = before.mixture.posteriors[1];
  const BlockEncoding block = before.block(1);
  const torch::Tensor gamma = e_step(block, expected, labels_of_factor(two.labels, 1));
  natural_step(expected, conjugate_posterior(statistics(block, gamma), 7.0, kHyperprior),
               number(0.3));
  EXPECT_TRUE(torch::equal(two.mixture.posteriors[1].components.alpha, expected.components.alpha));
  EXPECT_TRUE(
      torch::equal(two.mixture.posteriors[1].components.alpha_mu, expected.components.alpha_mu));
  EXPECT_TRUE(torch::equal(two.mixture.posteriors[1].counts, expected.counts));
}

}  // namespace
}  // namespace facet
