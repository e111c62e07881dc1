#include "facet/serve/survey_server.h"

#include <algorithm>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/serve/http_server.h"

namespace facet {

namespace {

constexpr size_t kMostAnswerBytes = 4 << 10;
constexpr int64_t kLongestThought = 24LL * 3600 * 1000;  // milliseconds

Json questions_json(const Survey& survey) {
  Json questions = Json::array();
  for (const SurveyQuestion& question : survey.questions) {
    Json choices = Json::array();
    for (const SurveyChoice& choice : question.choices)
      choices.push_back({{"answer", choice.answer}, {"label", choice.label}});
    questions.push_back({{"name", question.name}, {"text", question.text}, {"choices", choices}});
  }
  return questions;
}

}  // namespace

SurveyHandler::SurveyHandler(const std::filesystem::path& folder)
    : folder_{folder},
      survey_(folder_.read()),
      items_(survey_.items.begin(), survey_.items.end()),
      answers_(folder_.answers()) {
  for (const std::string& item : survey_.items)
    if (!std::filesystem::exists(folder_.picture(item)))
      Attempt{"serving the survey", folder.string()}.fail(
          fmt::format("no picture of item {}", item), "pictures of all items");
  read_answers(folder_, survey_);  // those of another survey are said now
}

std::string_view SurveyHandler::method_at(std::string_view path) const {
  if (path == "/api/v1/survey" || path == "/api/v1/picture") return "GET";
  if (path == "/api/v1/answer") return "POST";
  return "";
}

std::string SurveyHandler::page_file(std::string_view path) const {
  if (path == "/icon.svg") return std::string(path);
  if (path == "/") return "/survey/survey.html";
  const bool nested = path.find('/', 1) != std::string_view::npos;
  return nested ? "" : "/survey" + std::string(path);
}

void SurveyHandler::check_body(std::string_view, const std::string& content_type,
                               size_t bytes) const {
  if (media_type(content_type) != "application/json")
    throw ApiError(415, "the body must be of type application/json");
  if (bytes > kMostAnswerBytes)
    throw ApiError(
        413, fmt::format("found a body of {} bytes, expected at most {}", bytes, kMostAnswerBytes));
}

ApiResponse SurveyHandler::handle(const ApiRequest& request) {
  return answer_of([&] {
    const std::string_view method = method_at(request.path);
    if (method.empty()) throw ApiError(404, "there is nothing at this address");
    if (request.method != method) throw ApiError(405, fmt::format("this address takes {}", method));
    if (request.path == "/api/v1/survey") return answer_survey(request);
    if (request.path == "/api/v1/picture") return answer_picture(request);
    check_body(request.path, request.content_type, request.body.size());
    return answer_answer(request);
  });
}

ApiResponse SurveyHandler::answer_survey(const ApiRequest& request) const {
  const Query query(request, {"rater"});
  Json json = {{"questions", questions_json(survey_)}, {"count", survey_.items.size()}};
  if (!query.has("rater")) return json_response(json);
  const std::string rater = rater_name(query.text("rater"));
  json["rater"] = rater;
  json["items"] = survey_.order_for(rater);
  json["answers"] = Json::object();
  for (const SurveyAnswer& answer : read_answers(folder_, survey_).last())
    if (answer.rater == rater) json["answers"][answer.item][answer.question] = answer.answer;
  return json_response(json);
}

ApiResponse SurveyHandler::answer_picture(const ApiRequest& request) const {
  const Query query(request, {"item"});
  const std::string& item = query.text("item");
  if (items_.count(item) == 0) throw ApiError(404, "the survey has no such item", "item");
  ApiResponse response;
  response.type = "image/png";
  response.body = read_text(folder_.picture(item), "reading a picture of the survey");
  return response;
}

ApiResponse SurveyHandler::answer_answer(const ApiRequest& request) {
  const Json json = parse_body(request.body);
  const RequestValue body(json);
  body.require_keys({"rater", "item", "question", "answer", "milliseconds"});
  SurveyAnswer answer;
  answer.rater = rater_name(body.at("rater").text());
  answer.item = body.at("item").text();
  answer.question = body.at("question").text();
  answer.answer = body.at("answer").text();
  answer.milliseconds = body.at("milliseconds").integer(0, kLongestThought);
  const std::vector<std::string> order = survey_.order_for(answer.rater);
  const auto place = std::find(order.begin(), order.end(), answer.item);
  if (place == order.end()) body.at("item").fail("an item of the survey");
  const SurveyQuestion* question = survey_.question(answer.question);
  if (question == nullptr) body.at("question").fail("a question of the survey");
  if (question->choice_of(answer.answer) < 0) body.at("answer").fail("one of the choices");
  answer.order = place - order.begin() + 1;
  try {
    answers_.append(answer);
  } catch (const Error& error) {
    throw ApiError(507, error.what());
  }
  return json_response({{"saved", true}, {"order", answer.order}});
}

void serve_survey(const ServeSurveyOptions& options,
                  const std::function<void(int port, const std::string& notice)>& ready,
                  const std::function<bool()>& stop) {
  SurveyHandler handler(options.folder);
  const SurveyFolder folder{options.folder};
  const std::string notice = read_answers(folder, handler.survey()).notice(folder.answers());
  HttpServer server(handler, options.http);
  ready(server.port(), notice);
  server.run(stop);
}

}  // namespace facet
