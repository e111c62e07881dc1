#include "facet/train/sweep_plan.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/json.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

constexpr size_t longest_name = 120;  // of a folder; file systems allow 255 bytes
constexpr size_t most_runs = 10000;

[[noreturn]] void fail(const std::string& object, const std::string& found,
                       const std::string& expected, const std::string& cause = "") {
  throw Error({.doing = "reading --vary",
               .object = object,
               .found = found,
               .expected = expected,
               .cause = cause});
}

/// Splits at commas outside brackets, braces and quotes.
std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (c == ',' && !quoted && depth <= 0)
      values.emplace_back();
    else
      values.back() += c;
  }
  return values;
}

std::string setting_of(const Variation& variation, const Json& value) {
  return variation.key + "=" + value.dump();
}

Config config_with(const Config& base, const std::vector<std::string>& settings,
                   const std::string& object) {
  Json json = write_options(base);
  for (const std::string& setting : settings) apply_setting(json, setting);
  Config config;
  read_options(config, json, object);
  return with_absolute_pack(config);
}

/// Checks every value by itself: the option must exist, the value must be valid, and no two values
/// may be equal.
void check_variation(const Config& base, const Variation& variation, const std::string& object) {
  std::vector<Config> configs;
  for (const Json& value : variation.values) {
    configs.push_back(config_with(base, {setting_of(variation, value)}, object));
    for (size_t i = 0; i + 1 < configs.size(); ++i)
      if (first_difference(configs[i], configs.back()).empty())
        fail(variation.key, fmt::format("the same value twice, {}", value_text(value)),
             "different values");
  }
}

void check_variations(const Config& base, const std::vector<Variation>& variations,
                      const std::string& object) {
  if (variations.empty())
    throw Error({.doing = "planning a sweep of",
                 .object = object,
                 .found = "nothing to vary",
                 .expected = "--vary key=value,value,..."});
  std::set<std::string> keys;
  size_t runs = 1;
  for (const Variation& variation : variations) {
    if (!keys.insert(variation.key).second)
      fail(variation.key, "the same key twice", "all its values in one --vary");
    check_variation(base, variation, object);
    runs *= variation.values.size();
    if (runs > most_runs)
      fail(variation.key, "too many combinations", fmt::format("at most {} runs", most_runs));
  }
}

/// The text with all characters but letters, digits, '.', '-' and '+' replaced by '_'.
std::string folder_text(const std::string& text) {
  std::string clean;
  for (const char c : text) {
    const bool kept =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '+';
    if (kept || (!clean.empty() && clean.back() != '_')) clean += kept ? c : '_';
  }
  if (clean.ends_with('_')) clean.pop_back();
  return clean;
}

std::string run_name(const SweepPlan& plan, const std::vector<Json>& values) {
  std::string name;
  for (size_t i = 0; i < values.size(); ++i)
    name += fmt::format("{}{}-{}", name.empty() ? "" : "_", folder_text(short_key(plan, i)),
                        folder_text(value_text(values[i])));
  return name.substr(0, longest_name);
}

void add_runs(SweepPlan& plan, const std::string& object) {
  std::set<std::string> names;
  size_t count = 1;
  for (const Variation& variation : plan.variations) count *= variation.values.size();
  for (size_t index = 0; index < count; ++index) {
    SweepRun run;
    run.values.resize(plan.variations.size());
    std::vector<std::string> settings(plan.variations.size());
    for (size_t i = plan.variations.size(), rest = index; i-- > 0;) {
      const Variation& variation = plan.variations[i];
      run.values[i] = variation.values[rest % variation.values.size()];
      settings[i] = setting_of(variation, run.values[i]);
      rest /= variation.values.size();
    }
    run.config = config_with(plan.base, settings, object);
    const std::string name = run_name(plan, run.values);
    run.name = name;
    for (int suffix = 2; !names.insert(run.name).second; ++suffix)
      run.name = fmt::format("{}-{}", name, suffix);
    plan.runs.push_back(std::move(run));
  }
}

}  // namespace

bool Variation::is_seed() const {
  return key == "seed" || key.ends_with(".seed") || key.ends_with("_seed");
}

Variation parse_variation(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    fail(text, "no key before a '='", "key=value,value,...");
  Variation variation{text.substr(0, equals), {}};
  if (equals + 1 == text.size()) fail(text, "no values", "key=value,value,...");
  for (const std::string& part : split_values(text.substr(equals + 1))) {
    if (part.empty())
      fail(text, "an empty value", "a value between commas", "is there an extra comma?");
    // Parsed like --set, so that a run is the same as with `facet train --set`.
    Json holder = Json::object();
    apply_setting(holder, "value=" + part);
    variation.values.push_back(holder["value"]);
  }
  return variation;
}

std::string first_difference(const std::vector<Variation>& one,
                             const std::vector<Variation>& other) {
  const auto values = [](const std::vector<Variation>& variations, size_t i) {
    return i < variations.size() ? Json(variations[i].values).dump() : std::string("nothing");
  };
  for (size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    const std::string key = i < one.size() ? one[i].key : other[i].key;
    if (i < one.size() && i < other.size() && other[i].key != key)
      return fmt::format("{}, {}", key, other[i].key);
    if (values(one, i) != values(other, i))
      return fmt::format("{}: {}, {}", key, values(one, i), values(other, i));
  }
  return "";
}

std::vector<Variation> with_absolute_packs(std::vector<Variation> variations) {
  for (Variation& variation : variations)
    for (Json& value : variation.values)
      if (variation.key == "data.pack" && value.is_string() && !value.get<std::string>().empty())
        value = fs::absolute(value.get<std::string>()).lexically_normal().string();
  return variations;
}

SweepPlan plan_sweep(const Config& base, const std::vector<Variation>& variations,
                     const std::string& object) {
  check_variations(base, variations, object);
  SweepPlan plan{with_absolute_pack(base), with_absolute_packs(variations), {}};
  add_runs(plan, object);
  return plan;
}

std::string short_key(const SweepPlan& plan, size_t variation) {
  const auto last = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
  const std::string& key = plan.variations[variation].key;
  const auto same =
      std::count_if(plan.variations.begin(), plan.variations.end(),
                    [&](const Variation& other) { return last(other.key) == last(key); });
  return same > 1 ? key : last(key);
}

std::string value_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Json to_json(const SweepPlan& plan) {
  Json json = {{"config", write_options(plan.base)}, {"vary", Json::array()}};
  for (const Variation& variation : plan.variations)
    json["vary"].push_back({{"key", variation.key}, {"values", variation.values}});
  return json;
}

SweepPlan plan_of_json(const Json& json, const std::string& object) {
  Config base;
  std::vector<Variation> variations;
  try {
    read_options(base, json.at("config"), object, OldNames::accept);
    for (const Json& entry : json.at("vary"))
      variations.push_back(
          {entry.at("key").get<std::string>(), entry.at("values").get<std::vector<Json>>()});
  } catch (const Json::exception&) {
    throw Error({.doing = "reading the plan of a sweep",
                 .object = object,
                 .found = "no config or no variations",
                 .expected = "a file written by 'facet sweep'",
                 .cause = "is the file damaged?"});
  }
  return plan_sweep(base, variations, object);
}

const char* state_name(RunState state) {
  constexpr const char* names[] = {"waiting", "stopped", "failed", "finished"};
  return names[static_cast<size_t>(state)];
}

bool is_finished(const RunFolder& folder) { return fs::exists(folder.evaluation()); }

void require_same_configs(const SweepPlan& plan, const fs::path& folder) {
  for (const SweepRun& run : plan.runs) {
    const RunFolder existing{folder / run.name};
    if (!fs::exists(existing.config())) continue;
    const Config saved = read_saved_config(existing.config());
    const std::string difference = difference_on_resume(saved, run.config);
    if (difference.empty()) continue;
    throw Error({.doing = "resuming the run in",
                 .object = existing.path.string(),
                 .found = fmt::format("another config ({})", difference),
                 .expected = "the config it was started with"});
  }
}

}  // namespace facet
