// Sweeps: plans from --vary, and parallel runs that are the same as runs trained one by one.
#include "facet/train/sweep.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

Config tiny_config() {
  Config config;
  config.data.portraits.count = 100;
  config.data.portraits.size = 16;
  config.model.likelihood.kind = "gaussian";
  config.model.likelihood.minimum_stddev = 0.05;
  config.model.network = {"custom", {8, 8}, {2, 2}, 3};
  config.model.factors = {{"first", 3, 2}, {"second", 3, 2}};
  config.train.batch_size = 16;
  config.train.pretrain.steps = 20;
  config.train.initialise.steps = 10;
  config.train.joint.steps = 20;
  config.train.log_every = 5;
  return config;
}

SweepPlan plan_of(const std::vector<std::string>& texts) {
  std::vector<Variation> variations;
  for (const std::string& text : texts) variations.push_back(parse_variation(text));
  return plan_sweep(tiny_config(), variations, "config.json");
}

std::string refusal(const std::vector<std::string>& texts) {
  return message_of([&] { plan_of(texts); });
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\n  has no " << part;
}

TEST(SweepPlan, IsTheProductOfAllValuesWithTheLastChangingFastest) {
  const SweepPlan plan = plan_of({"model.factors.0.components=2,4", "seed=1,2,3"});
  ASSERT_EQ(plan.runs.size(), 6u);
  EXPECT_EQ(plan.runs[0].name, "components-2_seed-1");
  EXPECT_EQ(plan.runs[1].name, "components-2_seed-2");
  EXPECT_EQ(plan.runs[5].name, "components-4_seed-3");
  EXPECT_EQ(plan.runs[5].config.model.factors[0].components, 4);
  EXPECT_EQ(plan.runs[5].config.model.factors[1].components, 3) << "other factors keep theirs";
  EXPECT_EQ(plan.runs[5].config.seed, 3);
}

TEST(SweepPlan, ValuesAreJsonOrTextAndListsKeepTheirCommas) {
  const Variation lists = parse_variation("model.network.channels=[8,8],[16,16]");
  EXPECT_EQ(lists.values, (std::vector<Json>{Json({8, 8}), Json({16, 16})}));
  const Variation texts = parse_variation("data.binarize=none,fixed");
  EXPECT_EQ(texts.values, (std::vector<Json>{"none", "fixed"}));
  EXPECT_EQ(parse_variation(R"(x="a,b",c)").values, (std::vector<Json>{"a,b", "c"}));
  const SweepPlan plan = plan_of({"model.network.channels=[8,8],[16,16]"});
  EXPECT_EQ(plan.runs[1].name, "channels-16_16");
  EXPECT_EQ(plan.runs[1].config.model.network.channels, (std::vector<int64_t>{16, 16}));
}

TEST(SweepPlan, KeysWithTheSameEndingAreNamedInFull) {
  const SweepPlan plan =
      plan_of({"model.factors.0.components=2,3", "model.factors.1.components=4"});
  EXPECT_EQ(plan.runs[0].name, "model.factors.0.components-2_model.factors.1.components-4");
}

TEST(SweepPlan, RefusesInvalidVariations) {
  expect_part(refusal({}), "nothing to vary");
  expect_part(refusal({"seed"}), "no key before a '='");
  expect_part(refusal({"seed="}), "no values");
  expect_part(refusal({"seed=1,,2"}), "an empty value");
  expect_part(refusal({"sead=1,2"}), "did you mean 'seed'?");
  expect_part(refusal({"model.factors.0.component=1,2"}), "did you mean 'components'?");
  expect_part(refusal({"seed=1,two"}), "a whole number");
  expect_part(refusal({"seed=1,2,1"}), "the same value twice, 1");
  expect_part(refusal({"train.learning_rate.start=1e-3,0.001"}), "the same value twice");
  expect_part(refusal({"seed=1,2", "seed=3"}), "the same key twice");
}

TEST(SweepPlan, SurvivesWritingAndReading) {
  const SweepPlan plan = plan_of({"seed=1,2", "data.binarize=none,fixed"});
  const SweepPlan read = plan_of_json(Json::parse(to_json(plan).dump()), "sweep.json");
  ASSERT_EQ(read.runs.size(), plan.runs.size());
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    EXPECT_EQ(read.runs[i].name, plan.runs[i].name);
    EXPECT_EQ(first_difference(read.runs[i].config, plan.runs[i].config), "");
  }
  EXPECT_THROW(plan_of_json(Json::object(), "sweep.json"), Error);
}

TEST(SweepPlan, TheFirstDifferenceOfVariationsIsNamed) {
  const auto difference = [](const std::vector<std::string>& one,
                             const std::vector<std::string>& other) {
    return first_difference(plan_of(one).variations, plan_of(other).variations);
  };
  EXPECT_EQ(difference({"seed=1,2"}, {"seed=1,2"}), "");
  EXPECT_EQ(difference({"seed=1,2"}, {"seed=2,1"}), "seed: [1,2], [2,1]");
  EXPECT_EQ(difference({"seed=1"}, {"train.batch_size=1"}), "seed, train.batch_size");
  EXPECT_EQ(difference({"seed=1", "train.batch_size=8"}, {"seed=1"}),
            "train.batch_size: [8], nothing");
}

TEST(SweepPlan, SeedsAreRecognised) {
  EXPECT_TRUE(parse_variation("seed=1").is_seed());
  EXPECT_TRUE(parse_variation("data.label_seed=1").is_seed());
  EXPECT_FALSE(parse_variation("train.joint.steps=1").is_seed());
}

/// Callbacks that write a fixed evaluation instead of evaluating.
SweepCallbacks quiet_callbacks(std::function<bool()> stop = {}) {
  SweepCallbacks callbacks;
  callbacks.training = [stop](size_t) {
    TrainingCallbacks training;
    training.stop = stop;
    return training;
  };
  callbacks.finish = [](Trainer&, const Pack&, const SweepRun&, const RunFolder& folder) {
    write_text(folder.evaluation(), R"({"elbo": -1})", "test");
  };
  callbacks.started = [](size_t) {};
  callbacks.ended = [](size_t, const RunOutcome&) {};
  return callbacks;
}

std::vector<RunOutcome> sweep(const SweepPlan& plan, const fs::path& folder, size_t jobs,
                              const SweepCallbacks& callbacks) {
  std::vector<RunOutcome> outcomes(plan.runs.size());
  for (size_t i = 0; i < outcomes.size(); ++i)
    if (is_finished({folder / plan.runs[i].name})) outcomes[i].state = RunState::finished;
  const SharedPacks packs(plan);
  run_sweep(plan, packs, {folder, torch::kCPU, jobs}, callbacks, outcomes);
  return outcomes;
}

void expect_same_run(const RunFolder& one, const RunFolder& other) {
  for (const auto& [first, second] :
       {std::pair{one.metrics(), other.metrics()}, std::pair{one.model(), other.model()},
        std::pair{one.state(), other.state()}, std::pair{one.config(), other.config()}})
    EXPECT_TRUE(read_text(first, "test") == read_text(second, "test"))
        << first << " and " << second << " differ";
}

class SweepTest : public testing::Test {
 protected:
  void SetUp() override {
    threads_ = torch::get_num_threads();
    torch::set_num_threads(1);  // results are the same only with the same number of threads
  }
  void TearDown() override { torch::set_num_threads(threads_); }

  TemporaryFolder folder_;
  int threads_ = 1;
};

TEST_F(SweepTest, ParallelRunsAreTheSameAsRunsTrainedAlone) {
  const SweepPlan plan = plan_of({"model.factors.0.components=2,3", "seed=1,2"});
  for (const RunOutcome& outcome : sweep(plan, folder_ / "sweep", 3, quiet_callbacks())) {
    EXPECT_EQ(outcome.state, RunState::finished) << outcome.failure;
    EXPECT_GT(outcome.seconds, 0);
    EXPECT_EQ(outcome.evaluation["elbo"], -1);
  }
  for (const SweepRun& run : plan.runs) {
    const RunFolder alone{folder_ / "alone" / run.name};
    const Pack pack = load_data(run.config.data);
    ASSERT_TRUE(Trainer(run.config, pack, alone, torch::kCPU, false, {}).run());
    expect_same_run(alone, {folder_ / "sweep" / run.name});
  }
}

TEST_F(SweepTest, AStoppedSweepContinues) {
  const SweepPlan plan = plan_of({"seed=1,2"});
  sweep(plan, folder_ / "straight", 1, quiet_callbacks());
  std::atomic<int> left{70};  // in the second run: a run has 50 steps
  const auto stopped =
      sweep(plan, folder_ / "stopped", 1, quiet_callbacks([&] { return left-- <= 0; }));
  EXPECT_EQ(stopped[0].state, RunState::finished);
  EXPECT_EQ(stopped[1].state, RunState::stopped);
  const fs::path first = folder_ / "stopped" / plan.runs[0].name / "model.safetensors";
  const auto written = fs::last_write_time(first);
  require_same_configs(plan, folder_ / "stopped");
  for (const RunOutcome& outcome : sweep(plan, folder_ / "stopped", 1, quiet_callbacks()))
    EXPECT_EQ(outcome.state, RunState::finished);
  EXPECT_EQ(fs::last_write_time(first), written) << "a finished run is not trained again";
  for (const SweepRun& run : plan.runs)
    expect_same_run({folder_ / "straight" / run.name}, {folder_ / "stopped" / run.name});
}

TEST_F(SweepTest, OtherRunsContinueAfterAFailure) {
  const SweepPlan plan = plan_of({"train.learning_rate.start=1e30,1e-3"});
  const auto outcomes = sweep(plan, folder_ / "sweep", 1, quiet_callbacks());
  EXPECT_EQ(outcomes[0].state, RunState::failed);
  expect_part(outcomes[0].failure, "NaN or infinity");
  EXPECT_THROW(std::rethrow_exception(outcomes[0].error), Error);
  EXPECT_EQ(outcomes[1].state, RunState::finished) << outcomes[1].failure;
}

TEST_F(SweepTest, ARunFolderWithAnotherConfigIsRefused) {
  sweep(plan_of({"seed=1"}), folder_ / "sweep", 1, quiet_callbacks());
  Config other = tiny_config();
  other.train.joint.steps = 21;
  const SweepPlan changed = plan_sweep(other, {parse_variation("seed=1")}, "config");
  expect_part(message_of([&] { require_same_configs(changed, folder_ / "sweep"); }),
              "train.joint.steps: 20, 21");
}

TEST_F(SweepTest, TheClaimOfAFinishedRunIsRemovedWhenItsOwnerHasDied) {
  const SweepPlan plan = plan_of({"seed=1"});
  sweep(plan, folder_.path(), 1, quiet_callbacks());
  const fs::path left = folder_ / "seed-1.claim-4", alive = folder_ / "seed-2.claim-1";
  for (const fs::path& claim : {left, alive})
    write_text(claim, R"({"host": "node7", "process": 5})", "test");
  fs::last_write_time(left, fs::last_write_time(left) - std::chrono::minutes(3));
  sweep(plan, folder_.path(), 1, quiet_callbacks());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(alive));
}

TEST_F(SweepTest, ARunThatAnotherProcessHasTakenOverIsLeftAsItIs) {
  const SweepPlan plan = plan_of({"seed=1"});
  const RunFolder run{folder_ / "seed-1"};
  std::unique_ptr<Claim> other;
  std::string state;
  int steps = 0;
  const SweepCallbacks callbacks = quiet_callbacks([&] {
    if (++steps == 10) {  // this process has been away for too long, as far as others see
      const fs::path claim = folder_ / "seed-1.claim-1";
      fs::last_write_time(claim, fs::last_write_time(claim) - std::chrono::minutes(3));
      other = Claim::take(run.path);
      state = read_text(run.state(), "test");
    }
    if (steps > 10) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return false;
  });
  std::vector<RunOutcome> outcomes(1);
  const SharedPacks packs(plan);
  run_sweep(plan, packs, {folder_.path(), torch::kCPU, 1, {}, std::chrono::milliseconds(500)},
            callbacks, outcomes);
  ASSERT_TRUE(other);
  EXPECT_EQ(outcomes[0].state, RunState::stopped);
  EXPECT_FALSE(other->lost());
  EXPECT_TRUE(state == read_text(run.state(), "test")) << "it has saved over the other's state";
}

TEST_F(SweepTest, AnErrorOutsideTheRunsEndsTheSweep) {
  SweepCallbacks callbacks = quiet_callbacks();
  callbacks.ended = [](size_t, const RunOutcome&) { throw std::runtime_error("disk full"); };
  EXPECT_THROW(sweep(plan_of({"seed=1,2"}), folder_ / "sweep", 1, callbacks), std::runtime_error);
  EXPECT_FALSE(fs::exists(folder_ / "sweep" / "seed-2"));
}

}  // namespace
}  // namespace facet
