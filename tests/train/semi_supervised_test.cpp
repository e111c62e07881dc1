// Labels in training: the objective's gradients, batches with and without labels, the consistency
// loss, and the names of values.
#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/eval/bounds.h"
#include "facet/model/model_file.h"
#include "facet/model/objective.h"
#include "facet/model/posterior_optimizer.h"
#include "facet/prior/sampling.h"
#include "facet/train/consistency.h"
#include "facet/train/trainer.h"
#include "tests/close.h"
#include "tests/message_of.h"
#include "tests/parameters.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

ModelOptions small_options() {
  ModelOptions options;
  options.network = {"custom", {4, 6}, {2, 2}, 3};
  options.factors = {{"glasses", 2, 2, "glasses", {}}, {"free", 3, 2, "", {}}};
  return options;
}

Config semi_supervised_config() {
  Config config;
  config.data.portraits = {300, 16, 1};
  config.data.label_fraction = 0.5;
  config.model = small_options();
  config.model.likelihood.kind = "gaussian";
  config.model.likelihood.minimum_stddev = 0.1;
  config.train.batch_size = 16;
  config.train.pretrain.steps = 20;
  config.train.initialise = {200, true, 5, 20};
  config.train.joint.steps = 30;
  config.train.learning_rate = {2e-3, 2e-3, 0, "linear"};
  config.train.log_every = 10;
  config.train.evaluate_every = 0;
  return config;
}

/// The complete objective of a batch in float64 with fixed noise, as a function of all parameters.
struct Objective {
  Vae model{small_options(), {1, 8, 8}, Key(1)};
  torch::Tensor x = uniform(Key(2), {6, 1, 8, 8}, kFloat64);
  torch::Tensor labels =
      torch::tensor({0, -1, 1, -1, -1, -1, 1, -1, 0, -1, -1, -1}, kInt64).view({6, 2});
  PosteriorOptimizer named{model.prior.posteriors[0], {}, PosteriorOptimizer::Kind::posterior};

  Objective() {
    to_float64(model);
    torch::NoGradGuard no_gradient;
    for (auto& [name, parameter] : model.parameters())  // at zero biases ReLUs have no derivative
      parameter.add_(0.05 * standard_normal(Key(3), parameter.sizes(), kFloat64));
    for (size_t i = 0; i < 2; ++i)
      model.prior.posteriors[i] =
          initial_posterior_for_test(Key(4).fold(i), model.prior.factors[i].components);
  }
  static FactorPosterior initial_posterior_for_test(const Key& key, int64_t components) {
    const torch::Tensor one = torch::ones({components, 2}, kFloat64);
    return FactorPosterior::from_mean({normal64(key, {components, 2}), 5 * one, 4 * one, 3 * one},
                                      torch::linspace(2, 5, components, kFloat64));
  }
  torch::Tensor loss(const FactorParameters& glasses) {
    const std::vector<FactorParameters> parameters = {glasses,
                                                      model.prior.posteriors[1].parameters()};
    const BoundTerms terms = bound_terms(model, parameters, x, x, labels, Key(5));
    const ObjectiveWeights weights{
        number(3.0), number(20.0), {torch::tensor({0.7, 1.6}, kFloat64), torch::Tensor()}};
    const HyperpriorKl kl = hyperprior_kl(glasses, model.prior.hyperpriors[0]);
    return batch_loss(terms, labels, weights) + (kl.components.sum() + kl.weights) / 100.0;
  }
};

TEST(SemiSupervised, NetworkGradientsAgreeWithFiniteDifferences) {
  Objective objective;
  // gamma of unlabelled images is recomputed at every evaluation, and is the optimum only for a KL
  // weight of one. Labels for every image and factor keep it constant here.
  objective.labels = torch::tensor({0, 2, 1, 0, 0, 1, 1, 1, 0, 0, 1, 2}, kInt64).view({6, 2});
  const auto evaluate = [&] {
    return objective.loss(objective.model.prior.posteriors[0].parameters());
  };
  evaluate().backward();
  for (const auto& [name, parameter] : objective.model.parameters()) {
    torch::NoGradGuard no_gradient;
    torch::Tensor flat = parameter.view({-1});
    const torch::Tensor gradient = parameter.grad().view({-1});
    for (const int64_t at : {int64_t{0}, flat.size(0) / 2, flat.size(0) - 1}) {
      const double step = 1e-5, old = flat[at].item<double>();
      flat[at] = old + step;
      const double up = evaluate().item<double>();
      flat[at] = old - step;
      const double down = evaluate().item<double>();
      flat[at] = old;
      const double expected = (up - down) / (2 * step);
      // Central differences of a loss near 100 have a rounding error of 1e-9 and a truncation error
      // of 1e-10 times the third derivative.
      EXPECT_NEAR(gradient[at].item<double>(), expected, 1e-6 * (1 + std::abs(expected)))
          << name << " at " << at;
    }
  }
}

TEST(SemiSupervised, PriorGradientsAgreeWithFiniteDifferences) {
  Objective objective;
  objective.labels = torch::tensor({0, 2, 1, 0, 0, 1, 1, 1, 0, 0, 1, 2}, kInt64).view({6, 2});
  // Each of m, log s, log a, log b and log c changes along a line, as a function of one number.
  const FactorParameters start = objective.model.prior.posteriors[0].parameters();
  for (int which = 0; which < 5; ++which) {
    const torch::Tensor shift = torch::zeros({}, kFloat64).requires_grad_();
    const auto loss = [&](const torch::Tensor& by) {
      FactorParameters p = start;
      const torch::Tensor direction = normal64(Key(9), {2, 2});
      if (which == 0) p.components.m = p.components.m + by * direction;
      if (which == 1) p.components.s = p.components.s * torch::exp(by * direction);
      if (which == 2) p.components.a = p.components.a * torch::exp(by * direction);
      if (which == 3) p.components.b = p.components.b * torch::exp(by * direction);
      if (which == 4) p.counts = p.counts * torch::exp(by * direction[0]);
      return objective.loss(p);
    };
    loss(shift).backward();
    torch::NoGradGuard no_gradient;
    const double step = 1e-5;
    const auto at = [&](double by) { return loss(torch::tensor(by, kFloat64)).item<double>(); };
    EXPECT_NEAR(shift.grad().item<double>(), (at(step) - at(-step)) / (2 * step), 1e-6) << which;
  }
}

TEST(PosteriorOptimizer, FollowsTheGradientAndKeepsParametersPositive) {
  FactorPosterior posterior = Objective::initial_posterior_for_test(Key(1), 3);
  PosteriorOptimizer optimizer(posterior, {}, PosteriorOptimizer::Kind::posterior);
  const torch::Tensor target = normal64(Key(2), {3, 2});
  for (int i = 0; i < 600; ++i) {
    const FactorParameters parameters = optimizer.track(posterior);
    ((parameters.components.m - target).square().sum() + parameters.components.b.sum() +
     parameters.counts.sum())
        .backward();
    optimizer.step(posterior, number(0.02));
  }
  EXPECT_TRUE(close(posterior.mean().m, target, 0, 1e-3));
  EXPECT_TRUE(posterior.mean().b.gt(0).all().item<bool>());
  EXPECT_LT(posterior.counts.max().item<double>(), 0.5);  // minimised, from up to 5
  EXPECT_TRUE(posterior.counts.gt(0).all().item<bool>());
}

TEST(SemiSupervised, ABatchWithoutLabelsTakesExactlyTheUnsupervisedStep) {
  TemporaryFolder folder;
  const Pack pack = make_portraits({300, 16, 1});
  Config with_delta = semi_supervised_config();
  with_delta.data.label_fraction = 0.0;
  with_delta.train.hyperprior_every = 0;  // only free factors learn theirs, and only they split
  with_delta.train.joint.merge_and_split = false;
  Config without = with_delta;
  without.train.joint.label_weight = {0, 0, 0, "linear"};
  Config free = without;
  free.model.factors[0].property = "";
  std::vector<torch::Tensor> weights, priors;
  int number = 0;
  for (const Config& config : {with_delta, without, free}) {
    Trainer trainer(config, pack, {folder / std::to_string(number++)}, torch::kCPU, false, {});
    ASSERT_TRUE(trainer.run());
    weights.push_back(parameter_of(trainer.model(), "decoder.stem.weight").clone());
    priors.push_back(trainer.model().prior.posteriors[0].components.alpha.clone());
  }
  for (int i : {1, 2}) {
    EXPECT_TRUE(torch::equal(weights[0], weights[static_cast<size_t>(i)])) << i;
    EXPECT_TRUE(torch::equal(priors[0], priors[static_cast<size_t>(i)])) << i;
  }
}

TEST(SemiSupervised, LabelsTrainTheNamedFactor) {
  TemporaryFolder folder;
  Config config = semi_supervised_config();
  config.data.portraits.count = 1200;
  config.model.network.channels = {8, 16};
  config.model.factors[0] = {"backdrop", 5, 3, "background", {}};
  config.train.pretrain.steps = 100;
  config.train.joint.steps = 900;
  config.train.joint.label_weight = {200, 0, 700, "step"};
  const Pack pack = make_portraits(config.data.portraits);
  Trainer trainer(config, pack, {folder / "run"}, torch::kCPU, false, {});
  ASSERT_TRUE(trainer.run());
  const ImageSet test = select_images(pack, {Split::test}, config.data, false, torch::kCPU);
  const Evaluation evaluation = evaluate(trainer.model(), test, pack.properties, "test", {});
  const PropertyAgreement* own = evaluation.factors[0].best();
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->property, "background");
  EXPECT_GT(own->accuracy, 0.8);  // five values: chance is 0.2
  // The model file has the names of the values.
  const auto read = read_model(folder / "run" / "model.safetensors");
  EXPECT_EQ(read->prior.factors[0].component_of("pink"), 2);
  EXPECT_EQ(read->prior.factors[0].component_name(2), "pink");
}

TEST(SemiSupervised, ALabelledBatchHelpsIfLabelsAreFew) {
  TemporaryFolder folder;
  Config config = semi_supervised_config();
  config.data.label_fraction = 0.04;  // ten images: about half of the batches have no label
  config.model.factors[0] = {"smile", 2, 2, "smile", {}};
  config.train.joint.label_weight = {300, 300, 0, "linear"};
  config.train.joint.steps = 150;
  const Pack pack = make_portraits(config.data.portraits);
  const ImageSet images =
      select_images(pack, {Split::train}, config.data, /*training=*/true, torch::kCPU);
  const torch::Tensor known = images.labels.select(1, 1).ge(0).nonzero().squeeze(1);
  const auto label_log_likelihood = [&](int64_t labelled_batch) {
    config.train.joint.labelled_batch = labelled_batch;
    Trainer trainer(config, pack, {folder / std::to_string(labelled_batch)}, torch::kCPU, false,
                    {});
    EXPECT_TRUE(trainer.run());
    torch::NoGradGuard no_gradient;
    const torch::Tensor x = trainer.model().likelihood().from_pixels(images.pixels.gather(known));
    const Encoding encoding = trainer.model().encode(x);
    const auto blocks = trainer.model().prior.split(encoding.mean, encoding.variance());
    return factor_terms(blocks[0], trainer.model().prior.posteriors[0].parameters(),
                        images.labels.select(1, 1).index_select(0, known))
        .label_log_likelihood.mean()
        .item<double>();
  };
  EXPECT_GT(label_log_likelihood(8), 0.75 * label_log_likelihood(0));  // both are negative
}

TEST(SemiSupervised, TheConsistencyWeightLowersTheConsistencyLoss) {
  TemporaryFolder folder;
  Config config = semi_supervised_config();
  config.model.factors[0] = {"glasses", 2, 2, "glasses", {}};
  config.train.joint.label_weight = {100, 100, 0, "linear"};
  config.train.joint.steps = 200;
  const Pack pack = make_portraits(config.data.portraits);
  const auto loss_after_training = [&](double consistency_weight) {
    config.train.joint.consistency_weight = consistency_weight;
    Trainer trainer(config, pack, {folder / std::to_string(consistency_weight)}, torch::kCPU, false,
                    {});
    EXPECT_TRUE(trainer.run());
    torch::NoGradGuard no_gradient;
    return consistency_loss(trainer.model(), Key(5), 400).item<double>();
  };
  EXPECT_LT(loss_after_training(100), 0.5 * loss_after_training(0));
}

TEST(SemiSupervised, TheConsistencyLossHasGradientsOnlyForTheNetworks) {
  ModelOptions options = small_options();
  options.factors[0].values = {"without", "with"};
  Vae model(options, {1, 8, 8}, Key(1));
  for (const size_t i : {0, 1})
    model.prior.posteriors[i] =
        Objective::initial_posterior_for_test(Key(4).fold(i), model.prior.factors[i].components);
  const torch::Tensor before = model.prior.posteriors[0].components.alpha_mu.clone();
  consistency_loss(model, Key(7), 32).backward();
  for (const auto& [name, parameter] : model.parameters()) {
    ASSERT_TRUE(parameter.grad().defined()) << name;
    EXPECT_GT(parameter.grad().abs().max().item<double>(), 0.0) << name;
  }
  EXPECT_FALSE(model.prior.posteriors[0].components.alpha_mu.requires_grad());
  EXPECT_TRUE(torch::equal(model.prior.posteriors[0].components.alpha_mu, before));
}

TEST(SemiSupervised, ConditionalSamplesHaveAllValuesEquallyOften) {
  const auto numbers = [](std::vector<double> values) { return torch::tensor(values, kFloat64); };
  // The third component of the named factor has no value.
  FactorialMixture prior(
      {{"glasses", 3, 1, "glasses", {"without", "with"}}, {"free", 3, 1, "", {}}}, {});
  const auto posterior = [&](const torch::Tensor& m, const torch::Tensor& counts) {
    const torch::Tensor mean = m.unsqueeze(1), one = torch::ones_like(mean);
    return FactorPosterior::from_mean({mean, 4 * one, 50 * one, 10 * one}, counts);
  };
  prior.posteriors[0] = posterior(numbers({-3, 3, 100}), numbers({90, 10, 1}));
  prior.posteriors[1] = posterior(numbers({0, 10, 20}), numbers({50, 30, 20}));
  const int64_t count = 20000;
  const LatentSample sample = sample_even_values_captured(Key(6), prior, count);
  const auto share = [&](int64_t factor, int64_t component) {
    return sample.components.select(1, factor).eq(component).to(kFloat64).mean();
  };
  EXPECT_NEAR(share(0, 1).item<double>(), 0.5, 0.02);  // though its weight is 0.1
  EXPECT_EQ(share(0, 2).item<double>(), 0.0);
  EXPECT_NEAR(share(1, 0).item<double>(), 0.5, 0.02);
  EXPECT_NEAR(share(1, 1).item<double>(), 0.3, 0.02);
  EXPECT_NEAR(share(1, 2).item<double>(), 0.2, 0.02);
  const torch::Tensor centres =
      torch::stack({numbers({-3, 3, 100}).index_select(0, sample.components.select(1, 0)),
                    numbers({0, 10, 20}).index_select(0, sample.components.select(1, 1))},
                   1);
  const torch::Tensor offsets = sample.z - centres;
  // The squared scale of eq:z-t-dist is (4 + 1) / 4 * 10 / 50.
  for (int64_t i : {0, 1}) {
    EXPECT_NEAR(offsets.select(1, i).mean().item<double>(), 0.0, 0.02);
    EXPECT_NEAR(offsets.select(1, i).square().mean().item<double>(), 0.25, 0.01);
  }
}

TEST(SemiSupervised, AStoppedAndResumedRunIsTheSameAsAnUninterruptedOne) {
  TemporaryFolder folder;
  Config config = semi_supervised_config();
  config.model.factors[1].components = 12;
  config.train.initialise.images = 8;  // fewer than components, so that some are dead
  config.train.joint.labelled_batch = 4;
  config.train.joint.consistency_weight = 50;
  config.train.joint.pseudo_labels = {0.5, 0.6, true};
  config.train.joint.refit_every = 5;
  const Pack pack = make_portraits(config.data.portraits);
  Trainer straight(config, pack, {folder / "straight"}, torch::kCPU, false, {});
  ASSERT_TRUE(straight.run());
  int calls = 0;
  TrainingCallbacks stop;
  stop.stop = [&] { return ++calls == 57; };  // in the joint phase
  Trainer first(config, pack, {folder / "stopped"}, torch::kCPU, false, stop);
  ASSERT_FALSE(first.run());
  ASSERT_EQ(first.progress().phase, Phase::joint);
  Trainer second(config, pack, {folder / "stopped"}, torch::kCPU, true, {});
  ASSERT_TRUE(second.run());
  for (const auto& [name, parameter] : straight.model().parameters())
    EXPECT_TRUE(torch::equal(parameter, parameter_of(second.model(), name))) << name;
  for (size_t i = 0; i < 2; ++i)
    EXPECT_TRUE(torch::equal(straight.model().prior.posteriors[i].components.alpha,
                             second.model().prior.posteriors[i].components.alpha))
        << i;
  config.train.joint.refit_every = 0;
  Trainer without(config, pack, {folder / "without"}, torch::kCPU, false, {});
  ASSERT_TRUE(without.run());
  EXPECT_FALSE(torch::equal(straight.model().prior.posteriors[1].counts,
                            without.model().prior.posteriors[1].counts))
      << "components were refitted";
}

TEST(SemiSupervised, InvalidPropertiesAreRefused) {
  TemporaryFolder folder;
  const auto message = [&](const std::string& property, int64_t components) {
    Config config = semi_supervised_config();
    config.model.factors[0] = {"named", components, 2, property, {}};
    return message_of([&] {
      Trainer(config, make_portraits(config.data.portraits), {folder / "run"}, torch::kCPU, false,
              {});
    });
  };
  EXPECT_NE(message("glases", 2).find("did you mean 'glasses'"), std::string::npos);
  EXPECT_NE(message("background", 4).find("5 values for 4 components"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

}  // namespace
}  // namespace facet
