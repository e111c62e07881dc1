#include "facet/report/page_text.h"

#include <cmath>

#include <fmt/format.h>

#include "facet/report/html.h"

namespace facet {

namespace {

constexpr const char* kTied = "\xc2\xa0";  // a space at which no line ends

}  // namespace

std::string decimal(double number, int digits) {
  const std::string text = fmt::format("{:.{}f}", std::abs(number), digits);
  const bool zero = text.find_first_not_of("0.") == std::string::npos;
  return number < 0 && !zero ? "\xe2\x88\x92" + text : text;
}

std::string percent(double share) { return decimal(100 * share, 1) + kTied + "%"; }

std::string plural(int64_t count, const std::string& word) {
  return fmt::format("{} {}{}", grouped(count), word, count == 1 ? "" : "s");
}

std::string duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  const auto two = [](int64_t large, const char* name, int64_t small, const char* below) {
    return fmt::format("{0}{4}{1} {2}{4}{3}", large, name, small, below, kTied);
  };
  return whole < 60      ? fmt::format("{}{}s", whole, kTied)
         : whole < 3600  ? two(whole / 60, "min", whole % 60, "s")
         : whole < 86400 ? two(whole / 3600, "h", whole / 60 % 60, "min")
                         : two(whole / 86400, "d", whole / 3600 % 24, "h");
}

}  // namespace facet
