// The baseline priors: each learns, keeps its form, and can be stopped and resumed.
#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/eval/bounds.h"
#include "facet/model/model_file.h"
#include "facet/prior/weights.h"
#include "facet/train/trainer.h"
#include "tests/close.h"
#include "tests/message_of.h"
#include "tests/parameters.h"
#include "tests/temporary_folder.h"
#include "tests/train/runs.h"

namespace facet {
namespace {

Config comparison_config(const std::string& prior, int64_t components) {
  Config config;
  config.data.portraits = {300, 16, 1};
  config.model.likelihood.kind = "gaussian";
  config.model.likelihood.minimum_stddev = 0.1;
  config.model.network = {"custom", {8, 8}, {2, 2}, 3};
  config.model.factors = {{"only", components, 4}};
  config.model.prior = prior;
  config.train.batch_size = 32;
  config.train.pretrain.steps = 60;
  config.train.pretrain.kl_weight = {0.2, 1.0, 40, "linear"};
  config.train.initialise.steps = prior == "normal" || prior == "vamp" ? 0 : 20;
  config.train.joint.steps = 120;
  config.train.learning_rate = {3e-3, 1e-3, 0, "linear"};
  config.train.log_every = 20;
  config.train.evaluate_every = 0;
  config.train.checkpoint_every = 40;
  return config;
}

double test_bound(Vae& model, const Config& config) {
  const ImageSet images =
      select_images(portraits(300), {Split::test}, config.data, false, torch::kCPU);
  return evaluate(model, images, portraits(300).properties, "test", {}).elbo;
}

/// A model trained in `folder`; its bound must be higher than after a few steps.
std::shared_ptr<Vae> trained(const Config& config, const RunFolder& folder) {
  Trainer trainer(config, portraits(300), folder, torch::kCPU, false, {});
  EXPECT_TRUE(trainer.run());
  Config few_steps = config;
  few_steps.train.pretrain.steps = few_steps.train.joint.steps = 3;
  Trainer early(few_steps, portraits(300), {folder.path.string() + "-early"}, torch::kCPU, false,
                {});
  EXPECT_TRUE(early.run());
  EXPECT_GT(test_bound(trainer.model(), config), test_bound(early.model(), config) + 50);
  return read_model(folder.model());
}

TEST(BaselinePriors, TheStandardNormalIsNotUpdated) {
  const TemporaryFolder folder;
  const auto model = trained(comparison_config("normal", 1), {folder.path() / "run"});
  const NormalGamma mean = model->prior.posteriors[0].mean();
  EXPECT_TRUE(close(mean.m, torch::zeros_like(mean.m), 0, 1e-12));
  EXPECT_TRUE(close(mean.b / mean.a, torch::ones_like(mean.m), 1e-9));
}

TEST(BaselinePriors, PointEstimatesAreUpdatedAndStayPoints) {
  const TemporaryFolder folder;
  const Config config = comparison_config("point_mass", 5);
  const auto model = trained(config, {folder.path() / "run"});
  const NormalGamma mean = model->prior.posteriors[0].mean();
  EXPECT_TRUE(close(mean.s, torch::full_like(mean.s, 1e7), 1e-6));
  EXPECT_TRUE(close(mean.a, torch::full_like(mean.a, 1e7), 1e-6));
  Config fixed = config;
  fixed.train.joint.named_rate = 0;
  Trainer frozen(fixed, portraits(300), {folder.path() / "frozen"}, torch::kCPU, false, {});
  ASSERT_TRUE(frozen.run());
  EXPECT_FALSE(close(mean.m, frozen.model().prior.posteriors[0].mean().m, 1e-2, 1e-2))
      << "components are updated";
}

TEST(BaselinePriors, AVampPriorsComponentsAreTheEncodingsOfItsPseudoInputs) {
  const TemporaryFolder folder;
  Config config = comparison_config("vamp", 6);
  config.train.average_decay = 0.9;  // averaged pseudo-inputs, encoded by the averaged encoder
  config.train.adam.weight_decay = 0.1;
  const auto model = trained(config, {folder.path() / "run"});
  torch::NoGradGuard no_gradient;
  const FactorParameters encoded = model->strategy().parameters(*model, false).front();
  const NormalGamma mean = model->prior.posteriors[0].mean();
  EXPECT_TRUE(close(mean.m, encoded.components.m, 1e-5, 1e-5));
  EXPECT_TRUE(close(mean.b, encoded.components.b, 1e-5));
  EXPECT_TRUE(close(model->prior.posteriors[0].expected_weights(),
                    torch::full({6}, 1.0 / 6, kFloat64), 1e-12));
  // They started between 0.1 and 0.9.
  const torch::Tensor white = torch::sigmoid(parameter_of(*model, "pseudo_inputs.logits"));
  EXPECT_TRUE(white.lt(0.09).any().item<bool>()) << "pseudo-inputs are updated";
}

TEST(BaselinePriors, AStoppedAndResumedRunEndsWithTheSameModel) {
  for (const auto& [prior, components] : {std::pair{"point_mass", 4}, std::pair{"vamp", 4}}) {
    const TemporaryFolder folder;
    const RunFolder whole{folder.path() / "whole"}, stopped{folder.path() / "stopped"};
    Config config = comparison_config(prior, components);
    config.train.pretrain.steps = config.train.joint.steps = 15;
    config.train.initialise.steps = std::min<int64_t>(config.train.initialise.steps, 5);
    ASSERT_TRUE(Trainer(config, portraits(300), whole, torch::kCPU, false, {}).run());
    TrainingCallbacks callbacks;
    callbacks.stop = [left = 28]() mutable { return left-- == 0; };
    ASSERT_FALSE(Trainer(config, portraits(300), stopped, torch::kCPU, false, callbacks).run());
    ASSERT_TRUE(Trainer(config, portraits(300), stopped, torch::kCPU, true, {}).run());
    EXPECT_EQ(read_text(whole.model(), "test"), read_text(stopped.model(), "test")) << prior;
  }
}

TEST(BaselinePriors, InvalidConfigsAreRefusedBeforeAnythingIsWritten) {
  const TemporaryFolder folder;
  const auto start = [&](const Config& config) {
    return message_of(
        [&] { Trainer(config, portraits(300), {folder.path() / "no"}, torch::kCPU, false, {}); });
  };
  EXPECT_NE(start(comparison_config("normal", 3)).find("one component"), std::string::npos);
  Config phase = comparison_config("vamp", 3);
  phase.train.initialise.steps = 10;
  EXPECT_NE(start(phase).find("train.initialise.steps at 0"), std::string::npos);
  EXPECT_NE(start(comparison_config("vamp", 500)).find("500 components and 240 images"),
            std::string::npos);
  Config two = comparison_config("vamp", 3);
  two.model.factors.push_back({"other", 3, 4});
  EXPECT_NE(start(two).find("a single one"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "no")) << "nothing is written";
}

}  // namespace
}  // namespace facet
