// `facet survey` as a user calls it: making, scoring, and in the report. tests/serve has its
// server.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/data/image_file.h"
#include "facet/report/survey_answers.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

/// 16x16 portraits with one named factor of two values and a free one.
std::string named_config(int seed) {
  return R"({"seed": )" + std::to_string(seed) + R"(, "data": {"pack": "pack"},
  "model": {"likelihood": {"kind": "gaussian", "minimum_stddev": 0.05},
    "network": {"preset": "custom", "channels": [8, 8], "strides": [2, 2]},
    "factors": [{"name": "glasses", "property": "glasses", "components": 2, "dimensions": 2},
                {"name": "first", "components": 3, "dimensions": 2}]},
  "train": {"batch_size": 16, "pretrain": {"steps": 5}, "initialise": {"steps": 2},
            "joint": {"steps": 5}}})";
}

/// A run with named factors, another one, and a survey of the first; tests work on copies.
class Surveyed : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    good_ = new TemporaryFolder;
    const auto done = [&](const std::vector<std::string>& arguments) {
      const ProgramResult result = run_facet(arguments, {.folder = good_->path()});
      EXPECT_EQ(result.status, 0) << result.err;
      return result.out;
    };
    done({"import", "portraits", "--count", "300", "--size", "16", "--out", "pack"});
    for (int seed : {1, 2}) {
      const std::string name = std::to_string(seed);
      write_text(*good_ / (name + ".json"), named_config(seed), "test");
      done({"train", name + ".json", "--out", "run" + name});
    }
    made_ = done({"survey", "run1", "--out", "survey", "--samples", "5", "--controls", "4"});
  }
  static void TearDownTestSuite() {
    delete good_;
    good_ = nullptr;
  }
  Surveyed() {
    fs::copy(good_->path(), folder_.path(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }

  ProgramResult facet(const std::vector<std::string>& arguments) const {
    return run_facet(arguments, {.folder = folder_.path()});
  }
  void expect_refused(const std::vector<std::string>& arguments, const std::string& part) const {
    const auto before = files_below(folder_.path());
    const ProgramResult result = facet(arguments);
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_TRUE(contains(result.err, part)) << result.err;
    EXPECT_TRUE(files_below(folder_.path()) == before) << "files have changed: " << result.err;
  }
  SurveyFolder survey() const { return {folder_ / "survey"}; }
  Json key() const { return Json::parse(read_text(survey().key(), "test"))["items"]; }

  /// Every item answered as it is, by two raters.
  void answer_all() const {
    AnswerFile file(survey().answers());
    for (const char* rater : {"Ann", "Bo"})
      for (const Json& item : key())
        file.append({rater, 1, item["item"], "glasses", item["values"]["glasses"], 700});
  }

  static inline TemporaryFolder* good_ = nullptr;
  static inline std::string made_;
  TemporaryFolder folder_;
};

TEST_F(Surveyed, HasSamplesAndPhotographsOfEveryCombinationAndATenthTwice) {
  EXPECT_TRUE(contains(made_, "10 samples and 8 photographs, 2 of them shown twice")) << made_;
  EXPECT_TRUE(contains(made_, "Do you see glasses?")) << made_;
  std::map<std::string, int> counts;
  std::map<std::string, std::string> pictures;
  for (const Json& item : key()) {
    const std::string name = item["item"];
    pictures[name] = read_text(survey().picture(name), "test");
    EXPECT_EQ(read_image(survey().picture(name)).width, 16);
    if (item["repeats"] == "")
      ++counts[item["kind"].get<std::string>() + " " +
               item["values"]["glasses"].get<std::string>()];
  }
  EXPECT_EQ(counts, (std::map<std::string, int>{{"sample with", 5},
                                                {"sample without", 5},
                                                {"photograph with", 4},
                                                {"photograph without", 4}}));
  std::set<std::string> different;
  for (const auto& [name, bytes] : pictures) different.insert(bytes);
  EXPECT_EQ(different.size(), 18u);
  for (const Json& item : key()) {
    const std::string original = item["repeats"];
    if (original.empty()) continue;
    EXPECT_EQ(pictures[item["item"]], pictures[original]);
  }
}

TEST_F(Surveyed, TheSameCommandMakesTheSameSurvey) {
  EXPECT_EQ(facet({"survey", "run1", "--out", "again", "--samples", "5", "--controls", "4"}).status,
            0);
  EXPECT_TRUE(files_below(folder_ / "again") == files_below(folder_ / "survey"));
  EXPECT_EQ(facet({"survey", "run1", "--out", "other", "--seed", "2"}).status, 0);
  EXPECT_FALSE(files_below(folder_ / "other") == files_below(folder_ / "survey"));
}

TEST_F(Surveyed, WithoutTheDataThereAreNoPhotographs) {
  const fs::path config = folder_ / "run1" / "config.json";
  Json json = Json::parse(read_text(config, "test"));
  json["data"]["pack"] = "gone";
  write_text(config, json.dump(), "test");
  const ProgramResult result = facet({"survey", "run1", "--out", "new", "--samples", "3"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "no photographs: ")) << result.out;
  EXPECT_TRUE(contains(result.out, "6 samples and 0 photographs")) << result.out;
  expect_refused({"survey", "run1", "--out", "asked", "--controls", "1"}, "gone");
}

TEST_F(Surveyed, ShowsRefinedSamplesBesideTheSamePhotographs) {
  const ProgramResult refined =
      facet({"refine", "run1", "--steps", "2", "--batch-size", "4", "--set",
             "network.preset=custom", "--set", "network.width=16", "--set",
             "network.multipliers=[1,2]", "--set", "network.blocks=1"});
  ASSERT_EQ(refined.status, 0) << refined.err;
  const ProgramResult made = facet({"survey", "run1", "--out", "sharp", "--samples", "5",
                                    "--controls", "4", "--refined", "--refine-steps", "2"});
  EXPECT_TRUE(contains(made.out, "10 samples, refined, and 8 photographs")) << made.err;
  const auto pictures = [&](const SurveyFolder& folder, const std::string& kind) {
    std::multiset<std::string> found;
    const Json key = Json::parse(read_text(folder.key(), "test"));
    for (const Json& item : key["items"])
      if (item["kind"] == kind && item["repeats"] == "")
        found.insert(read_text(folder.picture(item["item"]), "test"));
    return found;
  };
  const SurveyFolder sharp{folder_ / "sharp"};
  EXPECT_TRUE(sharp.read().refined);
  EXPECT_EQ(pictures(sharp, "sample").size(), 10u);
  EXPECT_TRUE(pictures(sharp, "photograph") == pictures(survey(), "photograph"));
  EXPECT_FALSE(pictures(sharp, "sample") == pictures(survey(), "sample"));
}

TEST_F(Surveyed, ScoresAndReportsTheAnswers) {
  answer_all();
  const ProgramResult scored = facet({"survey", "--score", "survey"});
  EXPECT_EQ(scored.status, 0) << scored.err;
  for (const char* part : {"40 answers of 2 raters", "100.0 %", "85 %", "Krippendorff", "Ann"})
    EXPECT_TRUE(contains(scored.out, part)) << part << scored.out;
  const Json json = Json::parse(facet({"survey", "survey", "--score", "--json"}).out);
  EXPECT_EQ(json["questions"][0]["samples"]["accuracy"], 1.0);
  EXPECT_EQ(json["questions"][0]["samples"]["krippendorff_alpha"], 1.0);
  EXPECT_EQ(json["questions"][0]["photographs"]["answers"], 16);
  EXPECT_EQ(json["questions"][0]["repeats"]["count"], 4);

  EXPECT_EQ(facet({"report", "run1", "--survey", "survey", "--out", "named.html"}).status, 0);
  const std::string named = read_text(folder_ / "named.html", "test");
  for (const char* part : {"What people see", "2 raters were shown 10 samples", "85 %"})
    EXPECT_TRUE(contains(named, part)) << part;
  fs::rename(folder_ / "survey", folder_ / "run1" / "survey");
  EXPECT_EQ(facet({"report", "run1", "--out", "own.html"}).status, 0);
  EXPECT_TRUE(contains(read_text(folder_ / "own.html", "test"), "What people see"));
}

TEST_F(Surveyed, AReportSaysNothingOfASurveyThatNobodyAnswered) {
  fs::rename(folder_ / "survey", folder_ / "run1" / "survey");
  const ProgramResult result = facet({"report", "run1"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "nobody has answered")) << result.out;
  EXPECT_FALSE(contains(read_text(folder_ / "run1/report.html", "test"), "What people see"));
}

TEST_F(Surveyed, OfAnotherRunIsNotReported) {
  answer_all();
  expect_refused({"report", "run2", "--survey", "survey", "--out", "no.html"},
                 "one of another model, made from 'run1'");
  expect_refused({"survey", "run2", "--out", "survey"}, "a survey of another run");
  fs::rename(folder_ / "survey", folder_ / "run2" / "survey");
  const ProgramResult result = facet({"report", "run2"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "the report has no survey: ")) << result.out;
}

TEST_F(Surveyed, ACutAnswerIsSaidAndSkipped) {
  answer_all();
  const std::string text = read_text(survey().answers(), "test");
  write_text(survey().answers(), text.substr(0, text.size() / 2), "test");
  const ProgramResult result = facet({"survey", "survey", "--score"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_TRUE(contains(result.err, "is cut or damaged and was skipped")) << result.err;
  EXPECT_EQ(read_text(survey().answers(), "test"), text.substr(0, text.size() / 2));
}

TEST_F(Surveyed, RefusesBadInputInOneLine) {
  expect_refused({"survey", "run1", "--out", "survey"}, "a survey of this run already");
  expect_refused({"survey", "run1", "--out", "run2"}, "a folder that has files");
  expect_refused({"survey", "run1", "--out", "pack"}, "a file");
  expect_refused({"survey", "run1"}, "--out, --serve or --score");
  expect_refused({"survey", "run1", "--score"}, "run1/survey.json");
  expect_refused({"survey", "run1", "--serve"}, "run1/survey.json");
  expect_refused({"survey", "run1", "--out", "new", "--refined"}, "run `facet refine run1` first");
  expect_refused({"survey", "run1", "--out", "new", "--ask", "glases=x?"},
                 "did you mean 'glasses'");
  expect_refused({"survey", "run1", "--out", "new", "--ask", "glasses"}, "FACTOR=QUESTION");
  expect_refused({"survey", "run1", "--out", "new", "--samples", "3000"}, "at most 5000 pictures");
  expect_refused({"survey", "survey", "--score", "--serve"}, "excludes");
  write_text(folder_ / "plain.json", quick_config(), "test");
  ASSERT_EQ(facet({"train", "plain.json", "--out", "plain"}).status, 0);
  expect_refused({"survey", "plain", "--out", "new"}, "a model without named factors");
  write_text(survey().answers(), "something else\n", "test");
  expect_refused({"survey", "survey", "--score"}, "another first line");
  expect_refused({"survey", "survey", "--serve", "--port", "0"}, "another first line");
}

}  // namespace
}  // namespace facet
