// Numbers as a report's sentences and tables write them, in HTML's characters: a true minus sign
// and spaces at which no line ends.
#pragma once

#include <cstdint>
#include <string>

namespace facet {

std::string decimal(double number, int digits);

/// "99.1 %" of 0.991.
std::string percent(double share);

/// "1 step", "6,500 steps".
std::string plural(int64_t count, const std::string& word);

/// "12 min 5 s".
std::string duration(double seconds);

}  // namespace facet
