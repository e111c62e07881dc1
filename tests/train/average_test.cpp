// Weight averaging: the average decays as stated, and runs with it can be stopped and resumed.
#include "facet/train/average.h"

#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/model/model_file.h"
#include "facet/train/trainer.h"
#include "tests/close.h"
#include "tests/temporary_folder.h"
#include "tests/train/runs.h"

namespace facet {
namespace {

Config averaging_config(double decay) {
  Config config;
  config.data.portraits = {200, 16, 1};
  config.model.likelihood.kind = "gaussian";
  config.model.likelihood.minimum_stddev = 0.05;
  config.model.network = {"custom", {8, 8}, {2, 2}, 3};
  config.model.factors = {{"first", 3, 4}};
  config.train.batch_size = 16;
  config.train.pretrain.steps = 20;
  config.train.initialise.steps = 10;
  config.train.joint.steps = 40;
  config.train.learning_rate = {3e-3, 3e-3, 0, "linear"};
  config.train.average_decay = decay;
  config.train.log_every = 10;
  config.train.evaluate_every = 20;
  config.train.checkpoint_every = 20;
  return config;
}

torch::Tensor weights_of(const Vae& model) {
  std::vector<torch::Tensor> parts;
  for (const auto& [name, parameter] : model.parameters()) parts.push_back(parameter.flatten());
  return torch::cat(parts).detach().clone();
}

TEST(WeightAverage, IsAnExponentialMovingAverage) {
  torch::Tensor parameter = torch::zeros({1, 2}).requires_grad_();
  Adam adam({{"weight", parameter}}, {});
  FactorialMixture prior({{"only", 2, 3}}, {});
  WeightAverage average(adam, &prior, 0.9);
  const torch::Tensor weight = parameter.detach();
  weight.fill_(1.0);
  prior.posteriors[0].counts.fill_(10.0);
  average.start();
  weight.fill_(2.0);
  prior.posteriors[0].counts.fill_(20.0);
  average.update();
  const double old = std::pow(0.9, WeightAverage::stride);
  average.swap();
  EXPECT_TRUE(close(weight, torch::full_like(weight, old + 2 * (1 - old)), 1e-6));
  EXPECT_TRUE(close(prior.posteriors[0].counts,
                    torch::full({2}, 10 * old + 20 * (1 - old), kFloat64), 1e-12));
  average.swap();
  EXPECT_TRUE(close(weight, torch::full_like(weight, 2.0), 1e-6)) << "swapped back";
}

TEST(WeightAverage, TheModelFileHasTheAverageAndTheStateTheLastStep) {
  const TemporaryFolder folder;
  const RunFolder averaged{folder.path() / "averaged"}, plain{folder.path() / "plain"};
  Trainer with(averaging_config(0.95), portraits(200), averaged, torch::kCPU, false, {});
  Trainer without(averaging_config(0), portraits(200), plain, torch::kCPU, false, {});
  ASSERT_TRUE(with.run());
  ASSERT_TRUE(without.run());
  const torch::Tensor file = weights_of(*read_model(averaged.model()));
  const torch::Tensor last = weights_of(*read_model(plain.model()));
  EXPECT_TRUE(torch::equal(file, weights_of(with.model()))) << "model() is the one in the file";
  const double distance = (file - last).norm().item<double>();
  EXPECT_GT(distance, 1e-3) << "an average over forty steps";
  EXPECT_LT(distance, 0.2 * last.norm().item<double>());
  // Averaging does not change the steps.
  const TensorFile one = read_safetensors(averaged.state(), "test"),
                   other = read_safetensors(plain.state(), "test");
  EXPECT_TRUE(torch::equal(one.tensors.at("network.encoder.head.weight"),
                           other.tensors.at("network.encoder.head.weight")));
}

TEST(WeightAverage, AStoppedAndResumedRunEndsWithTheSameFiles) {
  const TemporaryFolder folder;
  const RunFolder whole{folder.path() / "whole"}, stopped{folder.path() / "stopped"};
  const Config config = averaging_config(0.95);
  ASSERT_TRUE(Trainer(config, portraits(200), whole, torch::kCPU, false, {}).run());
  TrainingCallbacks callbacks;
  callbacks.stop = [left = 57]() mutable { return left-- == 0; };  // in the joint phase
  ASSERT_FALSE(Trainer(config, portraits(200), stopped, torch::kCPU, false, callbacks).run());
  ASSERT_TRUE(Trainer(config, portraits(200), stopped, torch::kCPU, true, {}).run());
  EXPECT_EQ(read_text(whole.model(), "test"), read_text(stopped.model(), "test"));
  EXPECT_EQ(read_text(whole.state(), "test"), read_text(stopped.state(), "test"));
}

}  // namespace
}  // namespace facet
