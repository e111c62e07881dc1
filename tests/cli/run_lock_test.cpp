// One writer per run folder: whoever comes second is told who has it, and nothing of theirs is
// mixed. A run that was killed early, and its temporary files, are in nobody's way.
#include <csignal>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "facet/core/claim.h"
#include "facet/core/json.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

class LockedRun : public testing::Test {
 protected:
  /// Begun, and kept from ending by the many steps it has.
  std::unique_ptr<RunningProgram> begin(const std::string& name, int64_t steps) {
    write_text(folder_ / "config.json",
               tiny_config(fmt::format(R"("pretrain": {{"steps": 10}}, "initialise": {{"steps": 5}},
      "joint": {{"steps": {}}}, "log_every": 5, "checkpoint_every": 10)",
                                       steps)),
               "test");
    auto program =
        std::make_unique<RunningProgram>(facet_command({"train", "config.json", "--out", name}),
                                         ProgramOptions{.folder = folder_.path()});
    EXPECT_TRUE(wait_until([&] { return fs::exists(folder_ / name / "model.safetensors"); }));
    return program;
  }
  ProgramResult facet(const std::vector<std::string>& arguments) {
    return run_facet(arguments, {.folder = folder_.path()});
  }
  void expect_no_left_overs() {
    for (const auto& [name, content] : files_below(folder_.path()))
      EXPECT_FALSE(contains(name, ".tmp") || contains(name, ".claim")) << name;
  }

  TemporaryFolder folder_;
};

TEST_F(LockedRun, ASecondWriterIsRefusedAndTheHolderNamed) {
  const auto holder = begin("run", 1000000);
  const std::string here = fs::canonical(folder_.path()).string();
  for (const std::vector<std::string>& second :
       {std::vector<std::string>{"train", "config.json", "--out", "run"},
        {"train", "--out", "run", "--resume"},
        {"train", "--out", "./run/", "--resume"},
        {"train", "--out", here + "/run", "--resume"},
        {"refine", "run", "--steps", "1"}}) {
    const ProgramResult result = facet(second);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_TRUE(contains(result.err, fmt::format("process {} on ", holder->process())))
        << result.err;
    EXPECT_TRUE(contains(result.err, "since 2")) << result.err;
  }
  EXPECT_EQ(facet({"info", "run"}).status, 0) << "readers are not kept out";
  holder->send(SIGTERM);
  EXPECT_EQ(holder->wait().status, 128 + SIGTERM);
  expect_no_left_overs();
}

TEST_F(LockedRun, OfTwoWhoBeginAtOnceOneTrains) {
  write_text(folder_ / "config.json", quick_config(), "test");
  const auto train = [&](const std::string& seed) {
    return std::make_unique<RunningProgram>(
        facet_command({"train", "config.json", "--out", "run", "--set", "seed=" + seed}),
        ProgramOptions{.folder = folder_.path()});
  };
  auto one = train("1"), two = train("2");
  const int first = one->wait().status, second = two->wait().status;
  EXPECT_EQ(first + second, 2) << "one trains to its end, the other is refused";
  const Json config = Json::parse(read_text(folder_ / "run/config.json", "test"));
  EXPECT_EQ(config["seed"], first == 0 ? 1 : 2);
  ASSERT_EQ(facet({"train", "config.json", "--out", "alone", "--set",
                   fmt::format("seed={}", first == 0 ? 1 : 2)})
                .status,
            0);
  for (const char* file : {"metrics.jsonl", "model.safetensors", "state.safetensors"})
    EXPECT_TRUE(read_text(folder_ / "run" / file, "test") ==
                read_text(folder_ / "alone" / file, "test"))
        << file;
  expect_no_left_overs();
}

TEST_F(LockedRun, OfASweepIsLockedToo) {
  const auto claim = Claim::take(folder_ / "sweep-run");  // as a sweep does
  write_text(folder_ / "config.json", quick_config(), "test");
  const ProgramResult result = facet({"train", "config.json", "--out", "sweep-run"});
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(contains(result.err, fmt::format("process {} on ", getpid()))) << result.err;
  EXPECT_FALSE(fs::exists(folder_ / "sweep-run"));
}

TEST_F(LockedRun, ThatWasKilledIsFreeAndItsTemporaryFilesGo) {
  const auto holder = begin("run", 40);
  holder->send(SIGKILL);
  holder->wait();
  const auto claimed = files_below(folder_.path());
  std::string temporary;
  {
    AtomicFile unfinished(folder_ / "run/state.safetensors", "test");
    for (const auto& [name, content] : files_below(folder_ / "run"))
      if (contains(name, ".tmp")) temporary = name;
  }
  ASSERT_FALSE(temporary.empty());
  const auto said_of = [&](int64_t process) {  // the name that another process would have given
    std::string name = temporary;
    const std::string own = std::to_string(getpid());
    return folder_ / "run" / name.replace(name.find(own), own.size(), std::to_string(process));
  };
  const fs::path picture = folder_ / "run/progress" /
                           said_of(holder->process()).filename();  // of a checkpoint's samples
  fs::create_directories(picture.parent_path());
  write_text(said_of(holder->process()), "half a file", "test");
  write_text(picture, "half a picture", "test");
  std::ofstream(folder_ / "run/notes.tmp") << "not ours";
  const ProgramResult resumed = facet({"train", "--out", "run", "--resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_FALSE(fs::exists(said_of(holder->process())));
  EXPECT_FALSE(fs::exists(picture));
  EXPECT_TRUE(fs::remove(folder_ / "run/notes.tmp"));
  expect_no_left_overs();
}

TEST_F(LockedRun, ThatNeverSavedStartsAnewOrIsResumed) {
  write_text(folder_ / "config.json", quick_config(), "test");
  ASSERT_EQ(facet({"train", "config.json", "--out", "straight"}).status, 0);
  for (const bool resume : {false, true}) {
    const fs::path run = folder_ / (resume ? "resumed" : "anew");
    fs::create_directories(run);
    fs::copy_file(folder_ / "straight/config.json", run / "config.json");
    write_text(run / "metrics.jsonl", "", "test");
    const std::string name = run.filename().string();
    const ProgramResult result =
        facet(resume ? std::vector<std::string>{"train", "--out", name, "--resume"}
                     : std::vector<std::string>{"train", "config.json", "--out", name});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(contains(result.out, "it starts anew"), resume) << result.out;
    for (const char* file : {"metrics.jsonl", "model.safetensors", "eval.json"})
      EXPECT_TRUE(read_text(run / file, "test") == read_text(folder_ / "straight" / file, "test"))
          << file;
  }
}

TEST_F(LockedRun, WhatNeedsMoreMemoryThanThereIsIsRefusedAtOnce) {
  write_text(folder_ / "config.json", quick_config(), "test");
  for (const char* setting :
       {"model.factors.0.components=1000000000", "model.factors.0.dimensions=100000000",
        "model.network.channels=[100000000,100000000]", "train.batch_size=1000000000000"}) {
    const ProgramResult result =
        facet({"train", "config.json", "--out", "large", "--set", setting});
    EXPECT_EQ(result.status, 2) << setting << result.err;
    EXPECT_TRUE(contains(result.err, "GB")) << setting << result.err;
    EXPECT_FALSE(fs::exists(folder_ / "large"));
  }
}

TEST_F(LockedRun, WithTooLittleAddressSpaceACommandEndsInOneLine) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take terabytes of address space";
#endif
  // As a program of its own: a fork would have what the test has mapped. OpenBLAS would try for
  // ever.
  const std::string model = std::string(FACET_SOURCE_FOLDER) + "/models/portraits";
  RunningProgram program(facet_command({"sample", model, "--out", (folder_ / "a.png").string()}),
                         {.address_space = rlim_t{900} << 20, .threads = 4});
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_TRUE(contains(result.err, "ulimit -v")) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST_F(LockedRun, AModelThatClaimsToBeLargerThanItIsIsRefused) {
  write_text(folder_ / "config.json", quick_config(), "test");
  ASSERT_EQ(facet({"train", "config.json", "--out", "run"}).status, 0);
  TensorFile file = read_safetensors(folder_ / "run/model.safetensors", "test");
  Json model = Json::parse(file.metadata["model"]);
  model["network"]["channels"] = {1000000, 1000000};
  file.metadata["model"] = model.dump();
  write_safetensors(folder_ / "run/model.safetensors", file, "test");
  const ProgramResult result = facet({"sample", "run", "--out", "samples.png"});
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_TRUE(contains(result.err, "metadata")) << result.err;
}

TEST_F(LockedRun, ABoundThatIsNotANumberIsPrintedAndAnError) {
  write_text(folder_ / "config.json", quick_config(), "test");
  ASSERT_EQ(facet({"train", "config.json", "--out", "run"}).status, 0);
  TensorFile file = read_safetensors(folder_ / "run/model.safetensors", "test");
  torch::Tensor& bias = file.tensors.at("encoder.head.bias");
  bias = torch::full_like(bias, 3e38);  // finite, but nothing that is computed from it is
  write_safetensors(folder_ / "run/model.safetensors", file, "test");
  for (const char* json : {"", "--json"}) {
    std::vector<std::string> arguments = {"eval", "run"};
    if (*json != '\0') arguments.emplace_back(json);
    const ProgramResult result = facet(arguments);
    EXPECT_EQ(result.status, 1) << result.out << result.err;
    EXPECT_TRUE(contains(result.err, "not a finite number")) << result.err;
    EXPECT_FALSE(result.out.empty());
  }
}

TEST_F(LockedRun, APackThatIsCutWhileItIsReadGivesOneLine) {
  ASSERT_EQ(
      facet({"import", "portraits", "--count", "6000", "--size", "16", "--out", "pack"}).status, 0);
  write_text(
      folder_ / "config.json",
      tiny_config(
          R"("pretrain": {"steps": 1000000}, "initialise": {"steps": 5}, "joint": {"steps": 5})"),
      "test");
  RunningProgram program(
      facet_command({"train", "config.json", "--out", "run", "--set", "data.pack=pack"}),
      ProgramOptions{.folder = folder_.path()});
  ASSERT_TRUE(wait_until([&] { return fs::exists(folder_ / "run/model.safetensors"); }));
  fs::resize_file(folder_ / "pack", 4096);
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(contains(result.err, "pack': found that it was cut")) << result.err;
}

TEST_F(LockedRun, NegativeSeedsAndHostsThatAreNoneAreRefused) {
  write_text(folder_ / "config.json", quick_config(), "test");
  ASSERT_EQ(facet({"train", "config.json", "--out", "run"}).status, 0);
  const ProgramResult seed = facet({"sample", "run", "--out", "s.png", "--seed", "-1"});
  EXPECT_EQ(seed.status, 2);
  EXPECT_TRUE(contains(seed.err, "--seed")) << seed.err;
  EXPECT_TRUE(contains(seed.err, "-1")) << seed.err;
  const ProgramResult host = facet({"serve", "run", "--host", "nonsense.invalid"});
  EXPECT_EQ(host.status, 2);
  EXPECT_TRUE(contains(host.err, "nonsense.invalid")) << host.err;
  EXPECT_FALSE(contains(host.err, "Success")) << host.err;
}

}  // namespace
}  // namespace facet
