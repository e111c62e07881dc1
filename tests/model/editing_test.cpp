// Editing by factors: parsing settings, finding an image's components, and edits that leave all
// other blocks unchanged, bit for bit.
#include "facet/model/editing.h"

#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "tests/close.h"
#include "tests/message_of.h"

namespace facet {
namespace {

FactorialMixture make_prior() {
  FactorOptions glasses{"glasses", 2, 2};
  glasses.property = "glasses";
  glasses.values = {"without", "with"};
  FactorialMixture prior({glasses, {"hair", 4, 3}, {"pose", 3, 1}}, {});
  for (size_t i = 0; i < prior.size(); ++i)
    prior.posteriors[i] =
        random_posterior(Key(1).fold(i), prior.factors[i].components, prior.factors[i].dimensions);
  return prior;
}

Encoding random_encoding(int64_t images) {
  const BlockEncoding all = random_block(Key(2), images, 6);
  return {all.mean, torch::log(all.variance)};
}

TEST(ParseFixed, AcceptsNamesAndNumbersAndLeavesOtherFactorsFree) {
  const FactorialMixture prior = make_prior();
  EXPECT_EQ(parse_fixed(prior, {}), (std::vector<int64_t>{-1, -1, -1}));
  EXPECT_EQ(parse_fixed(prior, {"hair=3", "glasses=with"}), (std::vector<int64_t>{1, 3, -1}));
  EXPECT_EQ(parse_fixed(prior, {"glasses=with", "glasses=1"}), (std::vector<int64_t>{1, -1, -1}))
      << "the same component twice";
}

TEST(ParseFixed, AcceptsNamesAndValuesThatContainAnEqualsSign) {
  FactorialMixture prior = make_prior();
  prior.factors[0].name = "a=b";
  prior.factors[0].values[1] = "c=d";
  EXPECT_EQ(parse_fixed(prior, {"a=b=c=d", "hair=3"}), (std::vector<int64_t>{1, 3, -1}));
}

TEST(ParseFixed, RefusesInvalidSettings) {
  const struct {
    std::vector<std::string> settings;
    std::string part;
  } cases[] = {{{"glases=with"}, "did you mean 'glasses'?"},
               {{"glasses=wiht"}, "did you mean 'with'?"},
               {{"hair=4"}, "0 to 3"},
               {{"hair=-1"}, "0 to 3"},
               {{"hair="}, "0 to 3"},
               {{"=1"}, "no factor of this name"},
               {{"glasses"}, "no '='"},
               {{"glasses=with", "hair=1", "glasses=without"}, "'glasses' at 'with' already"}};
  for (const auto& one : cases) {
    const std::string found = message_of([&] { parse_fixed(make_prior(), one.settings); });
    EXPECT_NE(found.find(one.part), std::string::npos) << found << "\n  has no " << one.part;
  }
}

TEST(LikelyComponents, AreTheLargestResponsibilities) {
  const FactorialMixture prior = make_prior();
  const Encoding encoding = random_encoding(5);
  const LikelyComponents likely = likely_components(prior, encoding);
  const auto blocks = prior.split(encoding.mean, encoding.variance());
  for (int64_t i = 0; i < 3; ++i) {
    const auto index = static_cast<size_t>(i);
    const torch::Tensor gamma = e_step(blocks[index], prior.posteriors[index], {});
    for (int64_t n = 0; n < 5; ++n) {
      int64_t best = 0;
      for (int64_t k = 1; k < gamma.size(1); ++k)
        if (gamma[n][k].item<double>() > gamma[n][best].item<double>()) best = k;
      EXPECT_EQ(likely.components[n][i].item<int64_t>(), best);
      EXPECT_EQ(likely.responsibilities[n][i].item<double>(), gamma[n][best].item<double>());
    }
  }
}

TEST(Edit, WithoutOffsetTheBlockIsTheComponentsMeanAndOthersDoNotChange) {
  const FactorialMixture prior = make_prior();
  const Encoding encoding = random_encoding(4);
  const torch::Tensor z = edit(prior, encoding, {-1, 2, -1}, /*keep_offset=*/false);
  const torch::Tensor mean = prior.posteriors[1].mean().m[2];
  EXPECT_TRUE(torch::equal(z.narrow(1, 2, 3), mean.expand({4, 3})));
  EXPECT_TRUE(torch::equal(z.narrow(1, 0, 2), encoding.mean.narrow(1, 0, 2)));
  EXPECT_TRUE(torch::equal(z.narrow(1, 5, 1), encoding.mean.narrow(1, 5, 1)));
}

TEST(Edit, WithOffsetThePositionInUnitsOfTheScaleIsKept) {
  const FactorialMixture prior = make_prior();
  const Encoding encoding = random_encoding(6);
  const torch::Tensor z = edit(prior, encoding, {-1, 2, -1});
  const torch::Tensor old = likely_components(prior, encoding).components.select(1, 1);
  const NormalGamma q = prior.posteriors[1].mean();
  const auto position = [&](const torch::Tensor& block, int64_t n, int64_t d, int64_t k) {
    const auto at = [&](const torch::Tensor& tensor) { return tensor[k][d].item<double>(); };
    const double scale = std::sqrt((at(q.s) + 1) / at(q.s) * at(q.b) / at(q.a));
    return (block[n][d + 2].item<double>() - at(q.m)) / scale;
  };
  for (int64_t n = 0; n < 6; ++n)
    for (int64_t d = 0; d < 3; ++d)
      EXPECT_NEAR(position(z, n, d, 2), position(encoding.mean, n, d, old[n].item<int64_t>()),
                  1e-12)  // a few rounding errors of numbers near 1
          << "image " << n << ", dimension " << d;
  EXPECT_TRUE(torch::equal(z.narrow(1, 0, 2), encoding.mean.narrow(1, 0, 2)));
  EXPECT_FALSE(torch::equal(z.narrow(1, 2, 3), encoding.mean.narrow(1, 2, 3)));
}

TEST(Edit, ToTheImagesOwnComponentChangesNothing) {
  const FactorialMixture prior = make_prior();
  const Encoding encoding = random_encoding(1);
  const torch::Tensor own = likely_components(prior, encoding).components[0];
  std::vector<int64_t> changes;
  for (int64_t i = 0; i < 3; ++i) changes.push_back(own[i].item<int64_t>());
  EXPECT_TRUE(close(edit(prior, encoding, changes), encoding.mean, 1e-12, 1e-14));
}

TEST(Edit, RefusesComponentsThatDoNotExist) {
  const Encoding encoding = random_encoding(1);
  EXPECT_THROW(edit(make_prior(), encoding, {-1, -1}), Error);
  EXPECT_THROW(edit(make_prior(), encoding, {-1, 4, -1}), Error);
}

TEST(Interpolate, IsAStraightLineFromEndToEnd) {
  const FactorialMixture prior = make_prior();
  const torch::Tensor from = normal64(Key(3), {2, 6}), to = normal64(Key(4), {1, 6});
  const torch::Tensor path = interpolate(prior, from, to, 5);
  ASSERT_EQ(path.sizes(), (std::vector<int64_t>{2, 5, 6}));
  EXPECT_TRUE(torch::equal(path.select(1, 0), from));
  EXPECT_TRUE(torch::equal(path.select(1, 4), to.expand({2, 6})));
  EXPECT_TRUE(close(path.select(1, 1), 0.75 * from + 0.25 * to, 1e-12, 1e-14));
}

TEST(Interpolate, ChangesOnlyTheListedFactors) {
  const FactorialMixture prior = make_prior();
  const torch::Tensor from = normal64(Key(3), {1, 6}), to = normal64(Key(4), {1, 6});
  const torch::Tensor path = interpolate(prior, from, to, 3, {1});
  const torch::Tensor start = from.unsqueeze(1).expand({1, 3, 6});
  EXPECT_TRUE(torch::equal(path.narrow(2, 0, 2), start.narrow(2, 0, 2)));
  EXPECT_TRUE(torch::equal(path.narrow(2, 5, 1), start.narrow(2, 5, 1)));
  EXPECT_TRUE(torch::equal(path.select(1, 2).narrow(1, 2, 3), to.narrow(1, 2, 3)));
  EXPECT_THROW(interpolate(prior, from, to, 1), Error);
}

}  // namespace
}  // namespace facet
