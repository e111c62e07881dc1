// The score of a survey as tables for a person.
#include <algorithm>

#include <fmt/format.h>

#include "cli/command.h"
#include "facet/report/survey_score.h"

namespace facet {

namespace {

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}

std::string interval_text(const std::optional<Interval>& interval) {
  return interval ? fmt::format("{:.1f} to {:.1f}", 100 * interval->low, 100 * interval->high)
                  : "-";
}

std::string measure_text(const std::optional<double>& measure) {
  return measure ? fmt::format("{:.3f}", *measure) : "-";
}

void print_items(const SurveyScore& score, const char* title, size_t width,
                 ItemsScore QuestionScore::*items) {
  fmt::print(
      "  {:<{}}  accuracy  Wilson 95 %     bootstrap 95 %  cannot tell  agreement  Cohen   "
      "Krippendorff  answers\n",
      title, width);
  for (const QuestionScore& question : score.questions) {
    const ItemsScore& one = question.*items;
    fmt::print("  {:<{}}  {:>8}  {:<14}  {:<14}  {:>11}  {:>9}  {:>6}  {:>12}  {:>7}\n",
               question.question.name, width, share_text(one.accuracy.share()),
               interval_text(one.wilson), interval_text(one.bootstrap),
               one.accuracy.count == 0 ? "-"
                                       : share_text(static_cast<double>(one.undecided) /
                                                    static_cast<double>(one.accuracy.count)),
               share_text(one.agreement), measure_text(one.kappa.value), measure_text(one.alpha),
               one.accuracy.count);
  }
}

void print_paper(const SurveyScore& score, size_t width) {
  fmt::print("  {:<{}}  this survey  the paper's table 1   seen twice, answered equally\n",
             "beside the paper", width);
  for (const QuestionScore& question : score.questions)
    fmt::print("  {:<{}}  {:>11}  {:>19}   {} ({} of {})\n", question.question.name, width,
               share_text(question.samples.accuracy.share()),
               question.paper ? fmt::format("{:.0f} %", 100 * *question.paper) : "-",
               share_text(question.repeats.share()), question.repeats.right,
               question.repeats.count);
}

}  // namespace

void print_survey_score(const SurveyScore& score) {
  fmt::print(
      "survey of {}: {} samples{}, {} photographs, {} shown twice; {} answers of {} rater{}\n",
      score.survey.run, score.samples, score.survey.refined ? ", refined" : "", score.photographs,
      score.repeats, score.answers(), score.raters.size(), score.raters.size() == 1 ? "" : "s");
  if (score.raters.empty()) {
    fmt::print("nobody has answered yet: facet survey FOLDER --serve\n");
    return;
  }
  size_t width = std::string("beside the paper").size();
  for (const QuestionScore& question : score.questions)
    width = std::max(width, question.question.name.size());
  print_items(score, "samples", width, &QuestionScore::samples);
  if (score.photographs > 0) print_items(score, "photographs", width, &QuestionScore::photographs);
  print_paper(score, width);
  fmt::print("  (the paper's: 54 samples of its CelebA model, ten people)\n");
  fmt::print("  {:<{}}  answers  samples  photographs  median time\n", "rater", width);
  for (const RaterScore& rater : score.raters)
    fmt::print("  {:<{}}  {:>7}  {:>7}  {:>11}  {:>9.1f} s\n", rater.rater, width, rater.answers,
               share_text(rater.samples.share()), share_text(rater.photographs.share()),
               rater.median_milliseconds / 1000);
}

}  // namespace facet
