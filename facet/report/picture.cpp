#include "facet/report/picture.h"

#include <algorithm>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/data/image_file.h"
#include "facet/report/font.h"

namespace facet {
namespace {

constexpr const char* kDrawingGrid = "drawing a grid of images";
constexpr int64_t kGridMargin = 6;  // around pictures with text, at text scale 1
constexpr int64_t kTextSpace = 2;   // between a text and what it belongs to, at text scale 1
constexpr int64_t kLargestScale = 64;

[[noreturn]] void fail(std::string found, std::string expected) {
  throw Error({.doing = kDrawingGrid, .found = std::move(found), .expected = std::move(expected)});
}

void check_option(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value < least || value > most)
    fail(fmt::format("{} = {}", name, value), fmt::format("{} to {}", least, most));
}

void check_count(const char* what, size_t count, int64_t places) {
  if (count != 0 && static_cast<int64_t>(count) != places)
    fail(fmt::format("{} {}", count, what), fmt::format("{} or none", places));
}

void check_cells(const std::vector<Image>& cells) {
  if (cells.empty()) fail("no images", "at least one");
  const Image& first = cells.front();
  for (size_t i = 0; i < cells.size(); ++i) {
    const Image& cell = cells[i];
    if (cell.height != first.height || cell.width != first.width)
      fail(fmt::format("image {} of {}x{} pixels", i, cell.width, cell.height),
           fmt::format("{}x{} like image 0", first.width, first.height));
    const bool shaped = (cell.channels == 1 || cell.channels == 3) && cell.height > 0 &&
                        cell.width > 0 && cell.height <= kLongestImageSide &&
                        cell.width <= kLongestImageSide;
    if (!shaped ||
        static_cast<int64_t>(cell.pixels.size()) != cell.channels * cell.height * cell.width)
      fail(fmt::format("image {} of {} x {} x {} with {} values", i, cell.channels, cell.height,
                       cell.width, cell.pixels.size()),
           "1 or 3 channels, and a value for each pixel");
  }
}

/// Where everything goes, in pixels of the picture.
struct GridLayout {
  int64_t rows, columns;
  int64_t cell_height, cell_width;  ///< magnified
  int64_t row_step, column_step;    ///< from one cell to the next
  int64_t first_row, first_column;  ///< upper left corner of the first cell
  int64_t text_size, title_size;
  TextMetrics text;  ///< of labels and captions; zeros in a picture without text
  int64_t margin;
  int64_t height, width;  ///< of the picture

  int64_t top(int64_t index) const { return first_row + index / columns * row_step; }
  int64_t left(int64_t index) const { return first_column + index % columns * column_step; }
};

/// The title is half as large again as other text, or as much of that as fits the picture's width.
void place_title(GridLayout& layout, const GridOptions& options) {
  if (options.title.empty()) return;
  const int64_t room = layout.width - 2 * layout.margin;
  layout.title_size = (3 * layout.text_size + 1) / 2;
  while (layout.title_size > layout.text_size &&
         text_width(options.title, layout.title_size) > room)
    --layout.title_size;
  layout.width += std::max<int64_t>(text_width(options.title, layout.title_size) - room, 0);
  const int64_t taken =
      text_metrics(layout.title_size).height() + 2 * kTextSpace * options.text_scale;
  layout.first_row += taken;
  layout.height += taken;
}

GridLayout lay_out(const std::vector<Image>& cells, const GridOptions& options) {
  const auto count = static_cast<int64_t>(cells.size());
  const int64_t space = kTextSpace * options.text_scale;
  const bool has_text = !(options.title.empty() && options.row_labels.empty() &&
                          options.column_labels.empty() && options.captions.empty());
  GridLayout layout{};
  layout.text_size = kTextSize * options.text_scale;
  // Without text no font is needed, and none is looked for.
  if (has_text) layout.text = text_metrics(layout.text_size);
  const int64_t line = layout.text.height();
  layout.columns = std::min(options.columns, count);
  layout.rows = (count + layout.columns - 1) / layout.columns;
  layout.cell_height = cells.front().height * options.scale;
  layout.cell_width = cells.front().width * options.scale;
  layout.margin = has_text ? std::max(options.gap, kGridMargin * options.text_scale) : options.gap;
  layout.row_step = layout.cell_height + options.gap;
  layout.column_step = layout.cell_width + options.gap;
  // A caption stands nearer to its own image than to the one below.
  if (!options.captions.empty()) layout.row_step += space + line + space;
  if (!options.row_labels.empty()) layout.row_step = std::max(layout.row_step, line);

  layout.first_row = layout.margin + (options.column_labels.empty() ? 0 : line + space);
  layout.first_column = layout.margin;
  for (const std::string& label : options.row_labels)
    layout.first_column = std::max(layout.first_column,
                                   layout.margin + text_width(label, layout.text_size) + 2 * space);
  layout.height = layout.first_row + layout.rows * layout.row_step - options.gap + layout.margin;
  layout.width =
      layout.first_column + layout.columns * layout.column_step - options.gap + layout.margin;
  place_title(layout, options);
  if (std::max(layout.height, layout.width) > kLongestImageSide)
    fail(fmt::format("a picture of {}x{} pixels", layout.width, layout.height),
         fmt::format("at most {} per side", kLongestImageSide));
  return layout;
}

void draw_cell(Image& picture, const Image& cell, int64_t top, int64_t left, int64_t scale) {
  for (int64_t channel = 0; channel < 3; ++channel) {
    const int64_t source = cell.channels == 1 ? 0 : channel;
    for (int64_t row = 0; row < cell.height * scale; ++row)
      for (int64_t column = 0; column < cell.width * scale; ++column)
        picture.at(channel, top + row, left + column) =
            cell.at(source, row / scale, column / scale);
  }
}

/// Centers text over or under a cell, with its box at row `top`. It stays clear of its neighbors'
/// text, which the gap between images alone may be too narrow for.
void draw_centered(Image& picture, const GridLayout& layout, int64_t top, int64_t left,
                   const std::string& text) {
  const int64_t size = layout.text_size;
  const int64_t room = std::min(layout.cell_width, layout.column_step - size / 3);
  const std::string shown = shorten_text(text, room, size);
  draw_text(picture, top + layout.text.ascent,
            left + (layout.cell_width - text_width(shown, size)) / 2, shown, size);
}

void draw_labels(Image& picture, const GridLayout& layout, const GridOptions& options) {
  const int64_t size = layout.text_size, space = kTextSpace * options.text_scale;
  if (!options.title.empty())
    draw_text(picture, layout.margin + text_metrics(layout.title_size).ascent, layout.margin,
              options.title, layout.title_size);
  for (size_t i = 0; i < options.column_labels.size(); ++i)
    draw_centered(picture, layout, layout.first_row - layout.text.height() - space,
                  layout.left(static_cast<int64_t>(i)), options.column_labels[i]);
  for (size_t i = 0; i < options.row_labels.size(); ++i) {
    const std::string& label = options.row_labels[i];
    const int64_t top = layout.top(static_cast<int64_t>(i) * layout.columns);
    draw_text(picture, top + (layout.cell_height + layout.text.capital) / 2,
              layout.first_column - 2 * space - text_width(label, size), label, size);
  }
}

}  // namespace

Image draw_grid(const std::vector<Image>& cells, const GridOptions& options) {
  check_cells(cells);
  check_option("columns", options.columns, 1, kLongestImageSide);
  check_option("gap", options.gap, 0, kLongestImageSide);
  check_option("scale", options.scale, 1, kLargestScale);
  check_option("text_scale", options.text_scale, 1, kLargestScale);
  const GridLayout layout = lay_out(cells, options);
  check_count("row labels", options.row_labels.size(), layout.rows);
  check_count("column labels", options.column_labels.size(), layout.columns);
  check_count("captions", options.captions.size(), static_cast<int64_t>(cells.size()));

  Image picture = Image::filled(3, layout.height, layout.width, 255);
  draw_labels(picture, layout, options);
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    draw_cell(picture, cells[i], layout.top(index), layout.left(index), options.scale);
    if (!options.captions.empty())
      draw_centered(picture, layout,
                    layout.top(index) + layout.cell_height + kTextSpace * options.text_scale,
                    layout.left(index), options.captions[i]);
  }
  return picture;
}

}  // namespace facet
