// The order of a report and its short sections. Sections say why something is missing where a
// reader would look for it.
#include <sstream>

#include <fmt/format.h>
#include <torch/version.h>

#include "facet/core/json.h"
#include "facet/export/page_files.h"
#include "facet/report/html.h"
#include "facet/report/page_sections.h"
#include "facet/report/page_style.h"
#include "facet/report/page_text.h"
#include "facet/report/report.h"

namespace facet {

namespace {

/// "9,500 steps, 2,000 of them of the mixtures alone".
std::string steps_by_phase(const TrainingLog& log) {
  const int64_t done = log.steps_done();
  const int64_t alone = std::clamp<int64_t>(done - log.lengths.pretrain, 0, log.lengths.initialise);
  std::string text = plural(done, "step");
  if (alone > 0) text += fmt::format(", {} of them of the mixtures alone", grouped(alone));
  return text;
}

/// "the built-in portraits" or the pack's name.
std::string data_name(const RunReport& report) {
  const std::string& pack = report.config.data.pack;
  return pack.empty() ? "built-in portraits" : std::filesystem::path(pack).stem().string();
}

int64_t living_components(const Evaluation& evaluation) {
  int64_t living = 0;
  for (const FactorEvaluation& factor : evaluation.factors) living += factor.used;
  return living;
}

int64_t all_components(const Evaluation& evaluation) {
  int64_t components = 0;
  for (const FactorEvaluation& factor : evaluation.factors) components += factor.components;
  return components;
}

/// A module of the explorer's page as a part of one script: without its imports and exports.
std::string inlined_module(std::string_view path) {
  std::string text;
  std::istringstream lines(std::string(find_page_file(path)->bytes));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("import ")) continue;
    if (line.starts_with("export ")) line.erase(0, 7);
    text += line + "\n";
  }
  return text;
}

/// The charts as the script takes them. Values that are not finite become null, a gap.
Json curves_data(const std::vector<ChartGroup>& groups) {
  Json data = Json::array();
  for (const ChartGroup& group : groups)
    for (const Chart& chart : group.charts) {
      Json lines = Json::array(), phases = Json::array();
      for (const ChartLine& line : chart.lines) {
        Json points = Json::array();
        for (const ChartPoint& point : line.points) points.push_back({point.x, point.y});
        lines.push_back({{"name", line.name}, {"points", points}});
      }
      for (const ChartSpan& span : chart.spans)
        phases.push_back({{"name", span.name}, {"first", span.begin}, {"last", span.end}});
      data.push_back({{"title", chart.title},
                      {"fromZero", chart.from_zero},
                      {"lines", lines},
                      {"phases", phases}});
    }
  return data;
}

/// Writes the sections, one after the other, into one page.
class Page {
 public:
  explicit Page(const RunReport& report) : report_(report) {}

  std::string write() {
    html_.markup("<!DOCTYPE html>\n");
    {
      const auto root = html_.open("html", {{"lang", "en"}});
      head();
      body();
    }
    return html_.page();
  }

 private:
  void head();
  void body();
  void opening();
  void facts();
  void fact(const std::string& name, const std::string& value, const std::string& detail);
  void navigation();
  void curves();
  void live_curves(const std::vector<ChartGroup>& groups);
  void configuration();

  const RunReport& report_;
  Html html_;
};

void Page::head() {
  const auto scope = html_.open("head");
  html_.single("meta", {{"charset", "utf-8"}});
  html_.single("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  html_.single("meta", {{"name", "generator"}, {"content", report_.version}});
  html_.element("title", report_.name + " · Facet report");
  const auto style = html_.open("style");
  html_.markup(kPageStyle);
}

void Page::body() {
  const auto scope = html_.open("body");
  {
    const auto main = html_.open("main");
    opening();
    curves();
    write_pictures(html_, report_);
    write_measures(html_, report_);
    write_survey(html_, report_);
    configuration();
  }
  const auto footer = html_.open("footer");
  html_.text(fmt::format("Written on {} by {} with LibTorch {}.", report_.written, report_.version,
                         TORCH_VERSION));
  // Paper has no triangle to click on; browsers that can, open it by style alone.
  html_.markup(
      "<script>addEventListener('beforeprint',()=>document.querySelectorAll('details')"
      ".forEach(d=>d.open=true))</script>");
}

void Page::opening() {
  const auto header = html_.open("header");
  {
    const auto words = html_.open("div");
    html_.element("p", "Facet report", {{"class", "kicker"}});
    html_.element("h1", report_.name);
    html_.element("p", headline(report_), {{"class", "lead"}});
    facts();
    navigation();
  }
  if (!report_.hero) return;
  const bool few = report_.hero->figure.layout.columns <= 5;  // of them there is room for more
  write_picture(html_, *report_.hero, report_.shape, "", few ? kHeroSide : kCellSide);
}

void Page::fact(const std::string& name, const std::string& value, const std::string& detail) {
  const auto scope = html_.open("div");
  html_.element("dt", name);
  const auto definition = html_.open("dd");
  html_.text(value);
  if (!detail.empty()) html_.element("small", detail);
}

void Page::facts() {
  const auto list = html_.open("dl", {{"class", "facts"}});
  if (report_.evaluation) {
    const Evaluation& evaluation = *report_.evaluation;
    fact("Bound", decimal(evaluation.elbo, 1), fmt::format("nats, {} split", evaluation.split));
    fact("Living components",
         fmt::format("{} of {}", living_components(evaluation), all_components(evaluation)),
         fmt::format("in {}", plural(static_cast<int64_t>(evaluation.factors.size()), "factor")));
  }
  if (report_.classifier)
    fact("Samples as requested", percent(report_.classifier->joint_agreement),
         "classifier, all named factors");
  fact("Training images", grouped(report_.training_images), data_name(report_));
  fact("Network", grouped(report_.network_parameters), "parameters");
  if (!report_.sessions.empty())
    fact("Training", duration(report_.training_seconds()),
         steps_by_phase(report_.log) +
             (report_.sessions.size() > 1 ? fmt::format(" in {} sessions", report_.sessions.size())
                                          : ""));
}

void Page::navigation() {
  const auto scope = html_.open("nav", {{"aria-label", "Sections"}});
  std::vector<std::pair<std::string, std::string>> places = {
      {"#curves", "Curves"}, {"#pictures", "Pictures"}, {"#measures", "Measures"}};
  if (report_.survey) places.emplace_back("#survey", "People");
  places.emplace_back("#config", "Config");
  for (const auto& [place, name] : places) html_.element("a", name, {{"href", place}});
}

void Page::curves() {
  const auto section = html_.open("section", {{"id", "curves"}});
  html_.element("h2", "Curves");
  const std::vector<ChartGroup> groups = training_charts(report_.log);
  html_.element("p",
                groups.empty() ? "There are no records of training yet."
                               : "Over the steps of all phases. Beside each name stands the last "
                                 "value; a pointer over a chart shows those of its step, and "
                                 "dragging chooses a range of steps for all charts.",
                {{"class", "caption"}});
  for (const ChartGroup& group : groups) {
    html_.element("h3", group.title);
    html_.element("p", group.caption, {{"class", "caption"}});
    const auto charts = html_.open("div", {{"class", "charts"}});
    for (const Chart& chart : group.charts) {
      const auto figure = html_.open("figure");
      html_.element("h4", chart.title);
      html_.markup(chart_svg(chart));
      html_.markup(chart_legend(chart));
    }
  }
  if (!groups.empty()) live_curves(groups);
}

/// The explorer's charts, which show names and values under the pointer.
void Page::live_curves(const std::vector<ChartGroup>& groups) {
  std::string data = curves_data(groups).dump();
  // A name that a user chose must not end the script.
  for (size_t at = 0; (at = data.find('<', at)) != std::string::npos;)
    data.replace(at, 1, "\\u003c");
  html_.markup("<script type=\"application/json\" id=\"curves-data\">" + data + "</script>\n");
  std::string script;
  for (const char* path : {"/dom.mjs", "/curves.mjs", "/report/report.mjs"})
    script += inlined_module(path);
  html_.markup("<script type=\"module\">\n" + script + "</script>\n");
}

void Page::configuration() {
  const auto section = html_.open("section", {{"id", "config"}});
  html_.element("h2", "Config");
  html_.element("p",
                "The same numbers come from the same config, on the same machine with the same "
                "number of threads:",
                {{"class", "caption"}});
  html_.element("pre", report_.reproduce);
  const auto details = html_.open("details");
  html_.element("summary", "The complete config, with defaults");
  html_.element("pre", write_options(report_.config).dump(2));
}

}  // namespace

std::string report_page(const RunReport& report) { return Page(report).write(); }

}  // namespace facet
