#include "facet/core/error.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace facet {

std::string without_control_characters(const std::string& text) {
  std::string line;
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '\n')
      line += "\\n";
    else if (code < 0x20 || code == 0x7F)
      line += fmt::format("\\x{:02x}", code);
    else
      line += letter;
  }
  return line;
}

std::string to_string(const Fault& fault) {
  std::string text = fault.doing;
  if (!fault.object.empty()) text += fmt::format(" '{}'", fault.object);
  text += ": ";
  if (!fault.found.empty()) text += "found " + fault.found;
  if (!fault.expected.empty())
    text += (fault.found.empty() ? "expected " : ", expected ") + fault.expected;
  if (!fault.cause.empty()) text += fmt::format(" ({})", fault.cause);
  return without_control_characters(text);
}

void Attempt::fail(std::string found, std::string expected, std::string cause) const {
  throw Error({.doing = doing,
               .object = object,
               .found = std::move(found),
               .expected = std::move(expected),
               .cause = std::move(cause)});
}

namespace {

/// Letters to add, drop, replace or swap with their neighbour to get from one word to the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last = std::move(last);
    last = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({substituted, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> near_matches(std::string_view word,
                                      const std::vector<std::string>& candidates) {
  std::vector<std::pair<size_t, std::string>> scored;
  const size_t most = std::max<size_t>(1, word.size() / 3);
  for (const auto& candidate : candidates) {
    if (word.size() > candidate.size() + most) continue;  // so much at least would have to go
    const size_t distance = edit_distance(word, candidate);
    const bool contains = !word.empty() && candidate.find(word) != std::string::npos;
    if (contains || distance <= most) scored.emplace_back(distance, candidate);
  }
  std::sort(scored.begin(), scored.end());
  std::vector<std::string> nearest;
  for (const auto& [distance, candidate] : scored)
    if (nearest.size() < 3) nearest.push_back(candidate);
  return nearest;
}

std::string suggest(std::string_view word, const std::vector<std::string>& candidates) {
  const auto nearest = near_matches(word, candidates);
  if (nearest.empty()) return fmt::format("known: {}", fmt::join(candidates, ", "));
  return fmt::format("did you mean '{}'?", fmt::join(nearest, "' or '"));
}

}  // namespace facet
