// A survey over HTTP: its page, which is in web/survey, its pictures, and the answers of raters,
// each of which is on the disk before it is acknowledged. The key of the survey is never read here.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "facet/report/survey_answers.h"
#include "facet/serve/http_options.h"
#include "facet/serve/request_handler.h"

namespace facet {

/// Addresses:
///   GET  /api/v1/survey              the questions and the number of items
///   GET  /api/v1/survey?rater=NAME   also the items in the rater's order, and the answers so far
///   GET  /api/v1/picture?item=ID     a PNG
///   POST /api/v1/answer              {rater, item, question, answer, milliseconds}
class SurveyHandler : public RequestHandler {
 public:
  /// An Error where the folder holds no survey, or answers of another.
  explicit SurveyHandler(const std::filesystem::path& folder);

  const Survey& survey() const { return survey_; }

  std::string_view method_at(std::string_view path) const override;
  std::string page_file(std::string_view path) const override;
  void check_body(std::string_view path, const std::string& content_type,
                  size_t bytes) const override;
  /// Throws nothing.
  ApiResponse handle(const ApiRequest& request) override;

 private:
  ApiResponse answer_survey(const ApiRequest& request) const;
  ApiResponse answer_picture(const ApiRequest& request) const;
  ApiResponse answer_answer(const ApiRequest& request);

  SurveyFolder folder_;
  Survey survey_;
  std::set<std::string> items_;
  AnswerFile answers_;
};

struct ServeSurveyOptions {
  std::string folder;
  HttpOptions http;
};

/// `ready` gets the port once requests are answered, and what is to be said of answers that cannot
/// be read; `stop` is asked every 50 milliseconds.
void serve_survey(const ServeSurveyOptions& options,
                  const std::function<void(int port, const std::string& notice)>& ready,
                  const std::function<bool()>& stop);

}  // namespace facet
