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

constexpr const char* kRuns[] = {"seed-1", "seed-2", "seed-3"};

class SharedSweep : public testing::Test {
 protected:
  using Process = std::unique_ptr<RunningProgram>;

  /// What one process gives, which takes a while: once for all tests.
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    write_text(*folder_ / "config.json",
               tiny_config(R"("pretrain": {"steps": 20}, "initialise": {"steps": 5},
                 "joint": {"steps": 100}, "log_every": 5, "checkpoint_every": 20,
                 "learning_rate": {"start": 1e-3, "end": 1e-3})"),
               "test");
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(run("alone", {}).status, 0);
    time_alone_ = std::chrono::steady_clock::now() - start;
  }
  static void TearDownTestSuite() { folder_.reset(); }
  void TearDown() override { fs::remove_all(*folder_ / "sweep"); }

  static std::vector<std::string> arguments(const std::string& out,
                                            const std::vector<std::string>& more) {
    std::vector<std::string> all = {"sweep", "config.json", "--out", out, "--vary", "seed=1,2,3"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static ProgramResult run(const std::string& out, const std::vector<std::string>& more) {
    return run_facet(arguments(out, more), {.folder = folder_->path()});
  }
  static Process start(const std::string& out, const std::vector<std::string>& more) {
    return std::make_unique<RunningProgram>(facet_command(arguments(out, more)),
                                            ProgramOptions{.folder = folder_->path()});
  }
  static std::string text(const fs::path& path) { return read_text(*folder_ / path, "test"); }
  /// sweep.json without the times that runs took.
  static Json record(const fs::path& out) {
    Json json = Json::parse(text(out / "sweep.json"));
    for (Json& run : json["runs"]) run.erase("seconds");
    return json;
  }
  /// The lines of sweep.csv without their last column, the time.
  static std::string table(const fs::path& out) {
    std::istringstream lines(text(out / "sweep.csv"));
    std::string all;
    for (std::string line; std::getline(lines, line);)
      all += line.substr(0, line.rfind(',')) + "\n";
    return all;
  }
  static bool has_claims() {
    for (const auto& entry : fs::directory_iterator(*folder_ / "sweep"))
      if (contains(entry.path().filename().string(), ".claim")) return true;
    return false;
  }
  /// Runs and summary are those of one process, and nobody has a claim.
  static void expect_whole_sweep() {
    const fs::path one = "alone", other = "sweep";
    EXPECT_EQ(record(one), record(other));
    EXPECT_EQ(table(one), table(other));
    EXPECT_TRUE(text(one / "sweep.png") == text(other / "sweep.png"));
    for (const char* run : kRuns)
      for (const char* file : {"config.json", "metrics.jsonl", "model.safetensors",
                               "state.safetensors", "eval.json", "samples.png"})
        EXPECT_TRUE(text(one / run / file) == text(other / run / file)) << file << " of " << run;
    EXPECT_FALSE(has_claims());
  }
  /// How many of the processes have started a run, as they said.
  static size_t starts(const std::vector<std::string>& outputs, const std::string& run) {
    size_t count = 0;
    for (const std::string& output : outputs) count += count_of(output, run + ": starting");
    return count;
  }

  static std::unique_ptr<TemporaryFolder> folder_;
  static std::chrono::duration<double> time_alone_;
};

std::unique_ptr<TemporaryFolder> SharedSweep::folder_;
std::chrono::duration<double> SharedSweep::time_alone_;

TEST_F(SharedSweep, TwoOrThreeProcessesGiveWhatOneGives) {
  for (const int count : {2, 3}) {
    std::vector<Process> processes;
    for (int i = 0; i < count; ++i) processes.push_back(start("sweep", {"--join"}));
    std::vector<std::string> outputs;
    for (const Process& process : processes) {
      const ProgramResult result = process->wait();
      EXPECT_EQ(result.status, 0) << result.err;
      outputs.push_back(result.out);
    }
    expect_whole_sweep();
    for (const char* name : kRuns) EXPECT_EQ(starts(outputs, name), 1u) << name;
    fs::remove_all(*folder_ / "sweep");
  }
}

TEST_F(SharedSweep, ARunOfAKilledProcessIsTakenOverAndEndsAsIfNothingHadHappened) {
  const Process killed = start("sweep", {"--join"});
  ASSERT_TRUE(wait_until([&] { return contains(killed->printed(), "seed-2: joint"); }));
  killed->send(SIGKILL);
  killed->wait();
  ASSERT_TRUE(fs::exists(*folder_ / "sweep" / "seed-2.claim-1"));
  const ProgramResult result = run("sweep", {"--join"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(starts({result.out}, "seed-1"), 0u) << "it was finished";
  EXPECT_EQ(starts({result.out}, "seed-2"), 1u);
  EXPECT_FALSE(contains(result.out, "seed-2: pretrain")) << "it goes on from its last state";
  expect_whole_sweep();
}

TEST_F(SharedSweep, AnInterruptedProcessReleasesItsRunToTheOthers) {
  const Process first = start("sweep", {"--join"}), second = start("sweep", {"--join"});
  ASSERT_TRUE(wait_until([&] { return contains(first->printed(), ": joint"); }));
  first->send(SIGINT);
  const ProgramResult stopped = first->wait();
  EXPECT_EQ(stopped.status, 130) << stopped.err;
  EXPECT_TRUE(contains(stopped.out, ": stopped")) << stopped.out;
  const ProgramResult rest = second->wait();
  EXPECT_EQ(rest.status, 0) << rest.err;
  for (const char* name : kRuns) EXPECT_EQ(starts({rest.out}, name), 1u) << name;
  expect_whole_sweep();
}

TEST_F(SharedSweep, ProcessesThatAreKilledAtAnyTimeLeaveNothingUndone) {
  std::mt19937 random(7);
  Process processes[2] = {start("sweep", {"--join"}), start("sweep", {"--join"})};
  for (int kill = 0; kill < 10; ++kill) {
    // On a slow machine too, some are killed while they start and some in the midst of a run.
    std::this_thread::sleep_for(time_alone_ * std::uniform_real_distribution(0.0, 0.4)(random));
    Process& process = processes[kill % 2];
    process->send(SIGKILL);
    process->wait();
    process = start("sweep", {"--join"});
  }
  for (const Process& process : processes) EXPECT_EQ(process->wait().status, 0);
  expect_whole_sweep();
}

TEST_F(SharedSweep, EveryShardTakesItsRunsAndTheLastCompletesTheSummary) {
  const ProgramResult second = run("sweep", {"--shard", "2/2"});
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_TRUE(contains(second.out, "this is shard 2 of 2")) << second.out;
  EXPECT_TRUE(contains(second.out, "2 of 3 runs are not finished yet")) << second.out;
  std::vector<std::string> slurm = {"env", "SLURM_ARRAY_TASK_ID=5", "SLURM_ARRAY_TASK_MIN=5",
                                    "SLURM_ARRAY_TASK_COUNT=2"};
  for (const std::string& word : facet_command(arguments("sweep", {"--shard", "slurm"})))
    slurm.push_back(word);
  const ProgramResult first = RunningProgram(slurm, {.folder = folder_->path()}).wait();
  EXPECT_EQ(first.status, 0) << first.err;
  for (const char* name : kRuns)
    EXPECT_EQ(starts({first.out}, name) + 10 * starts({second.out}, name),
              std::string(name) == "seed-2" ? 10u : 1u)
        << name;
  expect_whole_sweep();
}

TEST_F(SharedSweep, WhatDiffersFromTheSweepInTheFolderIsNamedAndNothingIsWritten) {
  fs::copy(*folder_ / "alone", *folder_ / "sweep", fs::copy_options::recursive);
  fs::create_directory(*folder_ / "mine");
  write_text(*folder_ / "mine" / "thesis.tex", "", "test");
  const auto before = files_below(folder_->path());
  const auto refused = [&](const std::string& out, const std::vector<std::string>& more,
                           const std::string& part) {
    const ProgramResult result = run(out, more);
    EXPECT_EQ(result.status, 2) << result.out;
    EXPECT_EQ(count_of(result.err, "\n"), 1u) << result.err;
    EXPECT_TRUE(contains(result.err, part)) << result.err << "  has no " << part;
  };
  refused("sweep", {"--join", "--set", "train.joint.steps=101"},
          "another config (train.joint.steps: 100, 101)");
  refused("sweep", {"--join", "--vary", "data.binarize=none,fixed"},
          R"(another --vary (data.binarize: nothing, ["none","fixed"]))");
  refused("sweep", {"--shard", "5/4"}, "shard 5 of 4");
  refused("sweep", {"--join", "--resume"}, "--resume");
  refused("mine", {"--join"}, "not empty");
  EXPECT_TRUE(files_below(folder_->path()) == before) << "files have changed";
}

}  // namespace
}  // namespace facet
