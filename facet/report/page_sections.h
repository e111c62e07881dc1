// The sections of a report that have files of their own; page.cpp puts them together.
#pragma once

#include "facet/report/html.h"
#include "facet/report/report.h"

namespace facet {

inline constexpr int64_t kCellSide = 64, kHeroSide = 96;  ///< CSS pixels of an image, about

/// A figure with its caption and its command, below a `heading` such as "h3"; the empty one is for
/// the figure beside the headline. Images of `shape` become about `side` CSS pixels wide.
void write_picture(Html& html, const ReportFigure& shown, const ImageShape& shape,
                   const char* heading, int64_t side);

/// The section of all pictures but the one beside the headline.
void write_pictures(Html& html, const RunReport& report);

/// Of an element that scrolls sideways: a keyboard can reach it.
Html::Attributes scroll_region();

/// A command that wraps between words only and is copied as one line.
void write_command(Html& html, const std::string& command);

/// The section of all measures.
void write_measures(Html& html, const RunReport& report);

/// The section of what people see in samples; nothing without a survey.
void write_survey(Html& html, const RunReport& report);

}  // namespace facet
