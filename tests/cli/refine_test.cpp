// `facet refine` and `--refined` as a user calls them.
#include <csignal>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/data/image_file.h"
#include "facet/model/model_file.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

/// A run whose refiner had four steps, after which the average of its weights is no longer zero.
class Refined : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    write_text(*folder_ / "config.json", quick_config(), "test");
    EXPECT_EQ(facet({"train", "config.json", "--out", "run"}).status, 0);
    fs::copy(*folder_ / "run", *folder_ / "plain", fs::copy_options::recursive);
    refining_ = facet(with_tiny_network({"refine", "run", "--steps", "4"}));
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static ProgramResult facet(const std::vector<std::string>& arguments) {
    return run_facet(arguments, {.folder = folder_->path()});
  }
  static std::vector<std::string> with_tiny_network(std::vector<std::string> arguments) {
    for (const char* setting :
         {"network.preset=custom", "network.width=16", "network.multipliers=[1,2]",
          "network.blocks=1", "warmup_steps=1", "learning_rate=0.005"})
      arguments.insert(arguments.end(), {"--set", setting});
    arguments.insert(arguments.end(), {"--batch-size", "4"});
    return arguments;
  }
  static std::vector<uint8_t> drawn(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--out", "new.png", "--device", "cpu"});
    const ProgramResult result = facet(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return read_image(*folder_ / "new.png").pixels;
  }
  static void expect_refused(const std::vector<std::string>& arguments, const std::string& part) {
    const ProgramResult result = facet(arguments);
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_TRUE(contains(result.err, part)) << result.err;
  }

  static inline TemporaryFolder* folder_ = nullptr;
  static inline ProgramResult refining_;
};

TEST_F(Refined, InfoNamesTheRefiner) {
  EXPECT_TRUE(contains(facet({"info", "run"}).out, "a refiner with "))
      << facet({"info", "run"}).out;
  EXPECT_FALSE(contains(facet({"info", "plain"}).out, "refiner"));
  EXPECT_TRUE(contains(facet({"info", "run/refiner.safetensors"}).out, "the refiner of a run"));
}

TEST_F(Refined, AModelToPassOnHasItsRefiner) {
  const std::vector<std::string> sample = {"--count", "3", "--refined", "--refine-steps", "2"};
  const auto pixels = [&](const std::string& run) {
    std::vector<std::string> arguments = {"sample", run};
    arguments.insert(arguments.end(), sample.begin(), sample.end());
    return drawn(arguments);
  };
  ASSERT_EQ(facet({"export", "model", "run", "--out", "copy"}).status, 0);
  EXPECT_EQ(pixels("copy"), pixels("run"));
  const ProgramResult half =
      facet({"export", "model", "run", "--weights", "bf16", "--out", "half"});
  ASSERT_EQ(half.status, 0) << half.err;
  for (const char* name : {"model.safetensors", "refiner.safetensors"})
    EXPECT_LT(fs::file_size(*folder_ / "half" / name), fs::file_size(*folder_ / "copy" / name));
  EXPECT_FALSE(fs::exists(*folder_ / "half/state.safetensors"));
  EXPECT_FALSE(fs::exists(*folder_ / "half/metrics.jsonl"));
  const std::vector<uint8_t> whole = pixels("copy"), rounded = pixels("half");
  ASSERT_EQ(rounded.size(), whole.size());
  double sum = 0;
  for (size_t i = 0; i < whole.size(); ++i) sum += std::abs(rounded[i] - whole[i]);
  EXPECT_LT(sum / static_cast<double>(whole.size()), 2.0) << "rounding changes little, of 255";
  expect_refused({"export", "model", "run", "--out", "copy"}, "a folder that has files");
}

TEST_F(Refined, RefineLeavesItsFilesInTheRun) {
  EXPECT_EQ(refining_.status, 0) << refining_.err;
  EXPECT_TRUE(contains(refining_.out, "refine 4/4")) << refining_.out;
  for (const char* name : {"refiner.safetensors", "refiner-state.safetensors",
                           "refiner-config.json", "refiner-metrics.jsonl", "refiner-samples.png"})
    EXPECT_TRUE(fs::exists(*folder_ / "run" / name)) << name;
}

TEST_F(Refined, EveryPictureCommandRefines) {
  const std::vector<std::vector<std::string>> commands = {
      {"sample", "run", "--count", "2"},
      {"grid", "run", "--rows", "first", "--cols", "second", "--limit", "2"},
      {"reconstruct", "run", "test:0"},
      {"edit", "run", "test:0", "--toward", "test:1", "--steps", "2"}};
  for (std::vector<std::string> command : commands) {
    const std::vector<uint8_t> plain = drawn(command);
    command.insert(command.end(), {"--refined", "--refine-steps", "2"});
    const std::vector<uint8_t> refined = drawn(command);
    EXPECT_NE(refined, plain) << command[0];
    EXPECT_EQ(refined, drawn(command)) << command[0];
    std::vector<std::string> guided = command;
    guided.insert(guided.end(), {"--refine-guidance", "4"});
    EXPECT_NE(refined, drawn(guided)) << command[0];
    command.insert(command.end(), {"--seed", "2"});
    EXPECT_NE(refined, drawn(command)) << command[0];
  }
}

TEST_F(Refined, TheReportNamesCommandsThatRefine) {
  const ProgramResult result = facet({"report", "run", "--refined", "--refine-steps", "2"});
  EXPECT_EQ(result.status, 0) << result.err;
  // Each word of a command is an element, so that it wraps between words only.
  const std::string page = std::regex_replace(read_text(*folder_ / "run/report.html", "test"),
                                              std::regex("</?span[^>]*>"), "");
  EXPECT_TRUE(contains(page, "facet sample run --refined --refine-steps 2 --out samples.png"));
}

TEST_F(Refined, FidelityComparesImagesMeansAndRefinedSamples) {
  const ProgramResult result =
      facet({"eval", "run", "--split", "train", "--fidelity", "--fidelity-samples", "60",
             "--fidelity-steps", "3", "--refine-steps", "1"});
  EXPECT_EQ(result.status, 0) << result.err;
  for (const char* part :
       {"other images", "means of samples", "refined, 1 steps, guidance 1.5", "Frechet"})
    EXPECT_TRUE(contains(result.out, part)) << part << " in " << result.out;
  for (const char* name : {"fidelity.json", "features.safetensors"})
    EXPECT_TRUE(fs::exists(*folder_ / "run" / name)) << name;
  expect_refused({"eval", "run", "--split", "test", "--fidelity"}, "at least 50 per half");
  expect_refused({"eval", "run", "--refine-steps", "3"}, "--refine-steps alone");
  expect_refused({"eval", "run", "--refine-guidance", "3"}, "--refine-guidance alone");
}

TEST_F(Refined, ResumeGoesOn) {
  const ProgramResult result = facet({"refine", "run", "--resume", "--steps", "6"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "refine 6/6")) << result.out;
}

TEST_F(Refined, GuidanceMayChangeWithoutFurtherSteps) {
  fs::copy(*folder_ / "run", *folder_ / "guided", fs::copy_options::recursive);
  const std::vector<std::string> sample = {"sample", "guided", "--refined", "--refine-steps", "2"};
  std::vector<std::string> chosen = sample;
  chosen.insert(chosen.end(), {"--refine-guidance", "3"});
  const std::vector<uint8_t> before = drawn(sample), wanted = drawn(chosen);
  const ProgramResult result = facet({"refine", "guided", "--resume", "--set", "guidance=3"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(wanted, before);
  EXPECT_EQ(drawn(sample), wanted);
}

TEST_F(Refined, InterruptSavesAndResumeFinishes) {
  fs::copy(*folder_ / "plain", *folder_ / "stopped", fs::copy_options::recursive);
  std::vector<std::string> arguments =
      with_tiny_network({"refine", "stopped", "--steps", "100000", "--set", "log_every=1"});
  const fs::path metrics = *folder_ / "stopped/refiner-metrics.jsonl";
  RunningProgram program(facet_command(arguments), {.folder = folder_->path()});
  ASSERT_TRUE(wait_until([&] { return fs::exists(metrics) && fs::file_size(metrics) > 0; }));
  program.send(SIGINT);
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.status, 130) << result.err;
  EXPECT_TRUE(contains(result.out, "facet refine stopped --resume")) << result.out;
  std::istringstream lines(read_text(metrics, "test"));
  std::string line, last;
  while (std::getline(lines, line)) last = line;
  const std::string more =
      std::to_string(Json::parse(last)["step"].get<int64_t>() + 2);  // of 100,000
  const ProgramResult resumed = facet({"refine", "stopped", "--resume", "--steps", more});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_TRUE(contains(resumed.out, "refine " + more + "/" + more)) << resumed.out;
}

TEST_F(Refined, RefusalsAreOneLine) {
  expect_refused({"sample", "plain", "--refined", "--out", "no.png"},
                 "run `facet refine plain` first");
  expect_refused({"refine", "run"}, "--overwrite begins anew");
  expect_refused({"refine", "plain", "--resume"}, "no refiner to resume");
  expect_refused({"refine", "run", "--resume", "--seed", "3"}, "another config (seed)");
  expect_refused({"refine", "plain", "--set", "stps=3"}, "did you mean 'steps'?");
  expect_refused({"refine", "nowhere"}, "no config.json");
  EXPECT_EQ(
      facet({"import", "portraits", "--count", "20", "--size", "20", "--out", "small"}).status, 0);
  expect_refused({"refine", "plain", "--pack", "small"}, "images of 20x20");
  expect_refused({"refine"}, "no run");
  expect_refused({"sample", "run", "--refined", "--pixels", "sample", "--out", "no.png"},
                 "--pixels");
  expect_refused({"sample", "run", "--refine-steps", "3", "--out", "no.png"}, "--refined");
  expect_refused({"sample", "run", "--refined", "--refine-guidance", "0.5", "--out", "no.png"},
                 "--refine-guidance");
  fs::copy(*folder_ / "run/refiner.safetensors", *folder_ / "plain/refiner.safetensors");
  auto model = read_model(*folder_ / "plain/model.safetensors");
  model->prior.posteriors[0].counts[0] += 1;
  write_model(*folder_ / "plain/model.safetensors", *model);
  expect_refused({"sample", "plain", "--refined", "--out", "no.png"},
                 "the refiner of another model");
}

}  // namespace
}  // namespace facet
