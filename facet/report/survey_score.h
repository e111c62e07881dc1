// What the answers of a survey say: how often raters see in samples what was asked of the model,
// with intervals, and how much they agree with each other and with themselves; photographs, whose
// labels are known, apart. Beside it stands the paper's table 1. docs/survey.md has the
// definitions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facet/eval/rating_agreement.h"
#include "facet/report/survey_answers.h"

namespace facet {

/// Answers that were right, of all that were given; "cannot tell" is not right.
struct AnswerShare {
  int64_t right = 0, count = 0;

  /// None without answers.
  std::optional<double> share() const;
};

/// The answers to one question about items of one kind, each item once.
struct ItemsScore {
  int64_t items = 0;  ///< that someone has answered
  AnswerShare accuracy;
  int64_t undecided = 0;              ///< answers "cannot tell"
  std::optional<Interval> wilson;     ///< as if all answers were independent
  std::optional<Interval> bootstrap;  ///< over items
  std::optional<double> agreement;    ///< raw, of pairs of raters; "cannot tell" is an answer
  MeanKappa kappa;                    ///< Cohen's, of pairs of raters
  std::optional<double> alpha;        ///< Krippendorff's
  std::vector<AnswerShare> by_value;  ///< in the order of the question's choices
};

struct QuestionScore {
  SurveyQuestion question;
  ItemsScore samples, photographs;
  AnswerShare repeats;          ///< items seen twice by a rater, and those answered equally
  std::optional<double> paper;  ///< the accuracy in table 1 of the paper, of its CelebA model
};

struct RaterScore {
  std::string rater;
  int64_t answers = 0;
  AnswerShare samples, photographs;
  double median_milliseconds = 0;
};

struct SurveyScore {
  Survey survey;
  int64_t samples = 0, photographs = 0, repeats = 0;  ///< items of the survey
  std::vector<RaterScore> raters;                     ///< by name
  std::vector<QuestionScore> questions;
  std::string notice;  ///< on lines of the answers that were not read; may be empty

  int64_t answers() const;
};

/// Scores the answers of a folder. An Error where its files cannot be read or do not belong
/// together; no answers are no error.
SurveyScore score_survey(const SurveyFolder& folder);

Json to_json(const SurveyScore& score);

/// The accuracy that table 1 of the paper has for a property, by its name; none for others.
std::optional<double> paper_accuracy(const std::string& factor, const std::string& property);

}  // namespace facet
