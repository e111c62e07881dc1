// Several processes on one sweep: together they give what one gives, whatever happens to some of
// them, and no claim stays behind.
#include <chrono>
#include <memory>
#include <random>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

class SharedSweep : public testing::Test {
 protected:
  using Process = std::unique_ptr<RunningProgram>;

  SharedSweep() { write_text(folder_ / "config.json", quick_config(), "test"); }

  static std::vector<std::string> arguments(const std::string& out,
                                            const std::vector<std::string>& more) {
    std::vector<std::string> all = {"sweep", "config.json", "--out", out, "--vary", "seed=1,2,3,4"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  ProgramResult run(const std::string& out, const std::vector<std::string>& more) {
    return run_facet(arguments(out, more), {.folder = folder_.path()});
  }
  Process start(const std::string& out, const std::vector<std::string>& more) {
    return std::make_unique<RunningProgram>(facet_command(arguments(out, more)),
                                            ProgramOptions{.folder = folder_.path()});
  }
  std::string text(const fs::path& path) { return read_text(folder_ / path, "test"); }
  /// sweep.json without the times that runs took.
  Json record(const std::string& out) {
    Json json = Json::parse(text(fs::path(out) / "sweep.json"));
    for (Json& run : json["runs"]) run.erase("seconds");
    return json;
  }
  /// The lines of sweep.csv without their last column, the time.
  std::string table(const std::string& out) {
    std::istringstream lines(text(fs::path(out) / "sweep.csv"));
    std::string all;
    for (std::string line; std::getline(lines, line);)
      all += line.substr(0, line.rfind(',')) + "\n";
    return all;
  }
  bool has_claims(const std::string& out) {
    for (const auto& entry : fs::directory_iterator(folder_ / out))
      if (contains(entry.path().filename().string(), ".claim")) return true;
    return false;
  }
  /// Runs and summary are those of another sweep, and nobody has a claim.
  void expect_same_sweep(const std::string& one, const std::string& other) {
    EXPECT_EQ(record(one), record(other));
    EXPECT_EQ(table(one), table(other));
    EXPECT_TRUE(text(fs::path(one) / "sweep.png") == text(fs::path(other) / "sweep.png"));
    for (const char* run : {"seed-1", "seed-2", "seed-3", "seed-4"})
      for (const char* file : {"config.json", "metrics.jsonl", "model.safetensors",
                               "state.safetensors", "eval.json", "samples.png"})
        EXPECT_TRUE(text(fs::path(one) / run / file) == text(fs::path(other) / run / file))
            << file << " of " << run;
    for (const std::string& sweep : {one, other}) EXPECT_FALSE(has_claims(sweep)) << sweep;
  }
  /// How many of the processes have started a run, as they said.
  static size_t starts(const std::vector<std::string>& outputs, const std::string& run) {
    size_t count = 0;
    for (const std::string& output : outputs) count += count_of(output, run + ": starting");
    return count;
  }

  TemporaryFolder folder_;
};

TEST_F(SharedSweep, TwoOrThreeProcessesGiveWhatOneGives) {
  ASSERT_EQ(run("alone", {}).status, 0);
  for (const int count : {2, 3}) {
    const std::string out = "shared-" + std::to_string(count);
    std::vector<Process> processes;
    for (int i = 0; i < count; ++i) processes.push_back(start(out, {"--join"}));
    std::vector<std::string> outputs;
    for (const Process& process : processes) {
      const ProgramResult result = process->wait();
      EXPECT_EQ(result.status, 0) << result.err;
      outputs.push_back(result.out);
    }
    expect_same_sweep("alone", out);
    for (const char* name : {"seed-1", "seed-2", "seed-3", "seed-4"})
      EXPECT_EQ(starts(outputs, name), 1u) << name;
  }
  EXPECT_TRUE(contains(run("shared-2", {"--join"}).out, "4 finished already"));
}

TEST_F(SharedSweep, ARunOfAKilledProcessIsTakenOverAndEndsAsIfNothingHadHappened) {
  const std::vector<std::string> longer = {"--join", "--set", "train.joint.steps=200", "--set",
                                           "train.checkpoint_every=20"};
  ASSERT_EQ(run("straight", longer).status, 0);
  const Process killed = start("sweep", longer);
  ASSERT_TRUE(wait_until([&] { return contains(killed->printed(), "seed-2: joint"); }));
  killed->send(SIGKILL);
  killed->wait();
  ASSERT_TRUE(fs::exists(folder_ / "sweep" / "seed-2.claim-1"));
  const ProgramResult result = run("sweep", longer);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(starts({result.out}, "seed-1"), 0u) << "it was finished";
  EXPECT_EQ(starts({result.out}, "seed-2"), 1u);
  EXPECT_FALSE(contains(result.out, "seed-2: pretrain")) << "it goes on from its last state";
  expect_same_sweep("straight", "sweep");
}

TEST_F(SharedSweep, AnInterruptedProcessReleasesItsRunToTheOthers) {
  const std::vector<std::string> longer = {"--join", "--set", "train.joint.steps=300"};
  ASSERT_EQ(run("straight", longer).status, 0);
  const Process first = start("sweep", longer);
  ASSERT_TRUE(wait_until([&] { return contains(first->printed(), "seed-1: joint"); }));
  const Process second = start("sweep", longer);
  ASSERT_TRUE(wait_until([&] { return contains(second->printed(), "seed-2: starting"); }));
  first->send(SIGINT);
  const ProgramResult stopped = first->wait();
  EXPECT_EQ(stopped.status, 130) << stopped.err;
  EXPECT_TRUE(contains(stopped.out, "seed-1: stopped")) << stopped.out;
  EXPECT_FALSE(fs::exists(folder_ / "sweep" / "seed-1.claim-1"));
  const ProgramResult rest = second->wait();
  EXPECT_EQ(rest.status, 0) << rest.err;
  EXPECT_FALSE(contains(rest.out, "seed-1: pretrain")) << rest.out;
  expect_same_sweep("straight", "sweep");
}

TEST_F(SharedSweep, ProcessesThatAreKilledAtAnyTimeLeaveNothingUndone) {
  ASSERT_EQ(run("straight", {"--join"}).status, 0);
  std::mt19937 random(7);
  Process processes[2] = {start("sweep", {"--join"}), start("sweep", {"--join"})};
  for (int kill = 0; kill < 10; ++kill) {
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 700));
    Process& process = processes[kill % 2];
    process->send(SIGKILL);
    process->wait();
    process = start("sweep", {"--join"});
  }
  for (const Process& process : processes) EXPECT_EQ(process->wait().status, 0);
  expect_same_sweep("straight", "sweep");
}

TEST_F(SharedSweep, EveryShardTakesItsRunsAndTheLastCompletesTheSummary) {
  ASSERT_EQ(run("alone", {}).status, 0);
  const ProgramResult second = run("sweep", {"--shard", "2/2"});
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_TRUE(contains(second.out, "this is shard 2 of 2")) << second.out;
  EXPECT_TRUE(contains(second.out, "2 of 4 runs are not finished yet")) << second.out;
  EXPECT_FALSE(fs::exists(folder_ / "sweep" / "seed-1"));
  std::vector<std::string> slurm = {"env", "SLURM_ARRAY_TASK_ID=5", "SLURM_ARRAY_TASK_MIN=5",
                                    "SLURM_ARRAY_TASK_COUNT=2"};
  for (const std::string& word : facet_command(arguments("sweep", {"--shard", "slurm"})))
    slurm.push_back(word);
  const ProgramResult first = RunningProgram(slurm, {.folder = folder_.path()}).wait();
  EXPECT_EQ(first.status, 0) << first.err;
  for (const char* name : {"seed-1", "seed-2", "seed-3", "seed-4"})
    EXPECT_EQ(starts({first.out, second.out}, name), 1u) << name;
  expect_same_sweep("alone", "sweep");
}

TEST_F(SharedSweep, WhatDiffersFromTheSweepInTheFolderIsNamedAndNothingIsWritten) {
  ASSERT_EQ(run("sweep", {"--shard", "1/4"}).status, 0);
  const auto before = files_below(folder_.path());
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    const ProgramResult result = run("sweep", more);
    EXPECT_EQ(result.status, 2) << result.out;
    EXPECT_EQ(count_of(result.err, "\n"), 1u) << result.err;
    EXPECT_TRUE(contains(result.err, part)) << result.err << "  has no " << part;
  };
  refused({"--join", "--set", "train.joint.steps=21"},
          "another config (train.joint.steps: 20, 21)");
  refused({"--join", "--vary", "data.binarize=none,fixed"},
          R"(another --vary (data.binarize: nothing, ["none","fixed"]))");
  refused({"--shard", "5/4"}, "shard 5 of 4");
  refused({"--shard", "1/0"}, "no shards at all");
  refused({"--shard", "one/4"}, "no two numbers");
  refused({"--shard", "slurm"}, "no variable SLURM_ARRAY_TASK_ID");
  refused({"--join", "--resume"}, "--resume");
  refused({}, "not empty");
  const ProgramResult other =
      run_facet({"sweep", "config.json", "--out", "sweep", "--join", "--vary", "seed=1,2"},
                {.folder = folder_.path()});
  EXPECT_EQ(other.status, 2);
  EXPECT_TRUE(contains(other.err, "another --vary (seed: [1,2,3,4], [1,2])")) << other.err;
  EXPECT_TRUE(files_below(folder_.path()) == before) << "files have changed";
  fs::create_directory(folder_ / "mine");
  write_text(folder_ / "mine" / "thesis.tex", "", "test");
  EXPECT_TRUE(contains(run("mine", {"--join"}).err, "not empty"));
}

}  // namespace
}  // namespace facet
