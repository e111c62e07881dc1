// A small survey by hand, for tests that need no model: three samples, a photograph, and the first
// sample again.
#pragma once

#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/report/survey.h"
#include "tests/temporary_folder.h"

namespace facet {

inline const std::string kAnswerColumns = "rater,order,item,question,answer,milliseconds\n";

class TestSurvey {
 public:
  TestSurvey() : folder{temporary_.path()} {
    survey.id = "0123456789abcdef";
    survey.run = "runs/faces";
    survey.model = "12345678";
    survey.program = "facet";
    survey.width = survey.height = 16;
    survey.questions = {survey_question("glasses", "glasses", {"without", "with"}, ""),
                        survey_question("hair", "hair_style", {"short", "long", "none"}, "")};
    survey.items = {"a0", "a1", "a2", "b0", "c0"};
    key = {survey.id,
           {{"a0", false, {"with", "short"}, ""},
            {"a1", false, {"without", "long"}, ""},
            {"a2", false, {"with", "none"}, ""},
            {"b0", true, {"without", "short"}, ""},
            {"c0", false, {"with", "short"}, "a0"}}};
    write();
  }

  void write() const {
    write_text(folder.description(), to_json(survey).dump(), "test");
    write_text(folder.key(), to_json(key, survey).dump(), "test");
    std::filesystem::create_directories(folder.path / "pictures");
    for (const std::string& item : survey.items)
      write_text(folder.picture(item), "picture " + item, "test");
  }
  void answers(const std::string& lines) const {
    write_text(folder.answers(), kAnswerColumns + lines, "test");
  }
  std::string answers() const { return read_text(folder.answers(), "test"); }

 private:
  TemporaryFolder temporary_;

 public:
  SurveyFolder folder;
  Survey survey;
  SurveyKey key;
};

}  // namespace facet
