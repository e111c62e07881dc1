// The pictures of a report: walls of images without labels, and sheets with labelled rows and
// columns, each with its caption and the command that draws it.
#include <algorithm>

#include <fmt/format.h>

#include "facet/data/image_file.h"
#include "facet/report/page_sections.h"

namespace facet {

namespace {

void write_image(Html& html, const Image& image, const std::string& alternative) {
  html.single("img", {{"src", png_address(encode_png(image))},
                      {"width", std::to_string(image.width)},
                      {"height", std::to_string(image.height)},
                      {"alt", alternative}});
}

void wall(Html& html, const Figure& figure, int64_t cell, bool wide) {
  // A page is wider than it is high, so where there is room twice as wide as a command's square.
  const int64_t columns = figure.layout.columns * (wide ? 2 : 1);
  const auto scope = html.open(
      "div",
      {{"class", "wall"}, {"style", fmt::format("--columns:{};--cell:{}px", columns, cell)}});
  for (size_t i = 0; i < figure.cells.size(); ++i)
    write_image(html, figure.cells[i], fmt::format("sample {}", i + 1));
}

/// Column labels; equal neighbours become one that spans them.
void sheet_head(Html& html, const Figure& figure) {
  const std::vector<std::string>& labels = figure.layout.column_labels;
  const auto head = html.open("thead");
  const auto row = html.open("tr");
  if (!figure.layout.row_labels.empty()) html.element("td", "");
  for (size_t i = 0, end = 0; i < labels.size(); i = end) {
    end = i + 1;
    while (end < labels.size() && labels[end] == labels[i]) ++end;
    Html::Attributes attributes = {{"scope", "col"}};
    if (end - i > 1) attributes = {{"scope", "colgroup"}, {"colspan", std::to_string(end - i)}};
    const auto head_cell = html.open("th", attributes);
    html.element("span", end - i > 1 ? labels[i] + "s" : labels[i]);
  }
}

/// "3  12.5 %" as a name with a smaller share below it.
void row_head(Html& html, const std::string& label) {
  const auto head = html.open("th", {{"scope", "row"}});
  const size_t share = label.rfind("  ");
  html.text(label.substr(0, share));
  if (share != std::string::npos) html.element("small", label.substr(share + 2));
}

void sheet(Html& html, const Figure& figure, int64_t cell) {
  const auto columns = static_cast<size_t>(figure.layout.columns);
  const std::vector<std::string>&rows = figure.layout.row_labels,
        &heads = figure.layout.column_labels;
  const auto scroll = html.open("div", scroll_region());
  const auto table = html.open(
      "table",
      {{"class", fmt::format("sheet{}{}", rows.empty() ? " bare" : "", columns > 5 ? " many" : "")},
       {"style", fmt::format("--columns:{};--cell:{}px", columns, cell)}});
  if (!heads.empty()) sheet_head(html, figure);
  const auto body = html.open("tbody");
  for (size_t i = 0; i < figure.cells.size(); i += columns) {
    const auto row = html.open("tr");
    const std::string label =
        rows.empty() ? fmt::format("row {}", i / columns + 1) : rows[i / columns];
    if (!rows.empty()) row_head(html, label);
    for (size_t j = i; j < std::min(i + columns, figure.cells.size()); ++j) {
      const auto data = html.open("td");
      write_image(html, figure.cells[j],
                  heads.empty() ? label : fmt::format("{}: {}", label, heads[j - i]));
    }
  }
}

}  // namespace

Html::Attributes scroll_region() {
  return {{"class", "scroll"}, {"tabindex", "0"}, {"role", "group"}, {"aria-label", "Wide table"}};
}

void write_command(Html& html, const std::string& command) {
  const auto code = html.open("code", {{"class", "command"}});
  for (size_t begin = 0; begin < command.size();) {
    const size_t end = std::min(command.find(' ', begin), command.size());
    html.markup(
        "<span class=\"word\">");  // by hand: elements end with a new line, which would show
    html.text(command.substr(begin, end - begin));
    html.markup("</span>");
    if (end < command.size()) html.text(" ");
    begin = end + 1;
  }
}

void write_picture(Html& html, const ReportFigure& shown, const ImageShape& shape,
                   const char* heading, int64_t side) {
  const GridOptions& layout = shown.figure.layout;
  const bool beside = !layout.row_labels.empty() && std::string_view(heading) == "h3";
  const auto scope = html.open("figure", {{"class", beside ? "beside" : "plain"}});
  const bool hero = *heading == '\0';
  if (!hero) html.element(heading, shown.title);
  // A whole multiple of the model's pixels where that is near.
  const int64_t longest = std::max(shape.height, shape.width);
  const int64_t cell = shape.width * std::max<int64_t>(1, side / longest);
  if (layout.row_labels.empty() && layout.column_labels.empty())
    wall(html, shown.figure, cell, !hero);
  else
    sheet(html, shown.figure, cell);
  const auto caption = html.open("figcaption");
  if (!shown.caption.empty()) html.element("p", shown.caption);
  write_command(html, shown.command);
}

namespace {

void write_trees(Html& html, const RunReport& report) {
  if (report.trees.empty()) return;
  html.element("h3", "How components join into groups");
  html.element("p", report.trees.front().caption, {{"class", "caption"}});
  for (const ReportTree& shown : report.trees) {
    const auto scope = html.open("figure", {{"class", "plain"}});
    html.element("h4", shown.title);
    html.element("p", shown.tree.title, {{"class", "caption"}});
    html.markup(dendrogram_svg(shown.tree));
    const auto caption = html.open("figcaption");
    write_command(html, shown.command);
  }
}

}  // namespace

void write_pictures(Html& html, const RunReport& report) {
  const auto section = html.open("section", {{"id", "pictures"}});
  html.element("h2", "Pictures");
  html.element("p", "Below each picture is the command that draws it.", {{"class", "caption"}});
  if (!report.no_mixtures.empty()) html.element("p", report.no_mixtures);
  {
    const auto stack = html.open("div", {{"class", "stack"}});
    for (const ReportFigure& figure : report.figures)
      write_picture(html, figure, report.shape, "h3", kCellSide);
  }
  if (report.components.empty()) return;
  html.element("h3", "Components of each factor");
  html.element(
      "p",
      "A row is a component with its share of the images, heaviest first: the mean and the "
      "variance of 200 samples, and five of them, with all other factors drawn. " +
          report.components_note,
      {{"class", "caption"}});
  {
    const auto pair = html.open("div", {{"class", "pair"}});
    for (const ReportFigure& figure : report.components)
      write_picture(html, figure, report.shape, "h4", kCellSide);
  }
  write_trees(html, report);
}

}  // namespace facet
