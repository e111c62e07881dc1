// `facet sweep` as a user runs it: its runs are those of `facet train`, one that fails does not
// keep the others from ending, an interrupted sweep goes on; and `facet bench`.
#include <algorithm>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/data/image_file.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

class Sweep : public testing::Test {
 protected:
  Sweep() { write_text(config_, quick_config(), "test"); }

  ProgramResult run(std::vector<std::string> arguments) {
    return run_facet(arguments, {.folder = folder_.path()});
  }
  std::vector<std::string> start(const std::string& vary) const {
    return {"sweep", "config.json", "--out", "sweep", "--vary", vary};
  }
  Json record() { return Json::parse(read_text(folder_ / "sweep" / "sweep.json", "test")); }
  void expect_same_run(const fs::path& one, const fs::path& other) {
    for (const char* file : {"config.json", "metrics.jsonl", "model.safetensors",
                             "state.safetensors", "eval.json", "samples.png"})
      EXPECT_TRUE(read_text(folder_ / one / file, "test") ==
                  read_text(folder_ / other / file, "test"))
          << file << " of " << one << " and " << other;
  }
  /// Refused with one line that has all `parts`, and nothing is written.
  void expect_refusal(const std::vector<std::string>& arguments,
                      const std::vector<std::string>& parts) {
    const auto before = files_below(folder_.path());
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    for (const std::string& part : parts)
      EXPECT_TRUE(contains(result.err, part)) << result.err << "  has no " << part;
    EXPECT_TRUE(files_below(folder_.path()) == before) << "files have changed";
  }

  TemporaryFolder folder_;
  fs::path config_ = folder_ / "config.json";
};

TEST_F(Sweep, EveryRunIsWhatTrainMakesOfItsSettings) {
  std::vector<std::string> arguments = start("model.factors.0.components=2,4");
  for (const char* more : {"--vary", "seed=1,2", "--set", "train.joint.steps=15", "--jobs", "2"})
    arguments.push_back(more);
  const ProgramResult swept = run(arguments);
  ASSERT_EQ(swept.status, 0) << swept.err;
  EXPECT_EQ(swept.err, "");
  for (const std::string components : {"2", "4"})
    for (const std::string seed : {"1", "2"}) {
      const std::string name = "components-" + components + "_seed-" + seed;
      const ProgramResult trained =
          run({"train", "config.json", "--out", name, "--set", "train.joint.steps=15", "--set",
               "model.factors.0.components=" + components, "--set", "seed=" + seed});
      ASSERT_EQ(trained.status, 0) << trained.err;
      expect_same_run(fs::path("sweep") / name, name);
    }
  EXPECT_TRUE(contains(swept.out, "over seeds, mean +- standard deviation")) << swept.out;
  const Json json = record();
  ASSERT_EQ(json["runs"].size(), 4u);
  EXPECT_EQ(json["runs"][3]["settings"]["model.factors.0.components"], 4);
  EXPECT_EQ(
      json["runs"][3]["evaluation"],
      Json::parse(read_text(folder_ / "sweep" / "components-4_seed-2" / "eval.json", "test")));
  EXPECT_EQ(json["over_seeds"].size(), 2u);
  std::istringstream csv(read_text(folder_ / "sweep" / "sweep.csv", "test"));
  std::string line;
  int lines = 0;
  while (std::getline(csv, line)) ++lines;
  EXPECT_EQ(lines, 5);
  EXPECT_GT(read_image(folder_ / "sweep" / "sweep.png").width, 500);
}

TEST_F(Sweep, ARunThatFailsIsReportedAndTheOthersEnd) {
  const ProgramResult result = run(start("train.learning_rate.start=1e30,1e-3"));
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(contains(result.err, "1 of 2 runs that failed")) << result.err;
  EXPECT_TRUE(contains(result.out, "NaN or infinity")) << result.out;
  EXPECT_EQ(record()["runs"][0]["state"], "failed");
  EXPECT_EQ(record()["runs"][1]["state"], "finished");
  EXPECT_TRUE(fs::exists(folder_ / "sweep" / "sweep.png"));
}

TEST_F(Sweep, AnInterruptedSweepSavesAllAndGoesOn) {
  std::vector<std::string> arguments = start("seed=1,2,3");
  for (const char* more : {"--jobs", "2", "--set", "train.joint.steps=300"})
    arguments.push_back(more);
  std::vector<std::string> straight = arguments;
  straight[3] = "straight";
  ASSERT_EQ(run(straight).status, 0);
  RunningProgram program(facet_command(arguments), {.folder = folder_.path()});
  ASSERT_TRUE(wait_until([&] { return contains(program.printed(), "seed-2: joint"); }));
  program.send(SIGINT);
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.status, 130) << result.err;
  EXPECT_TRUE(contains(result.out, "facet sweep --out sweep --resume")) << result.out;
  const Json stopped = record();
  EXPECT_EQ(stopped["runs"][1]["state"], "stopped");
  EXPECT_EQ(stopped["runs"][2]["state"], "waiting");

  expect_refusal({"sweep", "--out", "sweep", "--resume", "--set", "train.joint.steps=601"},
                 {"another config", "train.joint.steps: 300, 601"});
  expect_refusal({"sweep", "--out", "sweep", "--resume", "--vary", "seed=1,2"}, {"another --vary"});
  expect_refusal(arguments, {"not empty", "--resume"});

  const ProgramResult resumed = run({"sweep", "--out", "sweep", "--resume"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  for (const char* name : {"seed-1", "seed-2", "seed-3"})
    expect_same_run(fs::path("straight") / name, fs::path("sweep") / name);
  const ProgramResult again = run({"sweep", "--out", "sweep", "--resume"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_TRUE(contains(again.out, "3 finished already")) << again.out;
}

TEST_F(Sweep, WrongInputsAreRefusedAndNothingIsWritten) {
  expect_refusal(start("sead=1,2"), {"sead", "did you mean 'seed'?"});
  expect_refusal(start("seed="), {"no values"});
  expect_refusal(start("seed=1,1"), {"the same value twice"});
  expect_refusal({"sweep", "config.json", "--out", "sweep"}, {"nothing to vary"});
  expect_refusal({"sweep", "--vary", "seed=1", "--out", "sweep"}, {"no config"});
  expect_refusal({"sweep", "config.json", "--vary", "seed=1"}, {"--out"});
  expect_refusal({"sweep", "--out", "absent", "--resume"}, {"no sweep.json"});
  fs::create_directory(folder_ / "sweep");
  write_text(folder_ / "sweep" / "thing", "", "test");
  expect_refusal(start("seed=1"), {"not empty"});
}

TEST_F(Sweep, AConfigOfWhichNoRunCanBeginLeavesNothingBehind) {
  std::vector<std::string> arguments = start("seed=1,2");
  for (const char* more : {"--set", "model.factors.0.property=glases"}) arguments.push_back(more);
  expect_refusal(arguments, {"glases", "did you mean 'glasses'?"});
}

TEST(Bench, OneTableHasAllCases) {
  const TemporaryFolder folder;
  const std::string path = (folder / "all.json").string();
  const ProgramResult result = run_facet(
      {"bench", "--all", "--device", "cpu", "--batch", "2", "--steps", "1", "--json", path});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json json = Json::parse(read_text(path, "test"));
  ASSERT_EQ(json["cases"].size(), 5u);
  EXPECT_EQ(count_of(result.out, "paper28"), 3u + 2u) << result.out;  // of steps, of inference
  EXPECT_EQ(count_of(result.out, "paper64"), 2u + 1u) << result.out;
  std::set<std::string> found;
  for (const Json& record : json["cases"]) {
    const Json& what = record["case"];
    EXPECT_GT(record["step_ms"]["joint"].get<double>(), 0);
    EXPECT_FALSE(record.contains("peak_memory_mb"));
    EXPECT_EQ(record.contains("share_of_ceiling"), !what["labels"].get<bool>());
    found.insert(what["network"].get<std::string>() + (what["labels"].get<bool>() ? "+" : " ") +
                 std::to_string(what["components"].get<int64_t>()));
  }
  EXPECT_EQ(found, (std::set<std::string>{"paper28 64", "paper28 512", "paper28+64", "paper64 64",
                                          "paper64+64"}));
  ASSERT_EQ(json["inference"].size(), 3u);
  for (const Json& record : json["inference"]) {
    EXPECT_EQ(record["per_second"].size(), 4u);
    for (const Json& rate : record["per_second"]) EXPECT_GT(rate.get<double>(), 0);
  }
  const ProgramResult both = run_facet({"bench", "--all", "--network", "paper64"});
  EXPECT_EQ(both.status, 2) << "one network is not all";
  const ProgramResult steps = run_facet({"bench", "--inference", "--steps", "3"});
  EXPECT_EQ(steps.status, 2) << "inference has no steps";
}

TEST(Bench, MeasuresStepsThePriorAndCeilings) {
  TemporaryFolder folder;
  const std::string path = (folder / "bench.json").string();
  const ProgramResult result = run_facet({"bench", "--device", "cpu", "--batch", "2",
                                          "--components", "8", "--steps", "1", "--json", path});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "prior alone")) << result.out;
  const Json json = Json::parse(read_text(path, "test"));
  for (const char* phase : {"pretrain", "initialise", "joint"})
    EXPECT_GT(json["step_ms"][phase].get<double>(), 0) << phase;
  EXPECT_GT(json["prior"]["share_of_joint"].get<double>(), 0);
  EXPECT_LT(json["prior"]["share_of_joint"].get<double>(), 1);
  EXPECT_NEAR(json["work_of_joint"]["network_gflop"].get<double>(), 7.516 * 2 / 64, 0.01);
  EXPECT_NEAR(json["achieved"]["gflop_per_second"].get<double>(),
              json["work_of_joint"]["network_gflop"].get<double>() /
                  (1e-3 * json["step_ms"]["joint"].get<double>()),
              0.1 * json["achieved"]["gflop_per_second"].get<double>());
  for (const char* rate : {"gflop_per_second", "gigabytes_per_second"})
    EXPECT_GT(json["ceilings"][rate].get<double>(), 0.1) << rate;
  EXPECT_TRUE(json["machine"]["gpu"].is_null());
  EXPECT_EQ(json["case"]["network"], "paper28");
}

}  // namespace
}  // namespace facet
