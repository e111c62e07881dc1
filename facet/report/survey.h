// A survey of people: pictures of a model's samples, with photographs among them, about which
// raters are asked what they see, as in the paper's table 1. A survey is a folder:
//   survey.json      the questions and the items, in an order that says nothing
//   pictures/        a PNG for each item
//   key.json         what each item is; nobody needs it until the answers are scored
//   answers.csv      what raters have answered, line by line (survey_answers.h)
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "facet/core/options.h"

namespace facet {

/// What a rater answers who cannot decide; no value of a property is called so.
inline constexpr const char* kCannotTell = "cannot tell";

/// One of the answers to a question.
struct SurveyChoice {
  std::string answer;  ///< a value of the property, or kCannotTell
  std::string label;   ///< what the page calls it: "Yes"
};

/// A question about every item: one for each named factor.
struct SurveyQuestion {
  std::string name;      ///< of the factor
  std::string property;  ///< that it is named by
  std::string text;      ///< "Do you see glasses?"
  std::vector<SurveyChoice> choices;

  /// The number of the choice with this answer; -1 where there is none.
  int choice_of(const std::string& answer) const;
};

/// The question about a property: one to be answered with yes or no where its two values say
/// whether something is there ("with" and "without", "smiling" and "not smiling"), else one that
/// lists the values. `text` replaces the wording unless it is empty. An Error for a value called
/// "cannot tell".
SurveyQuestion survey_question(const std::string& name, const std::string& property,
                               const std::vector<std::string>& values, const std::string& text);

/// All that raters may know.
struct Survey {
  std::string id;
  std::string run;    ///< the folder of the run, as it was given
  std::string model;  ///< its fingerprint (model/fingerprint.h)
  std::string program;
  uint64_t seed = 1;
  bool refined = false;
  int64_t width = 0, height = 0;  ///< of the pictures
  std::vector<SurveyQuestion> questions;
  std::vector<std::string> items;

  const SurveyQuestion* question(const std::string& name) const;
  /// The items in the order in which a rater sees them: a function of the rater's name and the
  /// survey's seed.
  std::vector<std::string> order_for(const std::string& rater) const;
};

/// What an item is.
struct SurveyKeyItem {
  std::string item;
  bool photograph = false;          ///< else a sample
  std::vector<std::string> values;  ///< the answer that is right, by question
  std::string repeats;              ///< the item that this one shows again; else empty
};

struct SurveyKey {
  std::string survey;  ///< the survey's id
  std::vector<SurveyKeyItem> items;
};

/// The files of a survey. Reading throws an Error for a folder that holds none, or one whose files
/// do not belong together.
struct SurveyFolder {
  std::filesystem::path path;

  std::filesystem::path description() const { return path / "survey.json"; }
  std::filesystem::path key() const { return path / "key.json"; }
  std::filesystem::path answers() const { return path / "answers.csv"; }
  std::filesystem::path picture(const std::string& item) const {
    return path / "pictures" / (item + ".png");
  }

  Survey read() const;
  SurveyKey read_key(const Survey& survey) const;
};

Json to_json(const Survey& survey);
Json to_json(const SurveyKey& key, const Survey& survey);

/// Throws an Error where a survey is not of this model; `object` is its folder.
void require_survey_of(const Survey& survey, const std::string& model, const std::string& object);

}  // namespace facet
