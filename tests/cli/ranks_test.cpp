// One model trained by several processes: any number of them gives the same files, and when one is
// lost all end with one line that names it.
#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/core/rank_store.h"
#include "facet/cuda/gpu.h"
#include "tests/cli/rank_process.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"

namespace facet {
namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

constexpr const char* kRankFiles[] = {"config.json",       "metrics.jsonl",    "model.safetensors",
                                      "state.safetensors", "best.safetensors", "eval.json",
                                      "samples.png"};

/// Labels, a labelled batch, pseudo-labels, consistency, averages, refits, input noise; a batch
/// that parts do not divide.
std::string labelled_config() {
  return R"({
  "data": {"portraits": {"count": 240, "size": 16}, "mirror": true, "labels_per_value": 20},
  "model": {
    "likelihood": {"kind": "gaussian", "minimum_stddev": 0.05},
    "network": {"preset": "custom", "channels": [8, 8], "strides": [2, 2]},
    "factors": [
      {"name": "glasses", "components": 2, "dimensions": 2, "property": "glasses"},
      {"name": "free", "components": 3, "dimensions": 2}
    ]
  },
  "train": {
    "batch_size": 22, "batch_parts": 5, "input_noise": 0.1, "average_decay": 0.9,
    "pretrain": {"steps": 20}, "initialise": {"steps": 5},
    "joint": {"steps": 40, "refit_every": 20, "freeze_prior_steps": 5, "labelled_batch": 3,
              "label_weight": {"start": 10, "end": 0}, "consistency_weight": 1,
              "pseudo_labels": {"weight": 0.5, "threshold": 0.5}},
    "evaluate_every": 20, "checkpoint_every": 20, "log_every": 5,
    "learning_rate": {"start": 1e-3, "end": 1e-3}
  }
})";
}

class RankRuns : public testing::Test {
 protected:
  using Process = std::unique_ptr<RunningProgram>;

  /// What one process gives, once for all tests: the reference, and a longer run to interrupt.
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    write_text(*folder_ / "labels.json", labelled_config(), "test");
    write_text(*folder_ / "long.json", tiny_config(R"("batch_parts": 3, "pretrain": {"steps": 20},
                 "initialise": {"steps": 5}, "joint": {"steps": 200}, "log_every": 5,
                 "checkpoint_every": 20, "evaluate_every": 0,
                 "learning_rate": {"start": 1e-3, "end": 1e-3})"),
               "test");
    for (const std::string name : {"labels", "long"})
      ASSERT_EQ(run({name + ".json", "--out", name}).status, 0);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::vector<std::string> arguments(const std::vector<std::string>& more) {
    std::vector<std::string> all = {"train"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static ProgramResult run(const std::vector<std::string>& more) {
    return run_facet(arguments(more), {.folder = folder_->path()});
  }
  static Process start(const std::vector<std::string>& more) {
    return std::make_unique<RunningProgram>(facet_command(arguments(more)),
                                            ProgramOptions{.folder = folder_->path()});
  }
  static std::string text(const fs::path& path) { return read_text(*folder_ / path, "test"); }
  static void expect_same_run(const fs::path& one, const fs::path& other) {
    for (const char* file : kRankFiles) {
      if (!fs::exists(*folder_ / one / file)) continue;
      EXPECT_TRUE(text(one / file) == text(other / file)) << file << " of " << other;
    }
  }

  /// Waits until a run is well under way; the process of one of its ranks.
  static pid_t rank_of(const RunningProgram& starter, const std::string& out, int rank) {
    EXPECT_TRUE(wait_until([&] {
      const fs::path metrics = *folder_ / out / "metrics.jsonl";
      return fs::exists(metrics) && count_of(read_text(metrics, "test"), "\"joint\"") > 6;
    }));
    return rank_process(starter, rank);
  }
  /// One line that names what went wrong.
  static void expect_line(const ProgramResult& result, int status,
                          const std::vector<std::string>& parts) {
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_EQ(count_of(result.err, "\n"), 1u) << result.err;
    expect_parts(result.err, parts);
  }

  static std::unique_ptr<TemporaryFolder> folder_;
};

std::unique_ptr<TemporaryFolder> RankRuns::folder_;

TEST_F(RankRuns, AnyNumberGivesTheSameBytes) {
  for (const std::string count : {"2", "3", "4"}) {
    const std::string out = "labels-" + count;
    const ProgramResult result = run({"labels.json", "--out", out, "--processes", count});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(count_of(result.out, "run folder"), 1u) << "one rank speaks";
    expect_same_run("labels", out);
  }
}

TEST_F(RankRuns, AnyPriorGivesTheSameBytes) {
  for (const std::string prior : {"point_mass", "vamp", "normal"}) {
    const auto train = [&](const std::string& processes) {
      const std::string factors =
          fmt::format(R"(model.factors=[{{"name": "a", "components": {}, "dimensions": 3}}])",
                      prior == "normal" ? 1 : 4);
      const ProgramResult result =
          run({"long.json", "--out", prior + processes, "--processes", processes, "--set",
               "model.prior=" + prior, "--set", factors, "--set", "train.joint.steps=10", "--set",
               prior == "point_mass" ? "train.initialise.steps=5" : "train.initialise.steps=0"});
      EXPECT_EQ(result.status, 0) << result.err;
    };
    train("1");
    train("2");
    expect_same_run(prior + "1", prior + "2");
  }
}

TEST_F(RankRuns, FastSumsDifferByRounding) {
  const auto bound = [&](const std::string& out) {
    return Json::parse(text(out + "/eval.json"))["elbo"].get<double>();
  };
  const ProgramResult result =
      run({"labels.json", "--out", "fast", "--processes", "2", "--set", "train.reduce=fast"});
  EXPECT_EQ(result.status, 0) << result.err;
  // Rounding of 1e-7 in a sum, through 60 steps of Adam; a lost part would change the bound by a
  // tenth.
  EXPECT_NEAR(bound("fast"), bound("labels"), 1e-3 * std::abs(bound("labels")));
  EXPECT_FALSE(text("fast/model.safetensors") == text("labels/model.safetensors"));
}

TEST_F(RankRuns, AreResumedByAnotherNumberOfRanks) {
  const Process process = start({"long.json", "--out", "resumed", "--processes", "3"});
  rank_of(*process, "resumed", 0);
  process->send(SIGINT);
  const ProgramResult result = process->wait();
  EXPECT_EQ(result.status, 130) << result.err;
  EXPECT_EQ(count_of(result.out, "stopped and saved"), 1u);
  const ProgramResult second = run({"--out", "resumed", "--resume", "--processes", "2"});
  EXPECT_EQ(second.status, 0) << second.err;
  expect_same_run("long", "resumed");
}

TEST_F(RankRuns, EndWhenOneIsKilledAndGoOnFromTheCheckpoint) {
  const Process process =
      start({"long.json", "--out", "killed", "--processes", "3", "--rank-timeout", "10"});
  const pid_t rank = rank_of(*process, "killed", 1);
  const auto begin = std::chrono::steady_clock::now();
  kill(rank, SIGKILL);
  expect_line(process->wait(), 1,
              {fmt::format("rank 1 (process {})", rank), "signal 9", "--resume"});
  EXPECT_LT(Seconds(std::chrono::steady_clock::now() - begin).count(), 10.0);
  EXPECT_EQ(run({"--out", "killed", "--resume"}).status, 0);
  expect_same_run("long", "killed");
}

TEST_F(RankRuns, EndWhenOneHangs) {
  const Process process =
      start({"long.json", "--out", "hung", "--processes", "2", "--rank-timeout", "6"});
  const pid_t rank = rank_of(*process, "hung", 1);
  const auto begin = std::chrono::steady_clock::now();
  kill(rank, SIGSTOP);
  expect_line(process->wait(), 1, {fmt::format("no sign of life of rank 1 (process {}", rank)});
  // The time-out, and what the machine needs to notice; the process that hangs is ended too.
  EXPECT_LT(Seconds(std::chrono::steady_clock::now() - begin).count(), 6.0 + 2.0);
  EXPECT_NE(kill(rank, 0), 0);
}

TEST_F(RankRuns, AreStartedAgain) {
  const Process process = start({"long.json", "--out", "restarted", "--processes", "2",
                                 "--restarts", "1", "--rank-timeout", "10"});
  kill(rank_of(*process, "restarted", 0), SIGKILL);
  const ProgramResult result = process->wait();
  EXPECT_EQ(result.status, 0) << result.err;
  expect_parts(result.err, {"rank 0", "signal 9", "again from the last checkpoint (1 of 1)"});
  expect_same_run("long", "restarted");
}

TEST_F(RankRuns, AreRefusedInOneLine) {
  const auto refused = [&](std::vector<std::string> more, const std::vector<std::string>& parts) {
    more.insert(more.begin(), {"long.json", "--out", "refused", "--processes", "2"});
    expect_line(run(more), 2, parts);
    EXPECT_FALSE(fs::exists(*folder_ / "refused"));
  };
  refused({"--set", "train.batch_parts=1"}, {"train.batch_parts 1", "at least 2, one per rank"});
  refused({"--set", "train.batch_size=1"}, {"train.batch_size 1", "at least 2, one per rank"});
  refused({"--set", "train.batch_sise=2"}, {"batch_sise"});
  refused({"--set", "data.pack=nowhere"}, {"nowhere"});
  if (!cuda::available()) refused({"--device", "cuda"}, {"no usable GPU", "cpu"});
  expect_line(run({"long.json", "--out", "long", "--processes", "2"}), 2, {"an existing run"});
  EXPECT_EQ(run({"long.json", "--out", "refused", "--restarts", "1"}).status, 2);
}

/// Ranks that are not started by us, as on several machines.
class SeparateRanks : public RankRuns {
 protected:
  static Process start_rank(const std::string& rank, const std::string& size, int port,
                            const std::vector<std::string>& more = {"--rank-timeout", "20"}) {
    std::vector<std::string> command = {"env", "RANK=" + rank, "WORLD_SIZE=" + size,
                                        "MASTER_ADDR=127.0.0.1",
                                        fmt::format("MASTER_PORT={}", port)};
    const auto train = facet_command(arguments({"long.json", "--out", "separate"}));
    command.insert(command.end(), train.begin(), train.end());
    command.insert(command.end(), more.begin(), more.end());
    return std::make_unique<RunningProgram>(command, ProgramOptions{.folder = folder_->path()});
  }
  /// Different for test programs that run at the same time.
  static int port(int number) { return 20000 + getpid() % 20000 + number; }
};

TEST_F(SeparateRanks, NameWhoDisagreesOrIsAbsent) {
  const Process first = start_rank("0", "2", port(0)),
                other = start_rank("1", "2", port(0), {"--set", "train.learning_rate.start=0.1"});
  for (const Process* process : {&first, &other})
    expect_line((*process)->wait(), 2,
                {"train.learning_rate.start=0.1 at rank 1", "=0.001 as at rank 0"});
  const std::vector<std::string> soon = {"--rank-timeout", "3"};
  const Process waiting = start_rank("0", "3", port(1), soon),
                with_it = start_rank("2", "3", port(1), soon),
                elsewhere = start_rank("1", "2", port(2), soon);
  for (const Process* process : {&waiting, &with_it})
    expect_line((*process)->wait(), 1, {"no rank 1 within 3 s"});
  expect_line(elsewhere->wait(), 1, {"no answer from 127.0.0.1"});
  const Process of_two = start_rank("0", "2", port(5)), of_three = start_rank("1", "3", port(5));
  for (const Process* process : {&of_two, &of_three})
    expect_line((*process)->wait(), 2, {"number of ranks", "3 at rank 1", "2 as at rank 0"});
  EXPECT_FALSE(fs::exists(*folder_ / "separate"));
}

TEST_F(SeparateRanks, NameTheFirstWhenItIsKilled) {
  const Process first = start_rank("0", "2", port(3)), other = start_rank("1", "2", port(3));
  EXPECT_TRUE(wait_until([&] { return contains(first->printed(), "joint"); }));
  first->send(SIGKILL);
  expect_line(other->wait(), 1, {"rank 0 (process", "--resume"});
}

TEST_F(SeparateRanks, RefuseAPortInUse) {
  const RankStore other;
  expect_line(start_rank("0", "2", static_cast<int>(other.port()))->wait(), 2,
              {"in use", "MASTER_PORT"});
}

}  // namespace
}  // namespace facet
