// A refiner trained by several processes: any number of them gives the same files, also after one
// was lost.
#include <csignal>

#include <gtest/gtest.h>

#include "tests/cli/rank_process.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

class RefinedByRanks : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    write_text(*folder_ / "config.json", quick_config(), "test");
    ASSERT_EQ(
        run_facet({"train", "config.json", "--out", "trained"}, {.folder = folder_->path()}).status,
        0);
    ASSERT_EQ(refine("one", {}).wait().status, 0);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  /// Begins a refiner of a copy of the run. Ten images that three parts do not divide.
  static RunningProgram refine(const std::string& out, const std::vector<std::string>& more) {
    fs::copy(*folder_ / "trained", *folder_ / out, fs::copy_options::recursive);
    std::vector<std::string> all = {"refine", out, "--steps", "60", "--batch-size", "10"};
    for (const char* setting :
         {"network.preset=custom", "network.width=16", "network.multipliers=[1,2]",
          "network.blocks=1", "batch_parts=3", "log_every=2", "checkpoint_every=10"})
      all.insert(all.end(), {"--set", setting});
    all.insert(all.end(), more.begin(), more.end());
    return RunningProgram(facet_command(all), {.folder = folder_->path()});
  }
  static ProgramResult run(const std::vector<std::string>& arguments) {
    return run_facet(arguments, {.folder = folder_->path()});
  }
  static void wait_for_steps(const std::string& out) {
    EXPECT_TRUE(wait_until([&] {
      const fs::path metrics = *folder_ / out / "refiner-metrics.jsonl";
      return fs::exists(metrics) && count_of(read_text(metrics, "test"), "\n") > 6;
    }));
  }
  static void expect_same_refiner(const std::string& other) {
    for (const char* file : {"refiner.safetensors", "refiner-state.safetensors",
                             "refiner-config.json", "refiner-metrics.jsonl", "refiner-samples.png"})
      EXPECT_TRUE(read_text(*folder_ / "one" / file, "test") ==
                  read_text(*folder_ / other / file, "test"))
          << file << " of " << other;
  }

  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(RefinedByRanks, AnyNumberGivesTheSameBytes) {
  for (const std::string count : {"2", "3"}) {
    const ProgramResult result = refine("with-" + count, {"--processes", count}).wait();
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(contains(result.out, fmt::format("with {} ranks", count))) << result.out;
    EXPECT_EQ(count_of(result.out, "run folder"), 1u) << "one rank speaks";
    expect_same_refiner("with-" + count);
  }
}

TEST_F(RefinedByRanks, EndsWhenOneIsKilledAndGoesOnWithAnotherNumber) {
  RunningProgram starter = refine("killed", {"--processes", "3", "--rank-timeout", "10"});
  wait_for_steps("killed");
  kill(rank_process(starter, 1), SIGKILL);
  const ProgramResult result = starter.wait();
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(count_of(result.err, "\n"), 1u) << result.err;
  expect_parts(result.err, {"rank 1", "signal 9", "facet refine killed --resume"});
  EXPECT_EQ(run({"refine", "killed", "--resume", "--processes", "2"}).status, 0);
  expect_same_refiner("killed");
}

TEST_F(RefinedByRanks, StopsAtCtrlCAndIsStartedAgainWhenOneIsLost) {
  RunningProgram starter = refine("stopped", {"--processes", "2"});
  wait_for_steps("stopped");
  starter.send(SIGINT);
  const ProgramResult result = starter.wait();
  EXPECT_EQ(result.status, 130) << result.err;
  EXPECT_EQ(count_of(result.out, "stopped and saved"), 1u);
  RunningProgram again(facet_command({"refine", "stopped", "--resume", "--processes", "2",
                                      "--restarts", "1", "--rank-timeout", "10"}),
                       {.folder = folder_->path()});
  EXPECT_TRUE(wait_until([&] { return contains(again.printed(), "run folder"); }));
  kill(rank_process(again, 0), SIGKILL);
  const ProgramResult restarted = again.wait();
  EXPECT_EQ(restarted.status, 0) << restarted.err;
  expect_parts(restarted.err, {"rank 0", "signal 9", "again from the last checkpoint (1 of 1)"});
  expect_same_refiner("stopped");
}

TEST_F(RefinedByRanks, IsRefusedInOneLine) {
  const auto refused = [&](const std::vector<std::string>& more,
                           const std::vector<std::string>& parts) {
    std::vector<std::string> all = {"refine", "trained", "--processes", "2"};
    all.insert(all.end(), more.begin(), more.end());
    const ProgramResult result = run(all);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_EQ(count_of(result.err, "\n"), 1u) << result.err;
    expect_parts(result.err, parts);
  };
  refused({"--set", "batch_parts=1"}, {"batch_parts 1", "at least 2, one per rank"});
  refused({"--batch-size", "1"}, {"batch_size 1", "at least 2, one per rank"});
  refused({"--set", "stepps=1"}, {"stepps"});
  refused({"--resume"}, {"no refiner to resume"});
  EXPECT_EQ(run({"refine", "trained", "--restarts", "1"}).status, 2);
}

}  // namespace
}  // namespace facet
