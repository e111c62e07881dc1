// Grids of images with a title, labels and captions: what samples, clusters and edits are shown in.
// Images are magnified by whole factors without smoothing, so that every pixel of the model's
// output can be seen as it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facet/data/image.h"

namespace facet {

struct GridOptions {
  /// Images in a row; the last row may hold fewer, and so does the only one.
  int64_t columns = 8;

  /// White pixels between images, and around them all.
  int64_t gap = 2;

  /// Each pixel of an image becomes a square of this many pixels per side.
  int64_t scale = 1;

  /// Text has this many times the size of the smallest (kTextSize of report/font.h); the title half
  /// as much again where the picture is wide enough.
  int64_t text_scale = 1;

  /// Stands above all; the picture is widened for it when need be.
  std::string title;

  /// One for each row, on its left; none for no labels.
  std::vector<std::string> row_labels;

  /// One for each column, above it, shortened to its width; none for no labels.
  std::vector<std::string> column_labels;

  /// One for each image, below it, shortened to its width; none for no captions.
  std::vector<std::string> captions;
};

/// Lays images of equal size out in rows, in reading order, on white; grey and RGB may be mixed.
/// The result is always RGB.
Image draw_grid(const std::vector<Image>& cells, const GridOptions& options = {});

}  // namespace facet
