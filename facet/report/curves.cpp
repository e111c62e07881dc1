#include "facet/report/curves.h"

#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"

namespace facet {

namespace {

constexpr uint64_t kMostSteps = uint64_t{1} << 53;  // in a record: sums of them stay numbers
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

/// A number of a JSON object; NaN where it is absent or something else.
double number_of(const Json& object, const std::string& name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : kNothing;
}

std::string phase_of(const Json& record) { return record.at("phase").get<std::string>(); }

/// A line of the file as a record; null where it is none of ours.
Json parse_record(const std::string& line) {
  Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object() || !record.contains("step") || !record["step"].is_number_unsigned() ||
      record["step"].get<uint64_t>() > kMostSteps)
    return nullptr;
  if (!record.contains("phase") || !record["phase"].is_string()) return nullptr;
  const std::string phase = phase_of(record);
  const bool known = phase == "pretrain" || phase == "initialise" || phase == "joint";
  return known ? record : Json(nullptr);
}

/// The axis with the phases that have steps.
std::vector<ChartSpan> phase_spans(const PhaseLengths& lengths) {
  std::vector<ChartSpan> spans;
  double begin = 0;
  for (const auto& [name, steps] :
       {std::pair{"pretrain", lengths.pretrain}, std::pair{"initialise", lengths.initialise},
        std::pair{"joint", lengths.joint}}) {
    const double end = begin + static_cast<double>(steps);
    if (steps > 0) spans.push_back({name, begin, end});
    begin = end;
  }
  return spans;
}

/// Adds a point, with a break in front of it where another phase has begun.
class LineBuilder {
 public:
  explicit LineBuilder(std::string name) { line_.name = std::move(name); }

  void add(const std::string& phase, int64_t step, double value) {
    if (!std::isfinite(value)) return;
    const auto x = static_cast<double>(step);
    if (!line_.points.empty() && phase != phase_) line_.points.push_back({x, kNothing});
    line_.points.push_back({x, value});
    phase_ = phase;
  }
  const ChartLine& line() const { return line_; }

 private:
  ChartLine line_;
  std::string phase_;
};

/// A number of the records that is drawn as a line.
struct Quantity {
  const char* name;   ///< in the records
  const char* title;  ///< of its chart
};

class ChartMaker {
 public:
  explicit ChartMaker(const TrainingLog& log) : log_(log) {}

  /// A term of the bound, while training and on the valid split.
  Chart term(const Quantity& quantity, bool of_mixtures = false) const {
    LineBuilder train("train"), valid("valid");
    for (const Json& record : log_.records) {
      if (of_mixtures && phase_of(record) == "pretrain") continue;  // there are none yet
      const bool evaluation = record.contains("valid");
      (evaluation ? valid : train)
          .add(phase_of(record), log_.steps_at(record),
               number_of(evaluation ? record["valid"] : record, quantity.name));
    }
    return chart(quantity.title, {train, valid});
  }

  /// A single number of the records.
  Chart number(const Quantity& quantity) const {
    LineBuilder line(quantity.title);
    for (const Json& record : log_.records)
      line.add(phase_of(record), log_.steps_at(record), number_of(record, quantity.name));
    return chart(quantity.title, {line});
  }

  /// A line for each factor.
  Chart by_factor(const Quantity& quantity) const {
    std::vector<LineBuilder> lines;
    std::map<std::string, size_t> places;
    for (const Json& record : log_.records) {
      if (!record.contains("factors") || !record["factors"].is_array()) continue;
      for (const Json& factor : record["factors"]) {
        if (!factor.contains("name") || !factor["name"].is_string()) continue;
        const auto name = factor["name"].get<std::string>();
        if (places.emplace(name, lines.size()).second) lines.emplace_back(name);
        lines[places[name]].add(phase_of(record), log_.steps_at(record),
                                number_of(factor, quantity.name));
      }
    }
    return chart(quantity.title, lines);
  }

 private:
  Chart chart(const std::string& title, const std::vector<LineBuilder>& lines) const {
    Chart chart{.title = title, .lines = {}, .spans = phase_spans(log_.lengths)};
    for (const LineBuilder& line : lines)
      if (!line.line().points.empty()) chart.lines.push_back(line.line());
    return chart;
  }

  const TrainingLog& log_;
};

/// Charts without lines are left out, and with the last of them the group.
void add_group(std::vector<ChartGroup>& groups, ChartGroup group) {
  std::erase_if(group.charts, [](const Chart& chart) { return chart.lines.empty(); });
  if (!group.charts.empty()) groups.push_back(std::move(group));
}

}  // namespace

int64_t TrainingLog::steps_at(const Json& record) const {
  const std::string phase = phase_of(record);
  const auto step = record.at("step").get<int64_t>();
  return step + (phase == "pretrain"     ? 0
                 : phase == "initialise" ? lengths.pretrain
                                         : lengths.pretrain + lengths.initialise);
}

int64_t TrainingLog::steps_done() const { return records.empty() ? 0 : steps_at(records.back()); }

std::string TrainingLog::phase() const { return records.empty() ? "" : phase_of(records.back()); }

int64_t TrainingLog::phase_step() const {
  return records.empty() ? 0 : records.back().at("step").get<int64_t>();
}

TrainingLog read_training_log(const std::filesystem::path& path, const PhaseLengths& lengths) {
  TrainingLog log{{}, lengths};
  if (!std::filesystem::exists(path)) return log;
  const std::string text = read_text(path, "reading metrics");
  size_t number = 0;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    if (end == std::string::npos) break;
    ++number;
    Json record = parse_record(text.substr(begin, end - begin));
    if (record.is_null())
      throw Error({.doing = "reading metrics",
                   .object = path.string(),
                   .found = fmt::format("line {} that is no record", number),
                   .expected = "a JSON object with a phase and a step",
                   .cause = "is the file damaged?"});
    log.records.push_back(std::move(record));
  }
  return log;
}

std::vector<ChartGroup> training_charts(const TrainingLog& log) {
  const ChartMaker make(log);
  std::vector<ChartGroup> groups;
  add_group(
      groups,
      {"The bound and its terms",
       "In nats per image. ELBO = reconstruction − KL[z] − KL[r]. While it pre-trains, KL[z] is "
       "to a standard normal; from then on to the mixtures.",
       {make.term({"elbo", "ELBO"}), make.term({"reconstruction", "Reconstruction"}),
        make.term({"kl_z", "KL[z]"}), make.term({"kl_r", "KL[r]"}, /*of_mixtures=*/true)}});

  ChartGroup factors{
      "Factors",
      "What each factor's block and its component cost in nats per image, how many of "
      "its components hold more than one training image, and how many it uses in "
      "effect (the perplexity of their shares).",
      {make.by_factor({"kl_z", "KL[z] of each factor"}),
       make.by_factor({"kl_r", "KL[r] of each factor"}),
       make.by_factor({"living", "Living components"}),
       make.by_factor({"perplexity", "Perplexity of components"})}};
  for (Chart& chart : factors.charts) chart.from_zero = true;
  add_group(groups, std::move(factors));

  ChartGroup steps{
      "Steps",
      "The numbers on a schedule, the length of the gradient, and, where factors are named, "
      "how well their labels are said.",
      {make.number({"learning_rate", "Learning rate"}),
       make.number({"kl_weight", "Weight of KL[z]"}),
       make.number({"step_size", "Natural-gradient step size"}),
       make.number({"label_weight", "Weight of the labels"})}};
  for (Chart& chart : steps.charts) chart.whole = chart.from_zero = true;
  Chart norm = make.number({"gradient_norm", "Gradient norm"});
  norm.from_zero = true;
  steps.charts.push_back(std::move(norm));
  steps.charts.push_back(make.number({"label_log_likelihood", "Log likelihood of a label"}));
  steps.charts.push_back(make.number({"hyperprior", "Hyperprior's KL per image"}));
  add_group(groups, std::move(steps));
  return groups;
}

}  // namespace facet
