// Text in pictures: a small proportional bitmap font for printable ASCII, drawn for Facet, so that
// captions need no font file and no font library. Letters are seven pixels tall with two more below
// the base line, and are magnified by whole factors only, which keeps them crisp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "facet/data/image.h"

namespace facet {

/// Height of a line of text at scale 1, from the top of a capital to the foot of a "g".
inline constexpr int64_t kTextHeight = 9;

/// Height of a capital at scale 1; text is centered by it, as few letters go below the base line.
inline constexpr int64_t kCapitalHeight = 7;

/// Width in pixels of a line of text. A character outside of ASCII is drawn as a box.
int64_t text_width(std::string_view text, int64_t scale = 1);

/// `text`, or as much of its beginning as fits `width` together with "...", or nothing at all.
std::string shorten_text(std::string_view text, int64_t width, int64_t scale = 1);

/// Draws a line of text in dark grey with its upper left corner at (row, column); what falls
/// outside of the image is left out.
void draw_text(Image& image, int64_t row, int64_t column, std::string_view text, int64_t scale = 1);

}  // namespace facet
