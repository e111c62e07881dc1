// Runs that are made longer, that end early, and that keep their best model.
#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/train/best_bound.h"
#include "facet/train/trainer.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

Config tiny_config(int64_t joint) {
  Config config;
  config.data.portraits = {200, 16, 1};
  config.model.likelihood.kind = "gaussian";
  config.model.likelihood.minimum_stddev = 0.05;
  config.model.network = {"custom", {8, 8}, {2, 2}, 3};
  config.model.factors = {{"first", 3, 2}, {"second", 3, 2}};
  config.train.batch_size = 16;
  config.train.pretrain.steps = 10;
  config.train.joint.steps = joint;
  config.train.learning_rate = {1e-3, 1e-3, 0, "linear"};
  config.train.log_every = 10;
  config.train.evaluate_every = 10;
  return config;
}

struct Ended {
  std::vector<std::string> notices;
  Progress progress;
};
Ended train_to_end(const Config& config, const RunFolder& folder, bool resume) {
  static const Pack pack = make_portraits(config.data.portraits);
  Ended ended;
  TrainingCallbacks callbacks;
  callbacks.notice = [&](const std::string& sentence) { ended.notices.push_back(sentence); };
  Trainer trainer(config, pack, folder, torch::kCPU, resume, callbacks);
  EXPECT_TRUE(trainer.run());
  ended.progress = trainer.progress();
  return ended;
}

std::string bytes(const std::filesystem::path& path) { return read_text(path, "test"); }

TEST(LongerRun, IsTheRunThatWasPlannedLongerFromTheStart) {
  // With a constant learning rate, nothing else depends on the length of the phase.
  TemporaryFolder folder;
  const RunFolder longer{folder / "longer"}, straight{folder / "straight"};
  train_to_end(tiny_config(20), longer, false);
  write_text(longer.evaluation(), "{}", "test");
  const Ended ended = train_to_end(extended(tiny_config(20), tiny_config(30)), longer, true);
  ASSERT_FALSE(ended.notices.empty());
  EXPECT_NE(ended.notices.front().find("30 steps now, not 20"), std::string::npos);
  EXPECT_EQ(ended.progress.step, 30);
  EXPECT_FALSE(std::filesystem::exists(longer.evaluation())) << "it was that of the shorter run";
  train_to_end(tiny_config(30), straight, false);
  EXPECT_TRUE(bytes(longer.state()) == bytes(straight.state()));
  EXPECT_TRUE(bytes(longer.model()) == bytes(straight.model()));
  EXPECT_EQ(bytes(longer.metrics()), bytes(straight.metrics()));
  EXPECT_EQ(bytes(longer.config()), bytes(straight.config()));
}

TEST(LongerRun, CannotBeShorterThanItIs) {
  TemporaryFolder folder;
  const RunFolder run{folder / "run"};
  Config config = tiny_config(40);
  int calls = 0;
  TrainingCallbacks callbacks;
  callbacks.stop = [&] { return ++calls == 40; };
  const Pack pack = make_portraits(config.data.portraits);
  ASSERT_FALSE(Trainer(config, pack, run, torch::kCPU, false, callbacks).run());
  config.train.joint.steps = 5;
  const std::string message = message_of([&] { train_to_end(config, run, true); });
  EXPECT_NE(message.find("at most train.joint.steps = 5"), std::string::npos) << message;
}

TEST(BestModel, IsTheLastOneThatImprovedTheBoundOnValidImages) {
  TemporaryFolder folder;
  const RunFolder run{folder / "run"};
  Config config = tiny_config(20);
  train_to_end(config, run, false);
  EXPECT_TRUE(std::filesystem::exists(run.best()));
  const BestBound best(run.metrics());
  EXPECT_TRUE(best.step() == 10 || best.step() == 20);
  config.train.keep_best = false;
  const RunFolder without{folder / "without"};
  train_to_end(config, without, false);
  EXPECT_FALSE(std::filesystem::exists(without.best()));
}

TEST(Patience, EndsAPhaseThatDoesNotImprove) {
  TemporaryFolder folder;
  Config config = tiny_config(400);
  config.train.learning_rate = {0.0, 0.0, 0, "linear"};  // the networks never improve
  config.train.hyperprior_every = 0;
  config.train.joint.freeze_prior_steps = 400;
  config.train.patience = 3;
  const RunFolder run{folder / "run"};
  const Ended ended = train_to_end(config, run, false);
  EXPECT_EQ(ended.progress.step, 40) << "the first evaluation is the best, and three follow";
  EXPECT_EQ(ended.progress.phase, Phase::done);
  EXPECT_NE(ended.notices.back().find("3 evaluations without a better bound"), std::string::npos);
}

TEST(BestBound, CountsEvaluationsSinceTheBest) {
  BestBound best;
  EXPECT_TRUE(best.add(-10, 100));
  EXPECT_FALSE(best.add(-11, 200));
  EXPECT_FALSE(best.add(-10, 300)) << "as good is not better";
  EXPECT_EQ(best.evaluations_since(), 2);
  EXPECT_EQ(best.step(), 100);
  EXPECT_TRUE(best.add(-9, 400));
  EXPECT_EQ(best.evaluations_since(), 0);
  EXPECT_EQ(best.value(), -9);
}

TEST(Overfitting, IsRemarkedOn) {
  TemporaryFolder folder;
  Config config = tiny_config(300);
  config.data.portraits = {60, 16, 1};  // 48 images to learn by heart
  config.model.network = {"custom", {16, 16}, {2, 2}, 3};
  config.train.learning_rate = {1e-2, 1e-2, 0, "linear"};
  config.train.evaluate_every = 300;
  const Pack pack = make_portraits(config.data.portraits);
  Trainer trainer(config, pack, {folder / "run"}, torch::kCPU, false, {});
  EXPECT_FALSE(trainer.overfitting()) << "before any evaluation";
  ASSERT_TRUE(trainer.run());
  ASSERT_TRUE(trainer.overfitting());
  EXPECT_EQ(trainer.overfitting()->rfind("overfitting: the bound is ", 0), 0u);
}

}  // namespace
}  // namespace facet
