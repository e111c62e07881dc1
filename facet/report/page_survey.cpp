// What people see in the model's samples, as tables of a report: the score of a survey.
#include <fmt/format.h>

#include "facet/report/page_sections.h"
#include "facet/report/page_text.h"

namespace facet {

namespace {

std::string share_cell(const std::optional<double>& share) { return share ? percent(*share) : "–"; }

std::string interval_cell(const std::optional<Interval>& interval) {
  return interval ? fmt::format("{} to {}", decimal(100 * interval->low, 1),
                                decimal(100 * interval->high, 1))
                  : "–";
}

std::string measure_cell(const std::optional<double>& measure) {
  return measure ? decimal(*measure, 2) : "–";
}

/// A table from its heads and, by row, the name and the cells.
void survey_table(Html& html, const std::vector<std::string>& heads,
                  const std::vector<std::pair<std::string, std::vector<std::string>>>& table_rows) {
  const auto scroll = html.open("div", scroll_region());
  const auto table = html.open("table", {{"class", "table"}});
  {
    const auto head = html.open("thead");
    const auto row = html.open("tr");
    for (const std::string& name : heads)
      html.element("th", name, {{"scope", "col"}, {"class", "number"}});
  }
  const auto body = html.open("tbody");
  for (const auto& [name, cells] : table_rows) {
    const auto row = html.open("tr");
    html.element("th", name, {{"scope", "row"}});
    for (const std::string& cell : cells) html.element("td", cell);
  }
}

void accuracy_table(Html& html, const SurveyScore& score) {
  std::vector<std::pair<std::string, std::vector<std::string>>> rows;
  for (const QuestionScore& question : score.questions)
    rows.push_back(
        {question.question.name,
         {share_cell(question.samples.accuracy.share()), interval_cell(question.samples.wilson),
          interval_cell(question.samples.bootstrap),
          question.paper ? fmt::format("{:.0f} %", 100 * *question.paper) : "–",
          share_cell(question.photographs.accuracy.share()),
          share_cell(question.repeats.share())}});
  survey_table(html,
               {"factor", "samples", "Wilson 95 %", "bootstrap 95 %", "the paper", "photographs",
                "seen twice, answered equally"},
               rows);
}

void agreement_table(Html& html, const SurveyScore& score) {
  html.element("h3", "Agreement of raters");
  html.element("p",
               "About samples: the share of pairs of answers that are equal, the mean of Cohen's "
               "kappa over pairs of raters, and Krippendorff's alpha; “cannot tell” is an answer "
               "like others.",
               {{"class", "caption"}});
  std::vector<std::pair<std::string, std::vector<std::string>>> rows;
  for (const QuestionScore& question : score.questions)
    rows.push_back(
        {question.question.name,
         {share_cell(question.samples.agreement), measure_cell(question.samples.kappa.value),
          measure_cell(question.samples.alpha), grouped(question.samples.undecided),
          grouped(question.samples.accuracy.count)}});
  survey_table(
      html,
      {"factor", "agreement", "Cohen's kappa", "Krippendorff's alpha", "cannot tell", "answers"},
      rows);
}

}  // namespace

void write_survey(Html& html, const RunReport& report) {
  if (!report.survey) return;
  const SurveyScore& score = *report.survey;
  const auto section = html.open("section", {{"id", "survey"}});
  html.element("h2", "What people see");
  html.element(
      "p",
      fmt::format("{} were shown {}{} and {} without knowing which is which, and asked: {} A "
                  "sample counts as right where the answer is the value that it was drawn with; "
                  "“cannot tell” is not right. The paper's numbers are those of its table 1: ten "
                  "people, 54 samples of its CelebA model.",
                  plural(static_cast<int64_t>(score.raters.size()), "rater"),
                  plural(score.samples, "sample"), score.survey.refined ? " (refined)" : "",
                  plural(score.photographs, "photograph"),
                  [&] {
                    std::string texts;
                    for (const QuestionScore& question : score.questions)
                      texts += (texts.empty() ? "" : " ") + question.question.text;
                    return texts;
                  }()),
      {{"class", "caption"}});
  accuracy_table(html, score);
  agreement_table(html, score);
}

}  // namespace facet
