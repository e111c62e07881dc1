#include "facet/report/sweep_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/file.h"
#include "facet/core/json.h"

namespace facet {

namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kMostLegend = 16;
constexpr double kLogRatio = 100;  // values so far apart are shown on a logarithmic axis

double number_of(const Json& json, const char* name) {
  return json.is_object() && json.contains(name) && json[name].is_number()
             ? json[name].get<double>()
             : kNoValue;
}

std::string text_of(const Json& json, const char* name) {
  return json.contains(name) && json[name].is_string() ? json[name].get<std::string>() : "";
}

bool varies_seeds(const SweepPlan& plan) {
  return std::any_of(plan.variations.begin(), plan.variations.end(),
                     [](const Variation& variation) { return variation.is_seed(); });
}

/// The variations that are no seeds.
std::vector<size_t> plain_variations(const SweepPlan& plan) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < plan.variations.size(); ++i)
    if (!plan.variations[i].is_seed()) indices.push_back(i);
  return indices;
}

SeedGroup summarise(const std::vector<Json>& values, const std::vector<Measures>& runs) {
  SeedGroup group{.values = values, .count = static_cast<int64_t>(runs.size())};
  const auto count = static_cast<double>(runs.size());
  for (size_t m = 0; m < kMeasureNames.size(); ++m) {
    double sum = 0, squares = 0;
    group.low[m] = std::numeric_limits<double>::infinity();
    group.high[m] = -group.low[m];
    for (const Measures& run : runs) {
      sum += run[m];
      group.low[m] = std::min(group.low[m], run[m]);
      group.high[m] = std::max(group.high[m], run[m]);
    }
    group.mean[m] = sum / count;
    for (const Measures& run : runs) squares += (run[m] - group.mean[m]) * (run[m] - group.mean[m]);
    group.stddev[m] = runs.size() > 1 ? std::sqrt(squares / (count - 1)) : kNoValue;
  }
  return group;
}

Json measures_json(const Measures& measures) {
  Json json = Json::object();
  for (size_t m = 0; m < measures.size(); ++m) json[kMeasureNames[m]] = measures[m];
  return json;
}

Json settings_json(const SweepPlan& plan, const std::vector<size_t>& variations,
                   const std::vector<Json>& values) {
  Json json = Json::object();
  for (size_t i = 0; i < variations.size(); ++i)
    json[plan.variations[variations[i]].key] = values[i];
  return json;
}

int64_t components_of(const Json& evaluation) {
  double components = 0;
  if (evaluation.is_object() && evaluation.contains("factors"))
    for (const Json& factor : evaluation["factors"]) components += number_of(factor, "components");
  return std::isfinite(components) ? std::llround(components) : 0;
}

using Row = std::vector<std::string>;

/// Columns as wide as need be, numbers flush right.
std::string aligned(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
    text += '\n';
  }
  return text;
}

std::string time_text(double seconds) {
  return seconds < 100 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

std::string run_table(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes) {
  Row header;
  for (size_t i = 0; i < plan.variations.size(); ++i) header.push_back(short_key(plan, i));
  for (const char* name :
       {"ELBO", "reconstruction", "KL[z]", "KL[r]", "living", "perplexity", "time"})
    header.push_back(name);
  std::vector<Row> rows = {header};
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    const RunOutcome& outcome = outcomes[i];
    Row row;
    for (const Json& value : plan.runs[i].values) row.push_back(value_text(value));
    if (outcome.state == RunState::finished) {
      const Measures m = measures_of(outcome.evaluation);
      for (size_t term = 0; term < 4; ++term) row.push_back(fmt::format("{:.2f}", m[term]));
      row.push_back(fmt::format("{:.0f} of {}", m[4], components_of(outcome.evaluation)));
      row.push_back(fmt::format("{:.1f}", m[5]));
    } else {
      row.push_back(state_name(outcome.state));
      row.resize(header.size() - 1, "-");
    }
    row.push_back(outcome.seconds > 0 ? time_text(outcome.seconds) : "-");
    rows.push_back(row);
  }
  return aligned(rows);
}

std::string seed_table(const SweepPlan& plan, const std::vector<SeedGroup>& groups) {
  Row header;
  for (const size_t i : plain_variations(plan)) header.push_back(short_key(plan, i));
  for (const char* name :
       {"runs", "ELBO", "reconstruction", "KL[z]", "KL[r]", "living", "perplexity"})
    header.push_back(name);
  std::vector<Row> rows = {header};
  for (const SeedGroup& group : groups) {
    Row row;
    for (const Json& value : group.values) row.push_back(value_text(value));
    row.push_back(fmt::format("{}", group.count));
    for (size_t m = 0; m < kMeasureNames.size(); ++m)
      row.push_back(group.count > 1
                        ? fmt::format("{:.2f} +- {:.2f}", group.mean[m], group.stddev[m])
                        : fmt::format("{:.2f}", group.mean[m]));
    rows.push_back(row);
  }
  return aligned(rows);
}

/// A cell of a CSV file; quoted where it holds what would end it.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

/// Where the values of a variation lie on an axis.
struct ValueAxis {
  std::vector<ChartTick> ticks;  ///< one per value, in the variation's order
  std::string note;              ///< "log2 axis", or nothing

  explicit ValueAxis(const Variation& variation) {
    std::vector<double> numbers;
    for (const Json& value : variation.values)
      if (value.is_number()) numbers.push_back(value.get<double>());
    const bool numeric = numbers.size() == variation.values.size();
    const bool positive = numeric && std::all_of(numbers.begin(), numbers.end(),
                                                 [](double number) { return number > 0; });
    const bool powers = positive && std::all_of(numbers.begin(), numbers.end(), is_power_of_two);
    const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
    const bool logarithmic =
        positive && numbers.size() > 1 && (powers || *high / *low >= kLogRatio);
    for (size_t i = 0; i < variation.values.size(); ++i) {
      const double x = !numeric      ? static_cast<double>(i)
                       : logarithmic ? std::log2(numbers[i])
                                     : numbers[i];
      ticks.push_back({x, value_text(variation.values[i])});
    }
    if (logarithmic) note = powers ? ", log2 axis" : ", log axis";
  }

  static bool is_power_of_two(double number) {
    return std::log2(number) == std::floor(std::log2(number));
  }
};

/// A group's place on the axis and the line that it belongs to.
struct PlacedGroup {
  double x;
  std::string line;
  const SeedGroup* group;
};

std::vector<PlacedGroup> place_groups(const SweepPlan& plan, const std::vector<SeedGroup>& groups,
                                      const std::vector<size_t>& variations,
                                      const ValueAxis& axis) {
  std::vector<PlacedGroup> placed;
  for (const SeedGroup& group : groups) {
    const auto& values = plan.variations[variations.front()].values;
    const auto at = std::find(values.begin(), values.end(), group.values.front()) - values.begin();
    std::vector<std::string> others;
    for (size_t i = 1; i < variations.size(); ++i)
      others.push_back(
          fmt::format("{} {}", short_key(plan, variations[i]), value_text(group.values[i])));
    placed.push_back({axis.ticks[static_cast<size_t>(at)].x,
                      fmt::format("{}", fmt::join(others, ", ")), &group});
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const PlacedGroup& a, const PlacedGroup& b) { return a.x < b.x; });
  return placed;
}

std::vector<SeedGroup> group_by(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes,
                                const std::vector<size_t>& variations) {
  std::vector<std::pair<std::vector<Json>, std::vector<Measures>>> groups;
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    if (outcomes[i].state != RunState::finished) continue;
    std::vector<Json> values;
    for (const size_t variation : variations) values.push_back(plan.runs[i].values[variation]);
    auto found = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& group) { return group.first == values; });
    if (found == groups.end()) found = groups.insert(groups.end(), {values, {}});
    found->second.push_back(measures_of(outcomes[i].evaluation));
  }
  std::vector<SeedGroup> summaries;
  for (const auto& [values, runs] : groups) summaries.push_back(summarise(values, runs));
  return summaries;
}

}  // namespace

Measures measures_of(const Json& evaluation) {
  Measures measures;
  for (size_t m = 0; m < 4; ++m) measures[m] = number_of(evaluation, kMeasureNames[m]);
  double living = 0, perplexities = 0, factors = 0;
  if (evaluation.is_object() && evaluation.contains("factors"))
    for (const Json& factor : evaluation["factors"]) {
      living += number_of(factor, "used");
      perplexities += number_of(factor, "perplexity");
      ++factors;
    }
  measures[4] = factors > 0 ? living : kNoValue;
  measures[5] = factors > 0 ? perplexities / factors : kNoValue;
  return measures;
}

std::vector<SeedGroup> group_over_seeds(const SweepPlan& plan,
                                        const std::vector<RunOutcome>& outcomes) {
  return group_by(plan, outcomes, plain_variations(plan));
}

Json sweep_record(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes) {
  Json record = {{"format", "facet-sweep-1"}};
  record.update(to_json(plan));
  record["runs"] = Json::array();
  std::vector<size_t> all(plan.variations.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    Json run = {{"name", plan.runs[i].name},
                {"settings", settings_json(plan, all, plan.runs[i].values)},
                {"state", state_name(outcomes[i].state)},
                {"seconds", outcomes[i].seconds}};
    if (!outcomes[i].failure.empty()) run["failure"] = outcomes[i].failure;
    if (outcomes[i].state == RunState::finished) run["evaluation"] = outcomes[i].evaluation;
    record["runs"].push_back(std::move(run));
  }
  if (varies_seeds(plan)) {
    record["over_seeds"] = Json::array();
    for (const SeedGroup& group : group_over_seeds(plan, outcomes))
      record["over_seeds"].push_back(
          {{"settings", settings_json(plan, plain_variations(plan), group.values)},
           {"runs", group.count},
           {"mean", measures_json(group.mean)},
           {"standard_deviation", measures_json(group.stddev)}});
  }
  return record;
}

std::vector<RunOutcome> recorded_outcomes(const SweepPlan& plan, const Json& record) {
  std::vector<RunOutcome> outcomes(plan.runs.size());
  if (!record.is_object() || !record.contains("runs") || !record["runs"].is_array())
    return outcomes;
  for (size_t i = 0; i < std::min(plan.runs.size(), record["runs"].size()); ++i) {
    const Json& run = record["runs"][i];
    if (!run.is_object()) continue;
    RunOutcome& outcome = outcomes[i];
    if (const double seconds = number_of(run, "seconds"); seconds > 0) outcome.seconds = seconds;
    outcome.failure = text_of(run, "failure");
    outcome.evaluation = run.value("evaluation", Json());
    for (const RunState state : {RunState::stopped, RunState::failed, RunState::finished})
      if (text_of(run, "state") == state_name(state)) outcome.state = state;
  }
  return outcomes;
}

void find_evaluation(RunOutcome& outcome, const RunFolder& folder) {
  const Json evaluation =
      is_finished(folder)
          ? Json::parse(read_text(folder.evaluation(), "reading the evaluation"), nullptr, false)
          : Json();
  if (evaluation.is_object()) {
    outcome = {RunState::finished, outcome.seconds, evaluation, "", {}};
  } else if (outcome.state == RunState::finished) {
    outcome = {RunState::waiting, outcome.seconds, {}, "", {}};  // it has to be made again
  }
}

std::vector<RunOutcome> known_outcomes(const SweepPlan& plan, const Json& record,
                                       const std::filesystem::path& folder) {
  std::vector<RunOutcome> outcomes = recorded_outcomes(plan, record);
  for (size_t i = 0; i < plan.runs.size(); ++i)
    find_evaluation(outcomes[i], {folder / plan.runs[i].name});
  return outcomes;
}

std::string sweep_csv(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes) {
  std::string text = "run";
  for (const Variation& variation : plan.variations) text += "," + csv_cell(variation.key);
  text += fmt::format(",state,split,{},components,seconds\n", fmt::join(kMeasureNames, ","));
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    const RunOutcome& outcome = outcomes[i];
    text += csv_cell(plan.runs[i].name);
    for (const Json& value : plan.runs[i].values) text += "," + csv_cell(value_text(value));
    text += fmt::format(",{}", state_name(outcome.state));
    if (outcome.state == RunState::finished) {
      text += "," + text_of(outcome.evaluation, "split");
      for (const double measure : measures_of(outcome.evaluation))
        text += std::isfinite(measure) ? fmt::format(",{}", measure) : ",";
      text += fmt::format(",{}", components_of(outcome.evaluation));
    } else {
      text += std::string(kMeasureNames.size() + 2, ',');
    }
    text += fmt::format(",{:.1f}\n", outcome.seconds);
  }
  return text;
}

std::string sweep_table(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes) {
  std::string text = run_table(plan, outcomes);
  if (const auto groups = group_over_seeds(plan, outcomes); varies_seeds(plan) && !groups.empty())
    text += "over seeds, mean +- standard deviation\n" + seed_table(plan, groups);
  return text;
}

ChartSheet sweep_plot(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes) {
  std::vector<size_t> variations = plain_variations(plan);
  if (variations.empty()) variations = {0};  // seeds alone: over the first of them
  const std::vector<SeedGroup> groups = group_by(plan, outcomes, variations);
  const ValueAxis axis(plan.variations[variations.front()]);
  Chart blank{.whole = true,
              .x_ticks = axis.ticks,
              .x_title = short_key(plan, variations.front()) + axis.note};
  std::sort(blank.x_ticks.begin(), blank.x_ticks.end(),
            [](const ChartTick& a, const ChartTick& b) { return a.x < b.x; });
  const std::vector<PlacedGroup> placed = place_groups(plan, groups, variations, axis);
  for (const PlacedGroup& group : placed)
    if (std::none_of(blank.lines.begin(), blank.lines.end(),
                     [&](const ChartLine& line) { return line.name == group.line; }))
      blank.lines.push_back({group.line, {}});
  constexpr std::array<const char*, kMeasureNames.size()> titles = {
      "ELBO", "Reconstruction", "KL[z]", "KL[r]", "Living components", "Perplexity"};
  ChartSheet sheet;
  for (size_t m = 0; m < titles.size(); ++m) {
    Chart chart = blank;
    chart.title = titles[m];
    chart.from_zero = m > 3;
    for (ChartLine& line : chart.lines)
      for (const PlacedGroup& group : placed)
        if (group.line == line.name)
          line.points.push_back(
              {group.x, group.group->mean[m], group.group->low[m], group.group->high[m]});
    sheet.charts.push_back(std::move(chart));
  }
  if (blank.lines.size() > 1)
    for (const ChartLine& line : blank.lines) sheet.legend.push_back(line.name);
  if (sheet.legend.size() > kMostLegend) {
    sheet.legend.resize(kMostLegend);
    sheet.legend.back() = fmt::format("and {} others", blank.lines.size() - kMostLegend + 1);
  }
  return sheet;
}

}  // namespace facet
