// Grids: cells in reading order on white, text beside them in its own room and in any language.
#include "facet/report/picture.h"

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/report/font.h"

namespace facet {
namespace {

std::vector<Image> cells(int64_t count, int64_t height = 4, int64_t width = 5) {
  std::vector<Image> cells;
  for (int64_t i = 0; i < count; ++i)
    cells.push_back(Image::filled(3, height, width, static_cast<uint8_t>(10 * (i + 1))));
  return cells;
}

bool dark(const Image& image, int64_t row, int64_t column) {
  return image.at(0, row, column) < 100 && image.at(1, row, column) < 100 &&
         image.at(2, row, column) < 100;
}

/// Dark pixels within rows [top, bottom) and columns [left, right).
int64_t ink(const Image& image, int64_t top, int64_t bottom, int64_t left, int64_t right) {
  int64_t count = 0;
  for (int64_t row = top; row < bottom; ++row)
    for (int64_t column = left; column < right; ++column) count += dark(image, row, column);
  return count;
}

TEST(Grid, CellsAreLaidOutInReadingOrderOnWhite) {
  const Image grid = draw_grid(cells(5), {.columns = 3, .gap = 2});
  EXPECT_EQ(grid.channels, 3);
  EXPECT_EQ(grid.height, 2 + 4 + 2 + 4 + 2);
  EXPECT_EQ(grid.width, 2 + 5 + 2 + 5 + 2 + 5 + 2);
  for (int64_t i = 0; i < 5; ++i) {
    const int64_t top = 2 + i / 3 * 6, left = 2 + i % 3 * 7;
    EXPECT_EQ(grid.at(1, top, left), 10 * (i + 1));
    EXPECT_EQ(grid.at(1, top + 3, left + 4), 10 * (i + 1));
    EXPECT_EQ(grid.at(1, top - 1, left), 255);
    EXPECT_EQ(grid.at(1, top, left + 5), 255);
  }
  EXPECT_EQ(grid.at(0, 10, 18), 255);  // the place of a sixth cell stays empty
}

TEST(Grid, MagnificationRepeatsPixels) {
  Image cell = Image::filled(3, 2, 2);
  for (size_t i = 0; i < cell.pixels.size(); ++i) cell.pixels[i] = static_cast<uint8_t>(20 * i);
  const Image grid = draw_grid({cell}, {.gap = 1, .scale = 3});
  ASSERT_EQ(grid.height, 8);
  ASSERT_EQ(grid.width, 8);
  for (int64_t channel = 0; channel < 3; ++channel)
    for (int64_t row = 0; row < 6; ++row)
      for (int64_t column = 0; column < 6; ++column)
        EXPECT_EQ(grid.at(channel, row + 1, column + 1), cell.at(channel, row / 3, column / 3));
}

TEST(Grid, GreyCellsBecomeRgbAndMixWithColor) {
  Image color = Image::filled(3, 1, 1);
  color.pixels = {1, 2, 3};
  const Image grid = draw_grid({Image::filled(1, 1, 1, 77), color}, {.gap = 0});
  EXPECT_EQ(grid.pixels, (std::vector<uint8_t>{77, 1, 77, 2, 77, 3}));
}

TEST(Grid, TextStandsWhereItBelongsAndLeavesTheImagesAlone) {
  const auto white = std::vector<Image>(4, Image::filled(3, 40, 40, 255));
  const Image plain = draw_grid(white, {.columns = 2});
  EXPECT_EQ(ink(plain, 0, plain.height, 0, plain.width), 0);

  const auto only = [&](GridOptions options) {
    options.columns = 2;
    return draw_grid(white, options);
  };
  const Image title = only({.title = "Title"});
  EXPECT_GT(ink(title, 0, title.height - plain.height, 0, title.width), 0);
  EXPECT_EQ(ink(title, title.height - plain.height, title.height, 0, title.width), 0);

  const Image rows = only({.row_labels = {"one", "two"}});
  EXPECT_GT(ink(rows, 0, rows.height / 2, 0, rows.width - plain.width), 0);
  EXPECT_GT(ink(rows, rows.height / 2, rows.height, 0, rows.width - plain.width), 0);
  EXPECT_EQ(ink(rows, 0, rows.height, rows.width - plain.width, rows.width), 0);

  const Image columns = only({.column_labels = {"one", "two"}});
  EXPECT_GT(ink(columns, 0, columns.height - plain.height, 0, columns.width / 2), 0);
  EXPECT_GT(ink(columns, 0, columns.height - plain.height, columns.width / 2, columns.width), 0);
  EXPECT_EQ(ink(columns, columns.height - plain.height, columns.height, 0, columns.width), 0);

  const Image captions = only({.captions = {"H", "", "", "H"}});
  const int64_t middle = captions.height / 2;
  EXPECT_EQ(ink(captions, 0, 46, 0, captions.width), 0);
  EXPECT_GT(ink(captions, 46, middle, 0, captions.width / 2), 0);
  EXPECT_EQ(ink(captions, 46, middle, captions.width / 2, captions.width), 0);
  EXPECT_EQ(ink(captions, middle, captions.height, 0, captions.width / 2), 0);
  EXPECT_GT(ink(captions, middle + 40, captions.height, captions.width / 2, captions.width), 0);
}

TEST(Grid, LongCaptionsStayBelowTheirOwnImage) {
  const auto white = std::vector<Image>(2, Image::filled(3, 30, 30, 255));
  const Image grid = draw_grid(white, {.captions = {"a caption wider than its image", ""}});
  EXPECT_GT(ink(grid, 36, grid.height, 0, 36), 0);
  EXPECT_EQ(ink(grid, 0, grid.height, 36, grid.width), 0);
}

TEST(Grid, ALongTitleWidensThePicture) {
  const std::string title = "a title that is wider than one small image";
  const Image grid = draw_grid(cells(1), {.title = title});
  EXPECT_GE(grid.width, text_width(title));
}

TEST(Grid, TextScaleMagnifiesTheText) {
  const auto white = std::vector<Image>(1, Image::filled(3, 40, 160, 255));
  const auto inked_rows = [&](int64_t text_scale) {
    const Image grid = draw_grid(white, {.text_scale = text_scale, .captions = {"HHH"}});
    int64_t rows = 0;
    for (int64_t row = 0; row < grid.height; ++row)
      rows += ink(grid, row, row + 1, 0, grid.width) > 0;
    return rows;
  };
  for (int64_t scale = 1; scale <= 3; ++scale)
    EXPECT_NEAR(static_cast<double>(inked_rows(scale)),
                static_cast<double>(text_metrics(scale * kTextSize).capital), 1)
        << "hinting may take or give a row";
}

TEST(Grid, TheTitleIsAsLargeAsFitsUpToHalfAsLargeAgain) {
  const auto rows_of_title = [](int64_t width) {
    const auto white = std::vector<Image>(1, Image::filled(3, 40, width, 255));
    return draw_grid(white, {.title = "a title of some length"}).height -
           draw_grid(white, {.captions = {""}}).height;
  };
  EXPECT_GT(rows_of_title(400), rows_of_title(100));
}

TEST(Grid, LabelsOfLowRowsDoNotTouch) {
  const std::vector<Image> low(3, Image::filled(3, 4, 40, 255));
  const Image grid = draw_grid(low, {.columns = 1, .row_labels = {"H", "H", "H"}});
  int64_t lines = 0;
  for (int64_t row = 1; row < grid.height; ++row)
    lines +=
        ink(grid, row, row + 1, 0, grid.width) > 0 && ink(grid, row - 1, row, 0, grid.width) == 0;
  EXPECT_EQ(lines, 3);
}

TEST(Grid, TextOfAnyLanguageAndBytesThatAreNoneAreDrawn) {
  const auto white = std::vector<Image>(4, Image::filled(3, 30, 80, 255));
  const Image grid = draw_grid(white, {.columns = 2,
                                       .title = "größe → α",
                                       .row_labels = {"größe", "\xff\xfe\xc3"},
                                       .column_labels = {"Привет", "漢字"},
                                       .captions = {"ö", "\xe2\x82", "", "é"}});
  EXPECT_GT(ink(grid, 0, grid.height, 0, grid.width), 0);
}

TEST(Grid, WhatDoesNotFitTogetherIsAnError) {
  EXPECT_THROW(draw_grid({}), Error);
  EXPECT_THROW(draw_grid({Image::filled(3, 2, 2), Image::filled(3, 2, 3)}), Error);
  EXPECT_THROW(draw_grid({Image::filled(2, 2, 2)}), Error);
  EXPECT_THROW(draw_grid({Image{}}), Error);
  Image short_of_pixels = Image::filled(3, 2, 2);
  short_of_pixels.pixels.pop_back();
  EXPECT_THROW(draw_grid({short_of_pixels}), Error);

  EXPECT_NO_THROW(draw_grid(cells(5), {.columns = 3, .row_labels = {"1", "2"}}));
  EXPECT_THROW(draw_grid(cells(5), {.columns = 3, .row_labels = {"1"}}), Error);
  EXPECT_THROW(draw_grid(cells(5), {.columns = 3, .column_labels = {"1", "2"}}), Error);
  EXPECT_NO_THROW(draw_grid(cells(2), {.columns = 3, .column_labels = {"1", "2"}}));
  EXPECT_THROW(draw_grid(cells(5), {.captions = {"1", "2"}}), Error);

  EXPECT_THROW(draw_grid(cells(1), {.columns = 0}), Error);
  EXPECT_THROW(draw_grid(cells(1), {.gap = -1}), Error);
  EXPECT_THROW(draw_grid(cells(1), {.scale = 0}), Error);
  EXPECT_THROW(draw_grid(cells(1), {.text_scale = 0}), Error);
  EXPECT_THROW(draw_grid(cells(1, 1000, 1000), {.scale = 20}), Error);
}

}  // namespace
}  // namespace facet
