// The answers of raters: answers.csv, with the columns rater, order, item, question, answer and
// milliseconds. Lines are only ever appended, and an answer counts as given when its line is on the
// disk. A rater who answers again corrects: the last line counts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "facet/report/survey.h"

namespace facet {

struct SurveyAnswer {
  std::string rater;
  int64_t order = 0;  ///< the item's place in what the rater sees, from 1
  std::string item, question, answer;
  int64_t milliseconds = 0;  ///< from when the question was shown
};

struct SurveyAnswers {
  std::vector<SurveyAnswer> given;    ///< as they came
  std::vector<int64_t> unread_lines;  ///< numbers, from 1, of lines that are cut or damaged

  /// What is to be said of the lines that were not read; empty where there are none.
  std::string notice(const std::filesystem::path& path) const;
  /// The answers that count: the last of each rater, item and question.
  std::vector<SurveyAnswer> last() const;
};

/// The answers so far; none where there is no file. Lines that a full disk, a crash or a copy has
/// cut are left out. An Error for a file with other columns or about items that the survey does not
/// have: it is another survey's.
SurveyAnswers read_answers(const SurveyFolder& folder, const Survey& survey);

/// A rater's name without spaces around it. An Error where nothing is left, or where it is longer
/// than 80 bytes, no UTF-8 or has control characters.
std::string rater_name(const std::string& text);

/// Appends to answers.csv; safe to use from several threads, and beside another process that does
/// the same.
class AnswerFile {
 public:
  explicit AnswerFile(std::filesystem::path path) : path_(std::move(path)) {}

  /// Returns when the line is on the disk; an Error where it could not be written. A line that was
  /// cut before is closed first, so that it spoils none but itself.
  void append(const SurveyAnswer& answer);

 private:
  std::filesystem::path path_;
  std::mutex mutex_;
};

}  // namespace facet
