// How a question is worded from the names of a property and its values.
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/report/survey.h"

namespace facet {

namespace {

std::string in_small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

/// "Hair_style" as words: "hair style".
std::string as_words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string with_capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

bool is_pair(const std::string& negative, const std::string& positive,
             std::initializer_list<std::pair<const char*, const char*>> pairs) {
  return std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
    return in_small_letters(negative) == pair.first && in_small_letters(positive) == pair.second;
  });
}

/// The question where `positive` says that something is there and `negative` that it is not; empty
/// where they say no such thing.
std::string yes_or_no(const std::string& property, const std::string& negative,
                      const std::string& positive) {
  const std::string noun = in_small_letters(as_words(property));
  if (is_pair(negative, positive, {{"without", "with"}, {"absent", "present"}}))
    return fmt::format("Do you see {}?", noun);
  if (is_pair(negative, positive,
              {{"no", "yes"}, {"false", "true"}, {"0", "1"}, {"-1", "1"}, {"off", "on"}}))
    return fmt::format("{}: yes or no?", with_capital(noun));
  const std::string there = in_small_letters(as_words(positive));
  const std::string absent = in_small_letters(as_words(negative));
  if (absent == "not " + there) return fmt::format("Is it {}?", there);
  if (absent == "no " + there) return fmt::format("Do you see {}?", there);
  return "";
}

}  // namespace

SurveyQuestion survey_question(const std::string& name, const std::string& property,
                               const std::vector<std::string>& values, const std::string& text) {
  if (std::find(values.begin(), values.end(), kCannotTell) != values.end())
    Attempt{"asking about the property", property}.fail(
        fmt::format("a value called '{}'", kCannotTell), "another name",
        "it is what raters answer who cannot decide");
  SurveyQuestion question{name, property, "", {}};
  size_t positive = values.size();
  for (size_t v = 0; v < values.size() && values.size() == 2; ++v)
    if (const std::string wording = yes_or_no(property, values[1 - v], values[v]);
        !wording.empty()) {
      positive = v;
      question.text = wording;
    }
  if (positive < values.size()) {
    question.choices = {{values[positive], "Yes"}, {values[1 - positive], "No"}};
  } else {
    const std::string noun = with_capital(in_small_letters(as_words(property)));
    question.text = values.size() == 2 ? fmt::format("{}: {} or {}?", noun, as_words(values[0]),
                                                     as_words(values[1]))
                                       : fmt::format("{}: which one?", noun);
    for (const std::string& value : values)
      question.choices.push_back({value, with_capital(as_words(value))});
  }
  question.choices.push_back({kCannotTell, "Cannot tell"});
  if (!text.empty()) question.text = text;
  return question;
}

}  // namespace facet
