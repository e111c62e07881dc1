// The API of a survey: what raters may see, and which answers are taken.
#include "facet/serve/survey_server.h"

#include <gtest/gtest.h>

#include "facet/export/page_files.h"
#include "tests/contains.h"
#include "tests/message_of.h"
#include "tests/serve/served_run.h"
#include "tests/survey_folder.h"

namespace facet {
namespace {

std::string answer_body(const std::string& rater, const std::string& item,
                        const std::string& answer) {
  return Json{{"rater", rater},
              {"item", item},
              {"question", "glasses"},
              {"answer", answer},
              {"milliseconds", 1234}}
      .dump();
}

TEST(SurveyServer, ShowsItsPageAndNothingOfTheExplorer) {
  const TestSurvey test;
  const SurveyHandler handler(test.folder.path);
  for (const char* path : {"/", "/survey.mjs", "/survey.css", "/icon.svg"})
    EXPECT_NE(find_page_file(handler.page_file(path)), nullptr) << path;
  for (const char* path :
       {"/app.mjs", "/index.html", "/survey/survey.mjs", "/key.json", "", "/api/v1/openapi.yaml"})
    EXPECT_EQ(find_page_file(handler.page_file(path)), nullptr) << path;
}

TEST(SurveyServer, TellsNothingOfTheKey) {
  const TestSurvey test;
  SurveyHandler handler(test.folder.path);
  std::filesystem::remove(test.folder.key());  // it is not needed either
  const std::string text = handler.handle(get_request("survey", {{"rater", "Ann"}})).body;
  for (const char* word : {"photograph", "sample", "repeat", "model", "runs/faces"})
    EXPECT_FALSE(contains(text, word)) << text;
  const Json json = Json::parse(text);
  EXPECT_EQ(json["items"].get<std::vector<std::string>>(), test.survey.order_for("Ann"));
  EXPECT_EQ(json["questions"].size(), 2u);
  EXPECT_EQ(handler.handle(get_request("picture", {{"item", "a1"}})).body, "picture a1");
  for (const char* item : {"../key", "", "A1", "a1.png", "zz"})
    EXPECT_EQ(handler.handle(get_request("picture", {{"item", item}})).status, 404) << item;
}

TEST(SurveyServer, SavesAnAnswerBeforeItSaysSo) {
  const TestSurvey test;
  SurveyHandler handler(test.folder.path);
  EXPECT_EQ(handler.handle(post_request("answer", answer_body(" Ann ", "a1", "with"))).status, 200);
  const auto order = test.survey.order_for("Ann");
  const auto place = std::find(order.begin(), order.end(), "a1") - order.begin() + 1;
  EXPECT_EQ(test.answers(), kAnswerColumns + fmt::format("Ann,{},a1,glasses,with,1234\n", place));
  const Json seen = Json::parse(handler.handle(get_request("survey", {{"rater", "Ann"}})).body);
  EXPECT_EQ(seen["answers"]["a1"]["glasses"], "with");
  const Json other = Json::parse(handler.handle(get_request("survey", {{"rater", "Bo"}})).body);
  EXPECT_TRUE(other["answers"].empty());
}

TEST(SurveyServer, RefusesWhatIsNoAnswer) {
  const TestSurvey test;
  SurveyHandler handler(test.folder.path);
  for (const std::string& body :
       {answer_body("", "a1", "with"), answer_body("Ann", "zz", "with"),
        answer_body("Ann", "a1", "maybe"), answer_body("a\nb", "a1", "with"), std::string("{}"),
        std::string("no"), std::string(R"({"rater": 1})")}) {
    const ApiResponse response = handler.handle(post_request("answer", body));
    EXPECT_EQ(response.status, 400) << body << response.body;
  }
  EXPECT_EQ(handler.handle(post_request("answer", "{}", "text/plain")).status, 415);
  EXPECT_EQ(handler.handle(post_request("answer", std::string(5000, ' '))).status, 413);
  EXPECT_EQ(handler.handle(get_request("answer")).status, 405);
  EXPECT_EQ(handler.handle(get_request("model")).status, 404);
  EXPECT_FALSE(std::filesystem::exists(test.folder.answers()));
}

TEST(SurveyServer, AnAnswerThatCannotBeSavedIsNotAcknowledged) {
  const TestSurvey test;
  SurveyHandler handler(test.folder.path);
  std::filesystem::create_directory(test.folder.answers());  // where the file should be
  EXPECT_EQ(handler.handle(post_request("answer", answer_body("Ann", "a1", "with"))).status, 507);
}

TEST(SurveyServer, IsNotStartedWithoutAllPictures) {
  const TestSurvey test;
  std::filesystem::remove(test.folder.picture("a2"));
  EXPECT_TRUE(contains(message_of([&] { SurveyHandler handler(test.folder.path); }),
                       "no picture of item a2"));
}

TEST(ExplorerPage, HasNoneOfTheSurvey) {
  const TemporaryFolder folder;
  write_served_run(folder / "run");
  const Explorer explorer({.run = folder / "run"});
  EXPECT_EQ(find_page_file(explorer.page_file("/survey/survey.html")), nullptr);
  EXPECT_NE(find_page_file(explorer.page_file("/app.mjs")), nullptr);
}

}  // namespace
}  // namespace facet
