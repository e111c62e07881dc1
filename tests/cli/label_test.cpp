// `facet init` and `facet label` as a user types them: from a folder with a half-filled table to
// the completed one.
#include <gtest/gtest.h>

#include "facet/data/csv.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"

namespace facet {
namespace {

/// The quick run with the factor 'first' named by glasses, from a quarter of the labels, and a run
/// without named factors; a pack of portraits.
class LabelledRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    std::string config = quick_config();
    write_text(*folder_ / "free.json", config, "test");
    const std::string plain = R"("name": "first", "components": 3)";
    ASSERT_TRUE(contains(config, plain));
    config.replace(config.find(plain), plain.size(),
                   R"("name": "first", "property": "glasses", "components": 2)");
    write_text(*folder_ / "named.json", config, "test");
    for (const char* name : {"named", "free"}) {
      const ProgramResult trained = run_facet({"train", path(std::string(name) + ".json"), "--out",
                                               path(name), "--set", "data.label_fraction=0.25"});
      ASSERT_EQ(trained.status, 0) << trained.err;
    }
    const ProgramResult made = run_facet(
        {"import", "portraits", "--count", "50", "--size", "16", "--out", path("p.safetensors")});
    ASSERT_EQ(made.status, 0) << made.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string path(const std::string& name) { return (*folder_ / name).string(); }
  static ProgramResult label(const std::string& run, const std::string& data,
                             const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {"label", path(run), path(data), "--out", path("t.csv")};
    command.insert(command.end(), more.begin(), more.end());
    return run_facet(command);
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(LabelledRun, EveryImageHasARowWithItsValueAndProbability) {
  const ProgramResult result = label("named", "p.safetensors", {"--every-value"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "glasses: 50 given, 0 predicted")) << result.out;
  EXPECT_TRUE(contains(result.out, "labelled test images")) << result.out;
  const Table table = read_csv(path("t.csv"));
  EXPECT_EQ(table.columns,
            (std::vector<std::string>{"image", "glasses given", "glasses completed",
                                      "glasses predicted", "glasses probability", "glasses=without",
                                      "glasses=with", "typicality"}));
  ASSERT_EQ(table.rows.size(), 50u);
  for (const auto& row : table.rows) {
    EXPECT_EQ(row[1], row[2]) << "what was given stays";
    EXPECT_NEAR(std::stod(row[5]) + std::stod(row[6]), 1.0, 2e-4);
    EXPECT_EQ(row[3], std::stod(row[5]) > std::stod(row[6]) ? "without" : "with");
    EXPECT_GE(std::stod(row[7]), 0.0);
    EXPECT_LE(std::stod(row[7]), 1.0);
  }
}

TEST_F(LabelledRun, ValuesBelowTheLeastProbabilityAreLeftEmpty) {
  ASSERT_EQ(label("named", "p.safetensors", {"--min-probability", "1"}).status, 0);
  for (const auto& row : read_csv(path("t.csv")).rows)
    EXPECT_EQ(row[3].empty(), std::stod(row[4]) < 0.99995) << row[4];
}

TEST_F(LabelledRun, SuspiciousLabelsAndQuestionsAreShorterTables) {
  ASSERT_EQ(label("named", "p.safetensors", {"--suspicious"}).status, 0);
  const Table doubted = read_csv(path("t.csv"));
  EXPECT_EQ(doubted.columns.size(), 6u);
  double previous = 0;
  for (const auto& row : doubted.rows) {
    EXPECT_NE(row[2], row[3]) << "given and predicted differ";
    EXPECT_GE(std::stod(row[4]), previous) << "the least probable first";
    previous = std::stod(row[4]);
  }
  const ProgramResult asked = label("named", "p.safetensors", {"--ask", "5"});
  ASSERT_EQ(asked.status, 0) << asked.err;
  EXPECT_TRUE(read_csv(path("t.csv")).rows.empty()) << "every image has its label";
}

TEST_F(LabelledRun, WrongInputIsAnsweredInOneSentence) {
  for (const auto& [run, data, sentence] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"free", "p.safetensors", "no named factor"},
           {"named", "nothing.csv", "no such file or folder"},
           {"nowhere", "p.safetensors", "no config.json"}}) {
    const ProgramResult result = label(run, data);
    EXPECT_EQ(result.status, 2);
    EXPECT_TRUE(contains(result.err, sentence)) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST_F(LabelledRun, ASuggestedConfigTrains) {
  const std::string config = path("suggested.json");
  ASSERT_EQ(run_facet({"init", path("p.safetensors"), "--out", config}).status, 0);
  const ProgramResult again = run_facet({"init", path("p.safetensors"), "--out", config});
  EXPECT_EQ(again.status, 2);
  EXPECT_TRUE(contains(again.err, "a file that exists")) << again.err;
  const ProgramResult trained =
      run_facet({"train", config, "--out", path("suggested"), "--set", "train.pretrain.steps=2",
                 "--set", "train.joint.steps=2", "--set", "model.network.preset=custom", "--set",
                 "model.network.channels=[4,4]", "--set", "model.network.strides=[2,2]"});
  EXPECT_EQ(trained.status, 0) << trained.err;
}

}  // namespace
}  // namespace facet
