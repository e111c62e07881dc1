#include "facet/train/trainer.h"

#include <functional>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/model/model_file.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"
#include "tests/train/runs.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

/// 160 training portraits of 16x16, two small convolutions, two factors of 3 components in 2
/// dimensions: a few milliseconds per step.
Config tiny_config(int64_t pretrain, int64_t initialise, int64_t joint) {
  Config config;
  config.data.portraits.count = 200;
  config.data.portraits.size = 16;
  config.model.likelihood.kind = "gaussian";
  config.model.likelihood.minimum_stddev = 0.05;
  config.model.network = {"custom", {8, 8}, {2, 2}, 3};
  config.model.factors = {{"first", 3, 2}, {"second", 3, 2}};
  TrainOptions& train = config.train;
  train.batch_size = 16;
  train.pretrain.steps = pretrain;
  train.pretrain.kl_weight.steps = 20;
  train.initialise.steps = initialise;
  train.joint.steps = joint;
  train.learning_rate = {3e-3, 3e-4, 0, "cosine"};
  train.log_every = 10;
  train.evaluate_every = 25;
  train.checkpoint_every = 30;
  return config;
}

std::vector<Json> metrics_of(const RunFolder& folder) {
  std::istringstream text(read_text(folder.metrics(), "test"));
  std::vector<Json> records;
  for (std::string line; std::getline(text, line);) records.push_back(Json::parse(line));
  return records;
}

/// Stops after `steps` more steps.
std::function<bool()> stop_after(int64_t steps) {
  return [left = steps]() mutable { return left-- == 0; };
}

bool train(const Config& config, const RunFolder& folder, bool resume,
           std::function<bool()> stop = {}) {
  TrainingCallbacks callbacks;
  callbacks.stop = std::move(stop);
  return Trainer(config, portraits(200), folder, torch::kCPU, resume, callbacks).run();
}

class TrainerTest : public testing::Test {
 protected:
  RunFolder folder(const std::string& name) { return RunFolder::create(folder_ / name); }

  TemporaryFolder folder_;
};

TEST_F(TrainerTest, MetricsHaveThePhasesInOrderWithAllTheirKeys) {
  const RunFolder run = folder("run");
  ASSERT_TRUE(train(tiny_config(20, 30, 50), run, false));
  std::vector<std::string> steps;
  for (const Json& record : metrics_of(run)) {
    const std::string phase = record["phase"];
    const bool valid = record.contains("valid");
    steps.push_back(phase + (valid ? " valid " : " ") + record["step"].dump());
    if (valid) {
      EXPECT_EQ(record["valid"]["split"], "valid");
      EXPECT_EQ(record["valid"]["count"], 20);
      EXPECT_TRUE(record["valid"]["elbo"].is_number());
      continue;
    }
    std::vector<const char*> keys = {"kl_z", "kl_r"};
    if (phase != "initialise")
      keys.insert(keys.end(),
                  {"elbo", "reconstruction", "kl_weight", "learning_rate", "gradient_norm"});
    if (phase != "pretrain") keys.insert(keys.end(), {"step_size", "hyperprior"});
    for (const char* key : keys) EXPECT_TRUE(record[key].is_number()) << key << " in " << record;
    if (phase == "pretrain") continue;
    ASSERT_EQ(record["factors"].size(), 2u);
    EXPECT_EQ(record["factors"][1]["name"], "second");
    for (const char* key : {"living", "perplexity", "kl_z", "kl_r"})
      EXPECT_TRUE(record["factors"][0][key].is_number()) << key;
  }
  EXPECT_EQ(steps, (std::vector<std::string>{"pretrain 10", "pretrain 20", "initialise 10",
                                             "initialise 20", "initialise 30", "joint 10",
                                             "joint 20", "joint 25", "joint valid 25", "joint 30",
                                             "joint 40", "joint 50", "joint valid 50"}));
}

TEST_F(TrainerTest, TermsOfAMetricsLineAddUp) {
  const RunFolder run = folder("run");
  train(tiny_config(10, 10, 10), run, false);
  for (const Json& record : metrics_of(run)) {
    if (!record.contains("elbo")) continue;
    const double sum = record["reconstruction"].get<double>() - record["kl_z"].get<double>() -
                       record["kl_r"].get<double>();
    EXPECT_NEAR(record["elbo"].get<double>(), sum, 1e-9 * std::abs(sum));
  }
}

TEST_F(TrainerTest, TheBoundImproves) {
  const RunFolder run = folder("run");
  ASSERT_TRUE(train(tiny_config(75, 10, 75), run, false));
  std::vector<double> bounds;
  for (const Json& record : metrics_of(run))
    if (record.contains("elbo")) bounds.push_back(record["elbo"]);
  ASSERT_GE(bounds.size(), 16u);
  EXPECT_GT(bounds.back(), bounds.front() + 0.3 * std::abs(bounds.front()));
  EXPECT_GT(bounds.back(), bounds[7]) << "also in the joint phase";
}

TEST_F(TrainerTest, AStoppedAndResumedRunIsTheSameAsAnUninterruptedOne) {
  Config config = tiny_config(40, 20, 40);
  config.train.hyperprior_every = 5;
  config.train.joint.refit_every = 8;
  config.train.average_decay = 0.9;
  const RunFolder straight = folder("straight"), stopped = folder("stopped");
  ASSERT_TRUE(train(config, straight, false));
  // In pre-training, before the components are initialised, in phase 2, and in the joint phase.
  EXPECT_FALSE(train(config, stopped, false, stop_after(13)));
  EXPECT_FALSE(train(config, stopped, true, stop_after(27)));
  EXPECT_FALSE(train(config, stopped, true, stop_after(7)));
  EXPECT_FALSE(train(config, stopped, true, stop_after(13 + 17)));
  EXPECT_TRUE(train(config, stopped, true));
  expect_same_file(straight.metrics(), stopped.metrics());
  expect_same_file(straight.state(), stopped.state());
  expect_same_file(straight.model(), stopped.model());
  expect_same_file(straight.config(), stopped.config());
}

TEST_F(TrainerTest, ARunIsNotResumedWithOtherData) {
  const Config config = tiny_config(10, 5, 10);
  const RunFolder run = folder("run");
  train(config, run, false, stop_after(3));
  Pack other = portraits(200);
  torch::Tensor changed = other.images.all().clone();
  changed[7][0][3][3] += 1;
  other.images = changed;
  const std::string message =
      message_of([&] { Trainer(config, other, run, torch::kCPU, true, {}); });
  EXPECT_NE(message.find("the data that it was begun with"), std::string::npos) << message;
  EXPECT_NE(message.find(fingerprint(portraits(200))), std::string::npos) << message;
}

TEST_F(TrainerTest, ExactUpdatesAndLearnedHyperpriorsChangeTheRun) {
  Config config = tiny_config(10, 0, 20);
  config.train.hyperprior_every = 0;
  config.train.joint.refit_every = 0;
  const auto posterior = [&](const std::string& name) {
    Trainer trainer(config, portraits(200), folder(name), torch::kCPU, false, {});
    trainer.run();
    const FactorHyperprior& learned = trainer.model().prior.hyperpriors[0];
    return std::pair{trainer.model().prior.posteriors[0].counts.clone(),
                     learned.components.s.clone()};
  };
  const auto [plain, fixed] = posterior("plain");
  EXPECT_TRUE(torch::equal(fixed, torch::ones_like(fixed)));
  config.train.hyperprior_every = 5;
  const auto [learned_counts, learned] = posterior("learned");
  EXPECT_FALSE(torch::equal(learned, fixed));
  EXPECT_FALSE(torch::equal(learned_counts, plain));
  config.train.hyperprior_every = 0;
  config.train.joint.refit_every = 10;
  const auto [refitted, still_fixed] = posterior("refitted");
  EXPECT_TRUE(torch::equal(still_fixed, fixed));
  EXPECT_FALSE(torch::equal(refitted, plain));
  // The last update is exact: every image is counted once.
  EXPECT_NEAR(refitted.sum().item<double>(), 160 + 3 * config.model.hyperprior.c0, 1e-6);
}

TEST_F(TrainerTest, ResumingAFinishedRunChangesNothing) {
  const Config config = tiny_config(10, 5, 10);
  const RunFolder run = folder("run");
  train(config, run, false);
  const std::string metrics = read_text(run.metrics(), "test"),
                    state = read_text(run.state(), "test"), model = read_text(run.model(), "test");
  EXPECT_TRUE(train(config, run, true));
  EXPECT_TRUE(read_text(run.model(), "test") == model);
  EXPECT_EQ(read_text(run.metrics(), "test"), metrics);
  EXPECT_TRUE(read_text(run.state(), "test") == state);
}

TEST_F(TrainerTest, TheSameSeedGivesTheSameRunAndAnotherSeedAnother) {
  Config config = tiny_config(10, 5, 10);
  const RunFolder one = folder("one"), again = folder("again"), other = folder("other");
  train(config, one, false);
  train(config, again, false);
  config.seed = 2;
  train(config, other, false);
  expect_same_file(one.metrics(), again.metrics());
  expect_same_file(one.model(), again.model());
  EXPECT_NE(read_text(one.metrics(), "test"), read_text(other.metrics(), "test"));
}

TEST_F(TrainerTest, ARunThatEndedBeforeItsFirstCheckpointCanBeResumed) {
  const Config config = tiny_config(10, 5, 10);
  const RunFolder straight = folder("straight"), killed = folder("killed");
  train(config, straight, false);
  Trainer(config, portraits(200), killed, torch::kCPU, false, {}).pretrain_step();
  EXPECT_TRUE(train(config, killed, true));
  expect_same_file(straight.metrics(), killed.metrics());
  expect_same_file(straight.state(), killed.state());
}

TEST_F(TrainerTest, LinesLoggedAfterTheLastCheckpointAreWrittenAgain) {
  const Config config = tiny_config(40, 5, 10);
  const RunFolder straight = folder("straight"), killed = folder("killed");
  train(config, straight, false);
  train(config, killed, false, stop_after(20));
  // As after a killed run: lines of steps after the checkpoint, the last one incomplete.
  write_text(killed.metrics(),
             read_text(killed.metrics(), "test") +
                 "{\"phase\":\"pretrain\",\"step\":30}\n{\"phase\":\"pretr",
             "test");
  EXPECT_TRUE(train(config, killed, true));
  expect_same_file(straight.metrics(), killed.metrics());
}

TEST_F(TrainerTest, MetricsShorterThanTheCheckpointAreAnError) {
  const Config config = tiny_config(40, 5, 10);
  const RunFolder run = folder("run");
  train(config, run, false, stop_after(35));  // a checkpoint at 30 and one at 35
  write_text(run.metrics(), "", "test");
  EXPECT_THROW(train(config, run, true), Error);
}

TEST_F(TrainerTest, ANanStopsTheRunNamesATensorAndKeepsTheLastCheckpoint) {
  Config config = tiny_config(40, 5, 10);
  const RunFolder run = folder("run");
  ASSERT_FALSE(train(config, run, false, stop_after(15)));
  const std::string state = read_text(run.state(), "test"), model = read_text(run.model(), "test");
  config.train.learning_rate = {1e30, 1e30, 0, "linear"};
  const std::string found = message_of([&] { train(config, run, true); });
  EXPECT_NE(found.find("NaN or infinity in"), std::string::npos) << found;
  EXPECT_TRUE(found.find("encoder") != std::string::npos ||
              found.find("decoder") != std::string::npos ||
              found.find("reconstruction") != std::string::npos)
      << found;
  EXPECT_NE(found.find("pretrain"), std::string::npos) << found;
  EXPECT_NE(found.find("at step 15"), std::string::npos) << found;
  EXPECT_TRUE(read_text(run.state(), "test") == state);
  EXPECT_TRUE(read_text(run.model(), "test") == model);
  EXPECT_NO_THROW(read_model(run.model()));
  for (const auto& [name, tensor] : read_safetensors(run.state(), "test").tensors)
    EXPECT_TRUE(torch::isfinite(tensor).all().item<bool>()) << name;
}

TEST_F(TrainerTest, AStateThatIsNotFiniteIsNeverSaved) {
  Config config = tiny_config(40, 5, 10);
  config.train.learning_rate = {1e-3, 1e37, 3, "linear"};  // the second step reaches infinity
  config.train.checkpoint_every = 1;
  const RunFolder run = folder("run");
  EXPECT_THROW(train(config, run, false), Error);
  ASSERT_TRUE(fs::exists(run.state()));
  for (const auto& [name, tensor] : read_safetensors(run.state(), "test").tensors)
    EXPECT_TRUE(torch::isfinite(tensor).all().item<bool>()) << name;
}

TEST_F(TrainerTest, AStateWithANanIsNotResumed) {
  const Config config = tiny_config(40, 5, 10);
  const RunFolder run = folder("run");
  train(config, run, false, stop_after(15));
  fs::remove(run.previous_state());
  TensorFile state = read_safetensors(run.state(), "test");
  torch::Tensor& weight = state.tensors.at("network.encoder.head.bias");
  weight = weight.clone();
  weight[0] = NAN;
  write_safetensors(run.state(), state, "test");
  EXPECT_THROW(train(config, run, true), Error);
}

TEST_F(TrainerTest, AFullNaturalGradientStepGivesTheConjugatePosteriorOfTheBatch) {
  Config config = tiny_config(10, 5, 10);
  config.train.batch_size = 160;  // all images
  config.train.learning_rate = {0, 0, 0, "linear"};
  config.train.step_size = {"scaled", 1.0, 1, 0.0};  // rho = 1
  Trainer trainer(config, portraits(200), folder("run"), torch::kCPU, false, {});
  trainer.place_components();
  Vae& model = trainer.model();
  const std::vector<FactorPosterior> before = model.prior.posteriors;
  std::vector<FactorPosterior> expected;
  {
    torch::NoGradGuard no_gradient;
    const Encoding encoding =
        model.encode(model.likelihood().from_pixels(portraits(200).images.slice(0, 160)));
    const auto blocks = model.prior.split(encoding.mean, encoding.variance());
    for (size_t i = 0; i < blocks.size(); ++i)
      expected.push_back(
          conjugate_posterior(statistics(blocks[i], e_step(blocks[i], before[i], {})), 1.0,
                              model.prior.hyperpriors[i]));
  }
  trainer.joint_step();
  for (size_t i = 0; i < expected.size(); ++i) {
    const FactorPosterior& posterior = model.prior.posteriors[i];
    // The batch is in another order, and the networks are float32.
    EXPECT_TRUE(torch::allclose(posterior.counts, expected[i].counts, 1e-4, 1e-4));
    EXPECT_TRUE(torch::allclose(posterior.mean().m, expected[i].mean().m, 1e-4, 1e-4));
    EXPECT_TRUE(torch::allclose(posterior.mean().b, expected[i].mean().b, 1e-4, 1e-4));
    EXPECT_NEAR(posterior.counts.sum().item<double>(), 160 + 3 * config.model.hyperprior.c0, 1e-6);
  }
}

TEST_F(TrainerTest, AFolderWithARunIsRefused) {
  train(tiny_config(5, 0, 0), folder("run"), false);
  EXPECT_THROW(RunFolder::create(folder_ / "run"), Error);
  EXPECT_NO_THROW(RunFolder::open(folder_ / "run"));
  EXPECT_THROW(RunFolder::open(folder_ / "absent"), Error);
  write_text(folder_ / "file", "", "test");
  EXPECT_THROW(RunFolder::create(folder_ / "file"), Error);
}

/// The dotted keys of all values; elements of lists of groups are under "N".
void collect_keys(const Json& json, const std::string& key, std::set<std::string>& keys) {
  if (json.is_object()) {
    for (const auto& [name, value] : json.items())
      collect_keys(value, key.empty() ? name : key + "." + name, keys);
  } else if (json.is_array() && !json.empty() && json[0].is_object()) {
    for (const Json& element : json) collect_keys(element, key + ".N", keys);
  } else {
    keys.insert(key);
  }
}

TEST(ConfigTest, EverySavedOptionIsDescribed) {
  std::set<std::string> written, described;
  collect_keys(write_options(Config{}), "", written);
  for (const OptionDescription& line : describe_options<Config>())
    if (line.type.find("group") == std::string::npos) described.insert(line.key);
  EXPECT_EQ(described, written);
}

TEST(ConfigTest, ASavedConfigReadsBackUnchanged) {
  TemporaryFolder folder;
  const Config config = tiny_config(12, 34, 56);
  write_text(folder / "config.json", write_options(config).dump(2), "test");
  EXPECT_EQ(first_difference(read_config(folder / "config.json"), config), "");
  const Config changed = read_config(
      folder / "config.json", {"train.joint.steps=57", "model.factors.1.name=other", "seed=9"});
  EXPECT_EQ(changed.train.joint.steps, 57);
  EXPECT_EQ(changed.model.factors[1].name, "other");
  EXPECT_EQ(changed.seed, 9);
}

TEST(ConfigTest, DifferencesNameTheOption) {
  const Config config = tiny_config(12, 34, 56);
  Config other = config;
  other.train.adam.beta1 = 0.5;
  EXPECT_EQ(first_difference(config, other), "train.adam.beta1: 0.9, 0.5");
  other = config;
  other.model.factors.push_back({"third", 3, 2});
  EXPECT_NE(first_difference(config, other).find("model.factors"), std::string::npos);
  EXPECT_NE(first_difference(config, other).find("third"), std::string::npos)
      << first_difference(config, other);
}

}  // namespace
}  // namespace facet
