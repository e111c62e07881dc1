// Pseudo-labels: which images get one, how they are aligned, and that they teach a model.
#include "facet/train/pseudo_labels.h"

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/data/augment.h"
#include "facet/train/trainer.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

const std::vector<FactorOptions> kFactors = {{"digit", 3, 2, "digit", {}}, {"free", 2, 2, "", {}}};

/// The terms of a batch of which only the responsibilities count.
std::vector<FactorTerms> terms_with(const torch::Tensor& responsibilities) {
  std::vector<FactorTerms> terms(2);
  terms[0].responsibilities = responsibilities;
  terms[1].responsibilities = torch::full({responsibilities.size(0), 2}, 0.5, kFloat64);
  return terms;
}

/// Responsibilities of three values, [n, 3].
torch::Tensor rows(std::vector<double> numbers) {
  return torch::tensor(numbers, kFloat64).view({-1, 3});
}

torch::Tensor even_labels() {
  return torch::tensor({0, -1, 1, -1, 2, -1, -1, -1}, kInt64).view({4, 2});
}

TEST(PseudoLabels, AreGivenWhereTheModelIsSure) {
  PseudoLabels pseudo(kFactors, {1.0, 0.9, /*align=*/false}, even_labels());
  const torch::Tensor chosen =
      pseudo.choose(terms_with(rows({0.95, 0.05, 0.0, 0.1, 0.8, 0.1, 0.0, 0.0, 1.0})));
  EXPECT_TRUE(torch::equal(chosen, torch::tensor({0, -1, -1, -1, 2, -1}, kInt64).view({3, 2})));
}

TEST(PseudoLabels, AreAlignedWithTheFrequenciesOfLabels) {
  PseudoLabels pseudo(kFactors, {1.0, 0.9, /*align=*/true}, even_labels());
  // The model prefers the first value, though values are equally frequent among the labels.
  const torch::Tensor biased = rows({0.95, 0.03, 0.02, 0.6, 0.39, 0.01, 0.93, 0.05, 0.02});
  for (int step = 0; step < 400; ++step)
    pseudo.observe(pseudo.mean_probabilities(terms_with(biased)));
  const torch::Tensor predicted = biased.mean(0);
  torch::Tensor expected = biased / (3.0 * predicted);
  expected = expected / expected.sum(1, true);
  const torch::Tensor sure = expected.amax(1).ge(0.9);
  const torch::Tensor chosen = pseudo.choose(terms_with(biased)).select(1, 0);
  EXPECT_TRUE(torch::equal(chosen.ge(0), sure));
  EXPECT_NEAR(pseudo.tensors().front().second[0].item<double>(), predicted[0].item<double>(), 0.02);
  EXPECT_LT(chosen[0].item<int64_t>(), 0) << "sure only because the value is preferred";
}

TEST(PseudoLabels, DistortedViewsKeepTheirValue) {
  TemporaryFolder folder;
  Config config;
  config.data.portraits = {400, 16, 1};
  config.data.labels_per_value = 40;
  config.model.likelihood.kind = "gaussian";
  config.model.likelihood.minimum_stddev = 0.1;
  config.model.network = {"custom", {6, 8}, {2, 2}, 3};
  config.model.factors = {{"glasses", 2, 2, "glasses", {}}, {"free", 3, 2, "", {}}};
  config.train.batch_size = 32;
  config.train.pretrain.steps = 40;
  config.train.initialise.images = 200;
  config.train.joint.steps = 200;
  config.train.joint.label_weight = {100, 100, 0, "linear"};
  config.train.joint.labelled_batch = 16;
  config.train.joint.pseudo_labels.threshold = 0.8;
  config.train.learning_rate = {4e-3, 1e-3, 0, "cosine"};
  config.train.evaluate_every = 0;
  const Pack pack = make_portraits(config.data.portraits);
  const auto agreement = [&](double weight) {
    config.train.joint.pseudo_labels.weight = weight;
    Trainer trainer(config, pack, {folder / std::to_string(weight)}, torch::kCPU, false, {});
    EXPECT_TRUE(trainer.run());
    torch::NoGradGuard no_gradient;
    const Vae& model = trainer.model();
    const auto values = [&](const torch::Tensor& pixels) {
      const Encoding encoding = model.encode(model.likelihood().from_pixels(pixels));
      const auto blocks = model.prior.split(encoding.mean, encoding.variance());
      return e_step(blocks[0], model.prior.posteriors[0], {}).argmax(1);
    };
    return values(pack.images.all())
        .eq(values(augment_strongly(pack.images.all(), Key(9))))
        .to(kFloat64)
        .mean()
        .item<double>();
  };
  const double without = agreement(0), with = agreement(1);
  EXPECT_GT(with, without + 0.03) << "of " << without;
}

}  // namespace
}  // namespace facet
