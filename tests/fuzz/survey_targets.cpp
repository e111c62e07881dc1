#include "facet/report/survey_answers.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/targets.h"
#include "tests/survey_folder.h"

namespace facet {
namespace {

const TestSurvey& fuzz_survey() {
  static const TestSurvey survey;
  return survey;
}

/// A folder in which one file of the survey is replaced.
SurveyFolder survey_with(const std::string& name, std::string_view bytes) {
  const TestSurvey& survey = fuzz_survey();
  input_file("survey/survey.json", to_json(survey.survey).dump());
  input_file("survey/key.json", to_json(survey.key, survey.survey).dump());
  return {input_file("survey/" + name, bytes).parent_path()};
}

bool read_survey_bytes(std::string_view bytes) {
  return taken([&] { survey_with("survey.json", bytes).read().order_for("someone"); });
}
std::vector<std::string> survey_seeds() { return {to_json(fuzz_survey().survey).dump()}; }

bool read_key_bytes(std::string_view bytes) {
  return taken([&] { survey_with("key.json", bytes).read_key(fuzz_survey().survey); });
}
std::vector<std::string> key_seeds() {
  return {to_json(fuzz_survey().key, fuzz_survey().survey).dump()};
}

bool read_answers_bytes(std::string_view bytes) {
  const SurveyFolder folder = survey_with("answers.csv", bytes);
  const bool read = taken([&] {
    const SurveyAnswers answers = read_answers(folder, fuzz_survey().survey);
    answers.notice(folder.answers());
    answers.last();
  });
  std::filesystem::remove(folder.answers());
  return read;
}
std::vector<std::string> answers_seeds() {
  return {kAnswerColumns + "anna,1,a0,glasses,with,900\nanna,1,a0,hair,cannot tell,12\n",
          kAnswerColumns + "\"b, c\",2,b0,hair,long,5\nb,3,c0,gla",
          kAnswerColumns +
              "\"a \"\"b\"\"\",1,a0,hair,long,5\n\"a \"\"b\"\"\",1,a0,hair,short,6\n"
              "a,x,a0,hair,long,5\na,1,a0,hair,blue,5\n\"a,1\n"};
}

}  // namespace

std::vector<FuzzTarget> survey_targets() {
  return {{"survey", read_survey_bytes, survey_seeds},
          {"survey_key", read_key_bytes, key_seeds},
          {"answers", read_answers_bytes, answers_seeds}};
}

}  // namespace facet
