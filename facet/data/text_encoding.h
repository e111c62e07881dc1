// Text as people save it: the encodings that spreadsheets write, made UTF-8, and the comparisons
// that labels need. An encoding is recognised by its marks or by its bytes, and refused where that
// cannot be told: a wrong guess would turn "grün" into two values.
#pragma once

#include <string>
#include <string_view>

#include "facet/core/error.h"

namespace facet {

struct DecodedText {
  std::string text;      ///< UTF-8, without a byte-order mark
  std::string encoding;  ///< "UTF-8", "UTF-16" or "Windows-1252"
};

/// UTF-8 and UTF-16 by their byte-order marks; without one UTF-8 if the bytes are, else
/// Windows-1252, which contains the letters of Latin-1. Throws an Error for anything else.
DecodedText to_utf8(std::string bytes, const Attempt& reading);

/// Without spaces, tabs, line ends and no-break spaces at both ends.
std::string_view trimmed(std::string_view text);

/// In small letters, of all alphabets that have them.
std::string lower_case(std::string_view text);

}  // namespace facet
