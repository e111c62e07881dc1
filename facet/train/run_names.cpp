#include "facet/train/run_names.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/prior/factorial_mixture.h"
#include "facet/train/run_folder.h"

namespace facet {

namespace {

constexpr const char* kNaming = "naming factors and components";

void apply_to_factor(FactorOptions& factor, const FactorNames& names) {
  if (!names.name.empty()) {
    require_usable_name(names.name);
    if (factor.original.empty()) factor.original = factor.name;
    factor.name = names.name;
  }
  if (names.components.empty()) return;
  for (auto k = static_cast<int64_t>(factor.values.size()); k < factor.components; ++k)
    factor.values.push_back(std::to_string(k));
  for (const auto& [k, name] : names.components) {
    require_usable_name(name);
    if (k < 0 || k >= factor.components)
      throw Error({.doing = kNaming,
                   .object = factor.name,
                   .found = fmt::format("component {}", k),
                   .expected = fmt::format("0 to {}", factor.components - 1)});
    factor.values[static_cast<size_t>(k)] = name;
  }
  if (std::set(factor.values.begin(), factor.values.end()).size() < factor.values.size())
    throw Error({.doing = kNaming,
                 .object = factor.name,
                 .found = "one name for two components",
                 .expected = "different names"});
}

}  // namespace

void require_usable_name(const std::string& name) {
  const bool number = std::all_of(name.begin(), name.end(),
                                  [](unsigned char sign) { return sign >= '0' && sign <= '9'; });
  const bool bad = name.find_first_of("=,:\n\r\t\"") != std::string::npos ||
                   name.starts_with(' ') || name.ends_with(' ') || name.starts_with('-');
  if (name.empty() || number || bad || name.size() > kLongestName)
    throw Error(
        {.doing = kNaming,
         .object = name,
         .found = number && !name.empty() ? "a number" : "no usable name",
         .expected = fmt::format("1 to {} letters without = , : and quotes", kLongestName)});
}

RunNames read_names(const RunFolder& folder) {
  if (!std::filesystem::exists(folder.names())) return {};
  RunNames names;
  try {
    const Json json = Json::parse(read_text(folder.names(), kNaming));
    for (const auto& [factor, entry] : json.at("factors").items()) {
      FactorNames& known = names[factor];
      known.name = entry.value("name", "");
      if (!entry.contains("components")) continue;
      for (const auto& [index, name] : entry["components"].items())
        known.components[std::stoll(index)] = name.get<std::string>();
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error({.doing = "reading",
                 .object = folder.names().string(),
                 .found = fmt::format("a damaged file ({})", error.what()),
                 .expected = "names of factors and components",
                 .cause = "without this file the model's own names are used"});
  }
  return names;
}

void write_names(const RunFolder& folder, const RunNames& names) {
  Json factors = Json::object();
  for (const auto& [factor, known] : names) {
    Json entry = Json::object();
    if (!known.name.empty()) entry["name"] = known.name;
    for (const auto& [index, name] : known.components)
      entry["components"][std::to_string(index)] = name;
    if (!entry.empty()) factors[factor] = entry;
  }
  write_text(folder.names(), Json{{"factors", factors}}.dump(2) + "\n", kNaming);
}

void apply_names(FactorialMixture& prior, const RunNames& names) {
  for (const auto& [name, known] : names)
    apply_to_factor(prior.factors[prior.index_of(name)], known);
  std::set<std::string> all;
  for (const FactorOptions& factor : prior.factors)
    if (!all.insert(factor.name).second)
      throw Error({.doing = kNaming,
                   .object = factor.name,
                   .found = "one name for two factors",
                   .expected = "different names"});
}

}  // namespace facet
