#include "facet/data/shard_names.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "facet/core/error.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

/// Whether `name` is `pattern` with any text in place of every `*`.
bool matches(std::string_view name, std::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  const std::string_view rest = pattern.substr(star + 1);
  for (size_t skipped = 0; skipped <= name.size(); ++skipped)
    if (matches(name.substr(skipped), rest)) return true;
  return false;
}

/// The name of a file in parts: what comes before the number at the end of its stem, and the
/// number's digits.
struct NumberedName {
  std::string before, digits, ending;
  int64_t number = 0;
};

std::optional<NumberedName> parse_number(const fs::path& path) {
  const std::string stem = path.stem().string();
  const size_t first = stem.find_last_not_of("0123456789") + 1;  // 0 if there are only digits
  NumberedName name{stem.substr(0, first), stem.substr(first), path.extension().string()};
  const auto [after, error] =
      std::from_chars(name.digits.data(), name.digits.data() + name.digits.size(), name.number);
  if (name.digits.empty() || error != std::errc()) return std::nullopt;
  return name;
}

/// Files that are numbered alike must have every number from the first, which is 0 or 1, on. Others
/// may have any names.
void check_numbers(const std::vector<fs::path>& files, const Attempt& reading) {
  std::vector<NumberedName> names;
  for (const fs::path& file : files) {
    const std::optional<NumberedName> name = parse_number(file);
    if (!name ||
        (!names.empty() && (name->before != names[0].before || name->ending != names[0].ending)))
      return;
    names.push_back(*name);
  }
  std::sort(names.begin(), names.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  int64_t expected = std::min<int64_t>(names.front().number, 1);
  for (const NumberedName& name : names) {
    if (name.number > expected)
      reading.fail(fmt::format("no file '{}{:0{}}{}'", name.before, expected, name.digits.size(),
                               name.ending),
                   fmt::format("every number up to '{}{}{}'", names.back().before,
                               names.back().digits, names.back().ending),
                   "was a file moved or not copied?");
    expected = name.number + 1;
  }
}

}  // namespace

bool names_shards(const fs::path& path) {
  return path.filename().string().find('*') != std::string::npos;
}

void require_one_name(const fs::path& output) {
  if (names_shards(output))
    Attempt{"writing a pack", output.string()}.fail("a '*', which stands for several files",
                                                    "the name of one file");
}

std::vector<fs::path> shard_files(const fs::path& pattern) {
  const Attempt reading{"reading a pack", pattern.string()};
  const fs::path folder = pattern.has_parent_path() ? pattern.parent_path() : fs::path(".");
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (matches(name, pattern.filename().string()) && !name.ends_with(".tmp") &&
        entry->is_regular_file())
      files.push_back(pattern.has_parent_path() ? entry->path() : fs::path(name));
  }
  if (files.empty())
    reading.fail("no file of such a name", "the files of a pack", "is the path spelled right?");
  std::sort(files.begin(), files.end());
  check_numbers(files, reading);
  return files;
}

fs::path shard_path(const fs::path& output, int64_t number) {
  fs::path path = output;
  return path.replace_filename(
      fmt::format("{}-{:05}{}", output.stem().string(), number, output.extension().string()));
}

fs::path shard_pattern(const fs::path& output) {
  fs::path path = output;
  return path.replace_filename(output.stem().string() + "-*" + output.extension().string());
}

void remove_shards_from(const fs::path& output, int64_t number) {
  while (fs::remove(shard_path(output, number))) ++number;
}

}  // namespace facet
