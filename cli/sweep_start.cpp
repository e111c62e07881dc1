#include "cli/sweep_start.h"

#include <algorithm>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

fs::path record_of(const SweepArguments& arguments) {
  return fs::path(arguments.output) / "sweep.json";
}

[[noreturn]] void refuse(const SweepArguments& arguments, const std::string& found,
                         const std::string& expected, const std::string& cause = "") {
  throw Error({.doing = arguments.resume    ? "resuming the sweep in"
                        : arguments.joins() ? "joining the sweep in"
                                            : "starting a sweep in",
               .object = arguments.output,
               .found = found,
               .expected = expected,
               .cause = cause});
}

std::vector<Variation> parse_variations(const std::vector<std::string>& texts) {
  std::vector<Variation> variations;
  for (const std::string& text : texts) variations.push_back(parse_variation(text));
  return with_absolute_packs(variations);
}

/// Whether a folder has other files than those of processes that are just starting a sweep in it.
bool has_other_files(const fs::path& folder) {
  const auto other = [](const fs::directory_entry& entry) {
    return !entry.path().filename().string().starts_with("sweep.json");
  };
  return std::any_of(fs::directory_iterator(folder), {}, other);
}

SweepPlan new_plan(const SweepArguments& arguments) {
  if (arguments.config.empty())
    refuse(arguments, "no config",
           "facet sweep CONFIG.json --vary key=v1,v2 --out DIR, or --resume");
  const fs::path folder = arguments.output;
  if (fs::exists(folder) && !fs::is_directory(folder))
    refuse(arguments, "a file", "a new or empty folder");
  const bool used =
      fs::exists(folder) && (arguments.joins() ? has_other_files(folder) : !fs::is_empty(folder));
  // Another process may have begun since, in which case there is a plan by now.
  if (used && !(arguments.joins() && fs::exists(record_of(arguments))))
    refuse(arguments, "a folder that is not empty", "a new or empty folder",
           "--resume and --join continue a sweep; --out names another folder");
  return plan_sweep(read_config(arguments.config, arguments.settings),
                    parse_variations(arguments.variations), arguments.config);
}

/// How the config and the settings differ from those of the sweep in the folder.
std::string config_difference(const SweepArguments& arguments, const SweepPlan& saved) {
  Json given = arguments.config.empty()
                   ? write_options(saved.base)
                   : write_options(read_config(arguments.config, arguments.settings));
  for (const std::string& setting : arguments.settings) apply_setting(given, setting);
  Config config;
  read_options(config, given,
               arguments.config.empty() ? record_of(arguments).string() : arguments.config);
  // One sweep is on one pack; only who resumes it may say that the pack has moved.
  return arguments.resume ? difference_on_resume(saved.base, config)
                          : first_difference(saved.base, with_absolute_pack(config));
}

/// The plan in the folder; an Error where arguments that are given say something else.
SweepPlan saved_plan(const SweepArguments& arguments) {
  const fs::path path = record_of(arguments);
  if (!fs::exists(path))
    refuse(arguments, "no sweep.json in it", "a folder that 'facet sweep --out' has made",
           "is the path spelled right?");
  SweepPlan saved = plan_of_json(
      parse_config(read_text(path, "reading the plan of a sweep"), path.string()), path.string());
  const char* const act = arguments.resume ? "resume" : "join";
  if (arguments.resume)
    for (const std::string& setting : arguments.settings)  // a pack may have moved
      if (setting.rfind("data.pack=", 0) == 0) saved.base.data.pack = setting.substr(10);
  if (const std::string difference = config_difference(arguments, saved); !difference.empty())
    refuse(arguments, fmt::format("another config ({})", difference), "the one it was started with",
           fmt::format("leave CONFIG and --set away to {} it as it is", act));
  const auto variations = parse_variations(arguments.variations);
  if (const std::string difference = first_difference(saved.variations, variations);
      !variations.empty() && !difference.empty())
    refuse(arguments, fmt::format("another --vary ({})", difference),
           "the values it was started with",
           fmt::format("leave --vary away to {} it as it is", act));
  return plan_sweep(saved.base, saved.variations, path.string());
}

}  // namespace

SweepPlan starting_plan(const SweepArguments& arguments) {
  if (!arguments.resume && !(arguments.joins() && fs::exists(record_of(arguments))))
    return new_plan(arguments);
  SweepPlan plan = saved_plan(arguments);
  if (arguments.resume) require_same_configs(plan, arguments.output);
  return plan;
}

void require_same_plan(const SweepArguments& arguments) {
  if (!arguments.joins())
    refuse(arguments, "a sweep that another process has just started", "a new or empty folder",
           "--join takes part in it");
  saved_plan(arguments);
}

}  // namespace facet
