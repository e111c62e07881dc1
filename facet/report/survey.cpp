#include "facet/report/survey.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/random.h"
#include "facet/core/torch.h"

namespace facet {

namespace {

constexpr const char* kReadingSurvey = "reading a survey";
constexpr const char* kSurveyFormat = "facet survey 1";

/// A file of the survey as JSON.
Json read_survey_json(const std::filesystem::path& path) {
  const Attempt reading{kReadingSurvey, path.string()};
  if (!std::filesystem::exists(path))
    reading.fail("no such file", "a folder that 'facet survey RUN --out FOLDER' has made");
  const Json json = Json::parse(read_text(path, kReadingSurvey), nullptr, false);
  if (json.is_discarded() || !json.is_object())
    reading.fail("no JSON", "one object", "was the file cut short?");
  if (json.value("format", Json()) != kSurveyFormat)
    reading.fail("another kind of file", fmt::format("the format '{}'", kSurveyFormat));
  return json;
}

SurveyQuestion question_from(const Json& json) {
  SurveyQuestion question{json.at("name"), json.at("property"), json.at("text"), {}};
  for (const Json& choice : json.at("choices"))
    question.choices.push_back({choice.at("answer"), choice.at("label")});
  return question;
}

Survey survey_from(const Json& json) {
  Survey survey;
  survey.id = json.at("id");
  survey.run = json.at("run");
  survey.model = json.at("model");
  survey.program = json.at("program");
  survey.seed = json.at("seed");
  survey.refined = json.at("refined");
  survey.width = json.at("width");
  survey.height = json.at("height");
  for (const Json& question : json.at("questions"))
    survey.questions.push_back(question_from(question));
  survey.items = json.at("items").get<std::vector<std::string>>();
  return survey;
}

/// Names of pictures come from the file: none may lead out of the folder.
bool is_item_name(const std::string& item) {
  return !item.empty() && item.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void require_whole(const Survey& survey, const Attempt& reading) {
  if (survey.questions.empty() || survey.items.empty())
    reading.fail("no question or no item", "at least one of each");
  for (const SurveyQuestion& question : survey.questions)
    if (question.choices.size() < 2 || question.choices.back().answer != kCannotTell)
      reading.fail(fmt::format("the choices of '{}'", question.name),
                   fmt::format("values and, as the last, '{}'", kCannotTell));
  for (const std::string& item : survey.items)
    if (!is_item_name(item)) reading.fail(fmt::format("an item '{}'", item), "hexadecimal digits");
  if (std::set<std::string>(survey.items.begin(), survey.items.end()).size() != survey.items.size())
    reading.fail("an item twice", "each once");
}

void require_known_answers(const SurveyKey& key, const Survey& survey, const Attempt& reading) {
  for (const SurveyKeyItem& item : key.items)
    for (size_t q = 0; q < survey.questions.size(); ++q)
      if (survey.questions[q].choice_of(item.values[q]) < 0 || item.values[q] == kCannotTell)
        reading.fail(
            fmt::format("the value '{}' of '{}'", item.values[q], survey.questions[q].name),
            "one of the question's");
}

}  // namespace

int SurveyQuestion::choice_of(const std::string& answer) const {
  for (size_t i = 0; i < choices.size(); ++i)
    if (choices[i].answer == answer) return static_cast<int>(i);
  return -1;
}

const SurveyQuestion* Survey::question(const std::string& name) const {
  const auto found = std::find_if(questions.begin(), questions.end(),
                                  [&](const SurveyQuestion& each) { return each.name == name; });
  return found == questions.end() ? nullptr : &*found;
}

std::vector<std::string> Survey::order_for(const std::string& rater) const {
  const torch::Tensor order =
      permutation(Key(seed).fold("survey order").fold(rater), static_cast<int64_t>(items.size()));
  std::vector<std::string> ordered;
  for (int64_t i = 0; i < order.size(0); ++i)
    ordered.push_back(items[static_cast<size_t>(order.data_ptr<int64_t>()[i])]);
  return ordered;
}

Survey SurveyFolder::read() const {
  const Attempt reading{kReadingSurvey, description().string()};
  try {
    Survey survey = survey_from(read_survey_json(description()));
    require_whole(survey, reading);
    return survey;
  } catch (const Json::exception& error) {
    reading.fail("a part that is missing or of another kind",
                 "what 'facet survey RUN --out FOLDER' has written");
  }
}

SurveyKey SurveyFolder::read_key(const Survey& survey) const {
  const Attempt reading{"reading the key of a survey", key().string()};
  SurveyKey result;
  try {
    const Json json = read_survey_json(key());
    result.survey = json.at("survey");
    for (const Json& each : json.at("items")) {
      SurveyKeyItem item{each.at("item"), each.at("kind") == "photograph", {}, each.at("repeats")};
      for (const SurveyQuestion& question : survey.questions)
        item.values.push_back(each.at("values").at(question.name));
      result.items.push_back(std::move(item));
    }
  } catch (const Json::exception& error) {
    reading.fail("a part that is missing or of another kind",
                 "what 'facet survey RUN --out FOLDER' has written");
  }
  if (result.survey != survey.id)
    reading.fail(fmt::format("the key of survey {}", result.survey),
                 fmt::format("that of survey {}", survey.id),
                 "do the files of the folder belong together?");
  require_known_answers(result, survey, reading);
  std::set<std::string> items;
  for (const SurveyKeyItem& each : result.items) items.insert(each.item);
  if (items != std::set<std::string>(survey.items.begin(), survey.items.end()) ||
      items.size() != result.items.size())
    reading.fail("other items", "those of survey.json",
                 "do the files of the folder belong together?");
  return result;
}

Json to_json(const Survey& survey) {
  Json json = {{"format", kSurveyFormat},    {"id", survey.id},           {"run", survey.run},
               {"model", survey.model},      {"program", survey.program}, {"seed", survey.seed},
               {"refined", survey.refined},  {"width", survey.width},     {"height", survey.height},
               {"questions", Json::array()}, {"items", survey.items}};
  for (const SurveyQuestion& question : survey.questions) {
    Json choices = Json::array();
    for (const SurveyChoice& choice : question.choices)
      choices.push_back({{"answer", choice.answer}, {"label", choice.label}});
    json["questions"].push_back({{"name", question.name},
                                 {"property", question.property},
                                 {"text", question.text},
                                 {"choices", choices}});
  }
  return json;
}

Json to_json(const SurveyKey& key, const Survey& survey) {
  Json json = {{"format", kSurveyFormat}, {"survey", key.survey}, {"items", Json::array()}};
  for (const SurveyKeyItem& item : key.items) {
    Json values = Json::object();
    for (size_t q = 0; q < survey.questions.size(); ++q)
      values[survey.questions[q].name] = item.values[q];
    json["items"].push_back({{"item", item.item},
                             {"kind", item.photograph ? "photograph" : "sample"},
                             {"values", values},
                             {"repeats", item.repeats}});
  }
  return json;
}

void require_survey_of(const Survey& survey, const std::string& model, const std::string& object) {
  if (survey.model != model)
    throw Error({.doing = "using the survey",
                 .object = object,
                 .found = fmt::format("one of another model, made from '{}'", survey.run),
                 .expected = "one of this run's model",
                 .cause = "was the run trained further since?"});
}

}  // namespace facet
