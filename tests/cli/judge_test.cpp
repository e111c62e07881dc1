// `facet eval --judge`: the table and the JSON, which labels the judge learns from, and one line
// for runs that cannot be judged. How well it judges is the library's matter.
#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"

namespace facet {
namespace {

/// The quick run with the factor 'first' named by glasses, from a quarter of the labels.
class JudgedRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    std::string config = quick_config();
    const std::string plain = R"("name": "first", "components": 3)";
    ASSERT_TRUE(contains(config, plain));
    config.replace(config.find(plain), plain.size(),
                   R"("name": "first", "property": "glasses", "components": 2)");
    write_text(*folder_ / "named.json", config, "test");
    write_text(*folder_ / "free.json", quick_config(), "test");
    for (const char* name : {"named", "free"}) {
      const ProgramResult trained =
          run_facet({"train", (*folder_ / (std::string(name) + ".json")).string(), "--out",
                     run(name), "--set", "data.label_fraction=0.25"});
      ASSERT_EQ(trained.status, 0) << trained.err;
    }
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string run(const std::string& name) { return (*folder_ / name).string(); }
  static ProgramResult judge(const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> command = {"eval", run(name), "--judge", "--judge-steps", "4"};
    command.insert(command.end(), more.begin(), more.end());
    return run_facet(command);
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(JudgedRun, JsonHasWhatTheJudgeSays) {
  const ProgramResult result = judge("named", {"--judge-samples", "30", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_TRUE(json["elbo"].is_number()) << "beside what eval says without";
  const Json& judgement = json["judge"];
  EXPECT_EQ(judgement["labels"], "all");
  EXPECT_EQ(judgement["training_labels"], 160);
  EXPECT_EQ(judgement["samples"], 30);
  EXPECT_TRUE(judgement["joint_agreement"].is_number());
  ASSERT_EQ(judgement["factors"].size(), 1u);
  const Json& factor = judgement["factors"][0];
  EXPECT_EQ(factor["name"], "first");
  EXPECT_EQ(factor["property"], "glasses");
  EXPECT_EQ(factor["values"], (Json{"without", "with"}));
  for (size_t v = 0; v < 2; ++v)
    EXPECT_EQ(factor["confusion"][v][0].get<int>() + factor["confusion"][v][1].get<int>(), 30);
  EXPECT_FALSE(Json::parse(run_facet({"eval", run("named"), "--json"}).out).contains("judge"));
}

TEST_F(JudgedRun, LearnsFromTheLabelsThatTheRunSaw) {
  const ProgramResult result =
      judge("named", {"--judge-samples", "5", "--judge-labels", "run", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json judgement = Json::parse(result.out)["judge"];
  EXPECT_EQ(judgement["labels"], "run");
  EXPECT_EQ(judgement["training_labels"], 40) << "a quarter of 160 images";
}

TEST_F(JudgedRun, TableNamesFactorsAndValues) {
  const ProgramResult result = judge("named", {"--judge-samples", "5"});
  ASSERT_EQ(result.status, 0) << result.err;
  for (const char* part :
       {"test split, 20 images", "evaluation classifier, trained on 160 labelled images", "without",
        "with", "all named factors at once"})
    EXPECT_TRUE(contains(result.out, part)) << part << " in\n" << result.out;
}

TEST_F(JudgedRun, RunWithoutANamedFactorIsAnErrorInOneLine) {
  const ProgramResult result = judge("free", {});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(contains(result.err, "without a named factor")) << result.err;
}

TEST_F(JudgedRun, PackWithoutLabelsOfThePropertyIsAnError) {
  const std::string pack = (*folder_ / "unlabelled.safetensors").string();
  std::filesystem::create_directories(*folder_ / "pictures");
  // Every portrait has its labels; pictures from a folder have none.
  ASSERT_EQ(run_facet({"sample", run("named"), "--count", "1", "--out",
                       (*folder_ / "pictures" / "a.png").string()})
                .status,
            0);
  const ProgramResult imported = run_facet(
      {"import", "images", (*folder_ / "pictures").string(), "--size", "16", "--out", pack});
  ASSERT_EQ(imported.status, 0) << imported.err;
  const ProgramResult result = judge("named", {"--pack", pack, "--split", "train"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(contains(result.err, "no image with a label of property 'glasses'")) << result.err;
}

TEST_F(JudgedRun, OptionsOfTheJudgeNeedTheJudge) {
  const ProgramResult result = run_facet({"eval", run("named"), "--judge-samples", "5"});
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(contains(result.err, "--judge")) << result.err;
  EXPECT_EQ(judge("named", {"--judge-labels", "none"}).status, 2);
}

}  // namespace
}  // namespace facet
