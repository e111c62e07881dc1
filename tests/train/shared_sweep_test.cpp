// Which runs of a sweep a process takes: its shard, and what other processes leave to it.
#include <atomic>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <thread>

#include <gtest/gtest.h>

#include "facet/core/claim.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/train/run_queue.h"
#include "facet/train/shard.h"
#include "tests/contains.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

TEST(Shard, AllShardsTogetherHaveEveryRunOnce) {
  for (const size_t count : {1, 2, 3, 5, 20}) {
    std::vector<int> times(13);
    for (size_t number = 1; number <= count; ++number) {
      const Shard shard = parse_shard(fmt::format("{}/{}", number, count));
      for (size_t run = 0; run < times.size(); ++run) times[run] += shard.has(run) ? 1 : 0;
    }
    EXPECT_EQ(times, std::vector<int>(13, 1)) << count << " shards";
  }
  const Shard second = parse_shard("2/3");
  EXPECT_TRUE(second.has(1) && second.has(4) && !second.has(0) && !second.has(2));
}

TEST(Shard, WhatIsNoShardIsSaidInOneSentence) {
  const auto refusal = [](const std::string& text) {
    return message_of([&] { parse_shard(text); });
  };
  EXPECT_TRUE(contains(refusal("5/4"), "shard 5 of 4, expected one from 1 to 4"));
  EXPECT_TRUE(contains(refusal("0/4"), "shard 0 of 4"));
  EXPECT_TRUE(contains(refusal("1/0"), "no shards at all"));
  for (const char* text :
       {"", "3", "/", "1/", "/3", "a/b", "1/2/3", "-1/3", "1 / 3", "1/99999999999999999999"})
    EXPECT_TRUE(contains(refusal(text), "no two numbers, expected i/n")) << text;
}

/// Variables of the environment for the time of a test.
struct Environment {
  explicit Environment(std::map<std::string, std::string> values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : values_) unsetenv(name.c_str());
  }
  std::map<std::string, std::string> values_;
};

TEST(Shard, SlurmArraysAreReadFromTheEnvironment) {
  const auto shard = [](const char* id, const char* least, const char* count) {
    const Environment slurm({{"SLURM_ARRAY_TASK_ID", id},
                             {"SLURM_ARRAY_TASK_MIN", least},
                             {"SLURM_ARRAY_TASK_COUNT", count}});
    return parse_shard("slurm");
  };
  EXPECT_EQ(shard("0", "0", "8").index, 0u);
  EXPECT_EQ(shard("8", "1", "8").index, 7u);
  EXPECT_EQ(shard("8", "1", "8").count, 8u);
  EXPECT_TRUE(contains(message_of([&] { shard("9", "1", "2"); }), "shard 9 of 2")) << "ids 1 and 9";
  EXPECT_TRUE(contains(message_of([&] { shard("x", "1", "2"); }), "SLURM_ARRAY_TASK_ID with 'x'"));
  EXPECT_TRUE(
      contains(message_of([] { parse_shard("slurm"); }), "no variable SLURM_ARRAY_TASK_ID"));
}

class RunQueueTest : public testing::Test {
 protected:
  RunQueueTest() {
    callbacks_.training = [this](size_t) {
      TrainingCallbacks training;
      training.stop = [this] { return stop_.load(); };
      return training;
    };
    callbacks_.held = [this](size_t run, const std::string& sentence) {
      said_ += fmt::format("{} {}\n", run, sentence);
    };
  }
  fs::path run(size_t index) const { return folder_ / plan_.runs[index].name; }
  /// Another machine's claim of a run.
  fs::path foreign_claim(size_t index) {
    const fs::path path = run(index).string() + ".claim-1";
    write_text(path, R"({"host": "node7", "process": 5, "process_space": "another"})", "test");
    return path;
  }
  /// All that a process takes that is alone on this machine.
  std::set<size_t> taken(const Shard& shard = {}) {
    const SweepOptions options{folder_.path(), torch::kCPU, 1, shard};
    RunQueue queue(plan_, options, callbacks_, outcomes_);
    std::set<size_t> runs;
    while (const auto claimed = queue.next()) runs.insert(claimed->index);
    return runs;
  }

  TemporaryFolder folder_;
  SweepPlan plan_ = plan_sweep({}, {parse_variation("seed=1,2,3,4,5")}, "config");
  std::vector<RunOutcome> outcomes_ = std::vector<RunOutcome>(5);
  SweepCallbacks callbacks_;
  std::atomic<bool> stop_{false};
  std::string said_;
};

TEST_F(RunQueueTest, TakesWhatIsNotFinishedOfItsShard) {
  outcomes_[2].state = RunState::finished;
  EXPECT_EQ(taken({0, 2}), (std::set<size_t>{0, 4}));
  EXPECT_EQ(taken({1, 2}), (std::set<size_t>{1, 3}));
  EXPECT_EQ(taken(), (std::set<size_t>{0, 1, 3, 4}));
}

TEST_F(RunQueueTest, LeavesARunToAProcessThatLivesAndSaysSo) {
  const auto other = Claim::take(run(1));
  EXPECT_EQ(taken(), (std::set<size_t>{0, 2, 3, 4}));
  EXPECT_TRUE(contains(said_, fmt::format("1 left to process {} on", getpid()))) << said_;
}

TEST_F(RunQueueTest, WaitsForASignOfLifeFromAnotherMachine) {
  const fs::path claim = foreign_claim(1);
  std::atomic<bool> ended{false};
  std::thread owner([&] {
    while (!ended) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      utimensat(AT_FDCWD, claim.c_str(), nullptr, 0);
    }
  });
  EXPECT_EQ(taken(), (std::set<size_t>{0, 2, 3, 4}));
  ended = true;
  owner.join();
  EXPECT_TRUE(contains(said_, "1 waiting for a sign of life of process 5 on node7")) << said_;
  EXPECT_TRUE(contains(said_, "1 left to process 5 on node7")) << said_;
}

TEST_F(RunQueueTest, TakesOverFromAMachineThatIsSilentAndGivesUpWhenToldToStop) {
  const fs::path claim = foreign_claim(1);
  std::thread interruption([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop_ = true;
  });
  EXPECT_EQ(taken(), (std::set<size_t>{0, 2, 3, 4})) << "it may still live";
  interruption.join();
  stop_ = false;
  struct stat status {};
  ASSERT_EQ(stat(claim.c_str(), &status), 0);
  const timespec old{status.st_mtim.tv_sec - kTakeOverClaim.count() - 5, 0};
  const timespec times[2] = {old, old};
  ASSERT_EQ(utimensat(AT_FDCWD, claim.c_str(), times, 0), 0);
  EXPECT_TRUE(taken().contains(1));
  EXPECT_TRUE(fs::is_empty(folder_.path())) << "no claim is left";
}

TEST_F(RunQueueTest, DoesNotRepeatWhatFailedElsewhereSinceItsStart) {
  outcomes_[0] = {RunState::failed, 2, {}, "disk full", {}};
  callbacks_.latest = [this](size_t index) {
    RunOutcome latest = outcomes_[index];
    if (index == 1) latest = {RunState::failed, 1, {}, "NaN", {}};
    if (index == 2) latest = {RunState::finished, 1, {}, "", {}};
    return latest;
  };
  EXPECT_EQ(taken(), (std::set<size_t>{0, 3, 4})) << "the first failed before";
  EXPECT_EQ(outcomes_[1].failure, "NaN");
}

}  // namespace
}  // namespace facet
