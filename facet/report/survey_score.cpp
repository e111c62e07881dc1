#include "facet/report/survey_score.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "facet/core/json.h"

namespace facet {

namespace {

constexpr uint64_t kBootstrapSeed = 1;

/// Answers as numbers of choices, by question, rater and item.
using AnswerTable = std::map<std::string, std::map<std::string, std::map<std::string, int>>>;

/// Raters' answers to a question about some items, [rater][item].
Ratings ratings_of(const std::map<std::string, std::map<std::string, int>>& by_rater,
                   const std::vector<const SurveyKeyItem*>& items) {
  Ratings ratings;
  for (const auto& [rater, answers] : by_rater) {
    std::vector<int>& row = ratings.emplace_back();
    for (const SurveyKeyItem* item : items) {
      const auto found = answers.find(item->item);
      row.push_back(found == answers.end() ? -1 : found->second);
    }
  }
  return ratings;
}

ItemsScore score_items(const SurveyQuestion& question, size_t number, const Ratings& ratings,
                       const std::vector<const SurveyKeyItem*>& items) {
  ItemsScore score;
  score.by_value.resize(question.choices.size() - 1);  // without "cannot tell"
  std::vector<ItemAnswers> answered;
  const int undecided = question.choice_of(kCannotTell);
  for (size_t i = 0; i < items.size(); ++i) {
    const int truth = question.choice_of(items[i]->values[number]);
    ItemAnswers counts;
    for (const std::vector<int>& rater : ratings) {
      if (rater[i] < 0) continue;
      ++counts.count;
      counts.right += rater[i] == truth ? 1 : 0;
      score.undecided += rater[i] == undecided ? 1 : 0;
    }
    if (counts.count == 0) continue;
    answered.push_back(counts);
    score.accuracy.right += counts.right;
    score.accuracy.count += counts.count;
    AnswerShare& value = score.by_value[static_cast<size_t>(truth)];
    value.right += counts.right;
    value.count += counts.count;
  }
  score.items = static_cast<int64_t>(answered.size());
  if (answered.empty()) return score;
  score.wilson = wilson_interval(score.accuracy.right, score.accuracy.count);
  score.bootstrap = bootstrap_interval(answered, kBootstrapSeed);
  score.agreement = raw_agreement(ratings);
  score.kappa = mean_kappa(ratings);
  score.alpha = krippendorff_alpha(ratings);
  return score;
}

/// How often raters say the same of an item that they see twice.
AnswerShare score_repeats(const std::map<std::string, std::map<std::string, int>>& by_rater,
                          const SurveyKey& key) {
  AnswerShare share;
  for (const auto& [rater, answers] : by_rater)
    for (const SurveyKeyItem& item : key.items) {
      if (item.repeats.empty()) continue;
      const auto first = answers.find(item.repeats), second = answers.find(item.item);
      if (first == answers.end() || second == answers.end()) continue;
      ++share.count;
      share.right += first->second == second->second ? 1 : 0;
    }
  return share;
}

double median_of(std::vector<int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const size_t middle = numbers.size() / 2;
  if (numbers.size() % 2 == 1) return static_cast<double>(numbers[middle]);
  return 0.5 * static_cast<double>(numbers[middle - 1] + numbers[middle]);
}

std::vector<RaterScore> score_raters(const Survey& survey, const SurveyKey& key,
                                     const std::vector<SurveyAnswer>& answers) {
  std::map<std::string, const SurveyKeyItem*> items;
  for (const SurveyKeyItem& item : key.items) items[item.item] = &item;
  std::map<std::string, RaterScore> raters;
  std::map<std::string, std::vector<int64_t>> times;
  for (const SurveyAnswer& answer : answers) {
    RaterScore& rater = raters[answer.rater];
    rater.rater = answer.rater;
    ++rater.answers;
    times[answer.rater].push_back(answer.milliseconds);
    const SurveyKeyItem& item = *items.at(answer.item);
    if (!item.repeats.empty()) continue;
    const auto number =
        static_cast<size_t>(survey.question(answer.question) - survey.questions.data());
    AnswerShare& share = item.photograph ? rater.photographs : rater.samples;
    ++share.count;
    share.right += answer.answer == item.values[number] ? 1 : 0;
  }
  std::vector<RaterScore> scores;
  for (auto& [name, rater] : raters) {
    rater.median_milliseconds = median_of(times[name]);
    scores.push_back(rater);
  }
  return scores;
}

Json optional_json(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

Json interval_json(const std::optional<Interval>& interval) {
  return interval ? Json::array({interval->low, interval->high}) : Json();
}

Json share_json(const AnswerShare& share) {
  return {{"share", optional_json(share.share())}, {"right", share.right}, {"count", share.count}};
}

Json items_json(const ItemsScore& score, const SurveyQuestion& question) {
  Json by_value = Json::object();
  for (size_t v = 0; v < score.by_value.size(); ++v)
    by_value[question.choices[v].answer] = share_json(score.by_value[v]);
  return {{"items", score.items},
          {"answers", score.accuracy.count},
          {"right", score.accuracy.right},
          {"cannot_tell", score.undecided},
          {"accuracy", optional_json(score.accuracy.share())},
          {"wilson", interval_json(score.wilson)},
          {"bootstrap", interval_json(score.bootstrap)},
          {"agreement", optional_json(score.agreement)},
          {"cohen_kappa", optional_json(score.kappa.value)},
          {"cohen_pairs", score.kappa.pairs},
          {"krippendorff_alpha", optional_json(score.alpha)},
          {"by_value", by_value}};
}

}  // namespace

std::optional<double> AnswerShare::share() const {
  if (count == 0) return std::nullopt;
  return static_cast<double>(right) / static_cast<double>(count);
}

int64_t SurveyScore::answers() const {
  int64_t sum = 0;
  for (const RaterScore& rater : raters) sum += rater.answers;
  return sum;
}

std::optional<double> paper_accuracy(const std::string& factor, const std::string& property) {
  std::string names = factor + " " + property;
  std::transform(names.begin(), names.end(), names.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  const auto has = [&](const char* part) { return names.find(part) != std::string::npos; };
  if (has("glasses")) return 0.85;
  if (has("smil")) return 0.81;
  if (has("gender") || has("male")) return 0.94;
  return std::nullopt;
}

SurveyScore score_survey(const SurveyFolder& folder) {
  SurveyScore score;
  score.survey = folder.read();
  const Survey& survey = score.survey;
  const SurveyKey key = folder.read_key(survey);
  const SurveyAnswers answers = read_answers(folder, survey);
  score.notice = answers.notice(folder.answers());
  std::vector<const SurveyKeyItem*> samples, photographs;
  for (const SurveyKeyItem& item : key.items)
    if (item.repeats.empty()) (item.photograph ? photographs : samples).push_back(&item);
  score.samples = static_cast<int64_t>(samples.size());
  score.photographs = static_cast<int64_t>(photographs.size());
  score.repeats = static_cast<int64_t>(key.items.size()) - score.samples - score.photographs;

  const std::vector<SurveyAnswer> last = answers.last();
  score.raters = score_raters(survey, key, last);
  AnswerTable table;
  for (const SurveyAnswer& answer : last)
    table[answer.question][answer.rater][answer.item] =
        survey.question(answer.question)->choice_of(answer.answer);
  for (size_t q = 0; q < survey.questions.size(); ++q) {
    const SurveyQuestion& question = survey.questions[q];
    const auto& by_rater = table[question.name];
    score.questions.push_back(
        {question, score_items(question, q, ratings_of(by_rater, samples), samples),
         score_items(question, q, ratings_of(by_rater, photographs), photographs),
         score_repeats(by_rater, key), paper_accuracy(question.name, question.property)});
  }
  return score;
}

Json to_json(const SurveyScore& score) {
  Json json = {{"survey", score.survey.id},
               {"run", score.survey.run},
               {"model", score.survey.model},
               {"refined", score.survey.refined},
               {"items",
                {{"samples", score.samples},
                 {"photographs", score.photographs},
                 {"repeats", score.repeats}}},
               {"answers", score.answers()},
               {"raters", Json::array()},
               {"questions", Json::array()}};
  for (const RaterScore& rater : score.raters)
    json["raters"].push_back({{"rater", rater.rater},
                              {"answers", rater.answers},
                              {"samples", share_json(rater.samples)},
                              {"photographs", share_json(rater.photographs)},
                              {"median_milliseconds", rater.median_milliseconds}});
  for (const QuestionScore& each : score.questions) {
    Json repeats = share_json(each.repeats);
    repeats["wilson"] =
        each.repeats.count == 0
            ? Json()
            : interval_json(wilson_interval(each.repeats.right, each.repeats.count));
    json["questions"].push_back({{"name", each.question.name},
                                 {"property", each.question.property},
                                 {"text", each.question.text},
                                 {"samples", items_json(each.samples, each.question)},
                                 {"photographs", items_json(each.photographs, each.question)},
                                 {"repeats", repeats},
                                 {"paper", optional_json(each.paper)}});
  }
  return json;
}

}  // namespace facet
