// UTF-8 as characters, for what measures and draws text. Labels come from file names and tables of
// others: bytes that are no UTF-8 become U+FFFD, one for each broken sequence as browsers do it,
// and are never an error.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace facet {

/// Stands for bytes that are no UTF-8.
inline constexpr char32_t kReplacementCharacter = 0xfffd;

/// The character that begins at byte `at`, which moves on to the next one; `at` is inside of
/// `text`.
char32_t next_character(std::string_view text, size_t& at);

std::u32string decode_utf8(std::string_view text);

/// `text`, or as much of its beginning as fits together with "...", or nothing at all. What fits is
/// told by `fits`; of two beginnings the shorter one fits where the longer one does.
std::string shorten(std::string_view text, const std::function<bool(const std::string&)>& fits);

}  // namespace facet
