// The words and the order of a report. Sections say why something is missing where a reader would
// look for it.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/version.h>

#include "facet/core/json.h"
#include "facet/data/image_file.h"
#include "facet/report/html.h"
#include "facet/report/page_style.h"
#include "facet/report/report.h"

namespace facet {

namespace {

constexpr double kClearlyFound = 0.4;  // NMI from which the headline says that a factor found it
constexpr int64_t kCellSide = 64, kHeroSide = 96;  // CSS pixels of an image, about
constexpr double kStrongestShade = 0.45;           // dark text stays readable on it

/// With a true minus sign.
std::string decimal(double number, int digits) {
  const std::string text = fmt::format("{:.{}f}", std::abs(number), digits);
  const bool zero = text.find_first_not_of("0.") == std::string::npos;
  return number < 0 && !zero ? "\xe2\x88\x92" + text : text;
}

constexpr const char* kTied = "\xc2\xa0";  // a space at which no line ends

std::string percent(double share) { return decimal(100 * share, 1) + kTied + "%"; }

std::string plural(int64_t count, const std::string& word) {
  return fmt::format("{} {}{}", grouped(count), word, count == 1 ? "" : "s");
}

std::string duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  const auto two = [](int64_t large, const char* name, int64_t small, const char* below) {
    return fmt::format("{0}{4}{1} {2}{4}{3}", large, name, small, below, kTied);
  };
  return whole < 60      ? fmt::format("{}{}s", whole, kTied)
         : whole < 3600  ? two(whole / 60, "min", whole % 60, "s")
         : whole < 86400 ? two(whole / 3600, "h", whole / 60 % 60, "min")
                         : two(whole / 86400, "d", whole / 3600 % 24, "h");
}

double training_seconds(const RunReport& report) {
  double seconds = 0;
  for (const EventSpan& session : report.sessions) seconds += session.end - session.begin;
  return seconds;
}

/// "the built-in portraits" or the pack's name.
std::string data_name(const RunReport& report) {
  const std::string& pack = report.config.data.pack;
  return pack.empty() ? "built-in portraits" : std::filesystem::path(pack).stem().string();
}

std::string subject(const RunReport& report) {
  return fmt::format("{}×{} {} {}", report.shape.height, report.shape.width,
                     report.shape.channels == 1 ? "grey" : "colour",
                     report.config.data.pack.empty() ? "portraits" : "images");
}

int64_t gradient_steps_done(const RunReport& report) {
  const int64_t done = report.log.steps_done(), before = report.log.lengths.pretrain,
                between = report.log.lengths.initialise;
  return std::min(done, before) + std::max<int64_t>(0, done - before - between);
}

/// "glasses 100.0 %, smile 99.1 %" for the named factors that have labels to be measured by.
std::string named_accuracies(const Evaluation& evaluation) {
  std::vector<std::string> parts;
  for (const FactorEvaluation& factor : evaluation.factors)
    if (const PropertyAgreement* own = factor.best();
        own != nullptr && !factor.property.empty() && own->property == factor.property)
      parts.push_back(fmt::format("{} {}", factor.name, percent(own->accuracy)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "‘first’ found ‘background’ (NMI 0.90)" for free factors where that is clear.
std::string findings(const Evaluation& evaluation) {
  std::vector<std::string> parts;
  for (const FactorEvaluation& factor : evaluation.factors)
    if (const PropertyAgreement* best = factor.best();
        best != nullptr && factor.property.empty() && best->nmi >= kClearlyFound)
      parts.push_back(fmt::format("‘{}’ found ‘{}’ (NMI {})", factor.name, best->property,
                                  decimal(best->nmi, 2)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "40 %", or "10 to 40 %" where properties differ: of training images with a known label.
std::string labelled_share(const RunReport& report) {
  double least = 1, most = 0;
  for (const FactorOptions& factor : report.config.model.factors)
    if (const auto share = report.label_shares.find(factor.property);
        factor.named() && share != report.label_shares.end()) {
      least = std::min(least, share->second);
      most = std::max(most, share->second);
    }
  const std::string high = decimal(100 * most, most < 0.01 ? 2 : 0);
  const std::string low = decimal(100 * least, least < 0.01 ? 2 : 0);
  return low == high ? high + " %" : fmt::format("{} to {} %", low, high);
}

std::string progress_sentence(const RunReport& report) {
  if (report.log.records.empty()) return "Training has not reached its first record yet.";
  return fmt::format("Training stands at step {} of phase {}, {} of {} steps over all phases.",
                     grouped(report.log.phase_step()), report.log.phase(),
                     grouped(report.log.steps_done()), grouped(report.log.lengths.total()));
}

std::string training_sentence(const RunReport& report) {
  const auto factors = static_cast<int64_t>(report.config.model.factors.size());
  const auto named =
      std::count_if(report.config.model.factors.begin(), report.config.model.factors.end(),
                    [](const FactorOptions& factor) { return factor.named(); });
  std::string sentence =
      fmt::format("A model of {} with {}", subject(report), plural(factors, "factor"));
  if (named > 0) sentence += fmt::format(", {} of them named", named);
  if (const int64_t steps = gradient_steps_done(report); steps > 0)
    sentence += fmt::format(", trained for {}", plural(steps, "gradient step"));
  if (const double seconds = training_seconds(report); seconds >= 1)
    sentence += " in " + duration(seconds);
  return sentence + ".";
}

std::string measure_sentences(const RunReport& report) {
  const Evaluation& evaluation = *report.evaluation;
  std::string text =
      fmt::format(" On {} images of the {} split the bound is {}\u00a0±\u00a0{} nats.",
                  grouped(evaluation.count), evaluation.split, decimal(evaluation.elbo, 1),
                  decimal(evaluation.standard_error, 1));
  if (const std::string named = named_accuracies(evaluation); !named.empty())
    text += fmt::format(" Named right, from the labels of {} of the training images: {}.",
                        labelled_share(report), named);
  if (const std::string found = findings(evaluation); !found.empty())
    text += fmt::format(" Without any label, {}.", found);
  return text;
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
  void pictures();
  void measures();
  void factor_table();
  void property_table();
  void dependence_table();
  void judge_table();
  void configuration();
  void picture(const ReportFigure& figure, const char* heading, int64_t side);
  void wall(const Figure& figure, int64_t cell, bool wide);
  void sheet(const Figure& figure, int64_t cell);
  void sheet_head(const Figure& figure);
  void row_head(const std::string& label);
  void image(const Image& image, const std::string& alternative);
  void shaded_cell(double share, const std::string& text, const std::string& detail = "");
  void column_heads(const std::vector<std::string>& names, bool last_is_text = false);

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
    pictures();
    measures();
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
  picture(*report_.hero, "", few ? kHeroSide : kCellSide);
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
  if (report_.judge)
    fact("Judged right", percent(report_.judge->joint_agreement), "samples, all named factors");
  fact("Training images", grouped(report_.training_images), data_name(report_));
  fact("Network", grouped(report_.network_parameters), "parameters");
  if (!report_.sessions.empty())
    fact("Training", duration(training_seconds(report_)),
         plural(report_.log.steps_done(), "step") +
             (report_.sessions.size() > 1 ? fmt::format(" in {} sessions", report_.sessions.size())
                                          : ""));
}

void Page::navigation() {
  const auto scope = html_.open("nav", {{"aria-label", "Sections"}});
  for (const auto& [place, name] :
       {std::pair{"#curves", "Curves"}, std::pair{"#pictures", "Pictures"},
        std::pair{"#measures", "Measures"}, std::pair{"#config", "Config"}})
    html_.element("a", name, {{"href", place}});
}

void Page::curves() {
  const auto section = html_.open("section", {{"id", "curves"}});
  html_.element("h2", "Curves");
  const std::vector<ChartGroup> groups = training_charts(report_.log);
  html_.element("p",
                groups.empty() ? "There are no records of training yet."
                               : "Over the steps of all phases; dotted lines are where a phase "
                                 "begins. Beside each name stands the last value.",
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
}

void Page::image(const Image& image, const std::string& alternative) {
  html_.single("img", {{"src", png_address(encode_png(image))},
                       {"width", std::to_string(image.width)},
                       {"height", std::to_string(image.height)},
                       {"alt", alternative}});
}

void Page::wall(const Figure& figure, int64_t cell, bool wide) {
  // A page is wider than it is high, so where there is room twice as wide as a command's square.
  const int64_t columns = figure.layout.columns * (wide ? 2 : 1);
  const auto scope = html_.open(
      "div",
      {{"class", "wall"}, {"style", fmt::format("--columns:{};--cell:{}px", columns, cell)}});
  for (size_t i = 0; i < figure.cells.size(); ++i)
    image(figure.cells[i], fmt::format("sample {}", i + 1));
}

/// Column labels; equal neighbours become one that spans them.
void Page::sheet_head(const Figure& figure) {
  const std::vector<std::string>& labels = figure.layout.column_labels;
  const auto head = html_.open("thead");
  const auto row = html_.open("tr");
  if (!figure.layout.row_labels.empty()) html_.element("td", "");
  for (size_t i = 0, end = 0; i < labels.size(); i = end) {
    end = i + 1;
    while (end < labels.size() && labels[end] == labels[i]) ++end;
    Html::Attributes attributes = {{"scope", "col"}};
    if (end - i > 1) attributes = {{"scope", "colgroup"}, {"colspan", std::to_string(end - i)}};
    const auto head_cell = html_.open("th", attributes);
    html_.element("span", end - i > 1 ? labels[i] + "s" : labels[i]);
  }
}

/// "3  12.5 %" as a name with a smaller share below it.
void Page::row_head(const std::string& label) {
  const auto head = html_.open("th", {{"scope", "row"}});
  const size_t share = label.rfind("  ");
  html_.text(label.substr(0, share));
  if (share != std::string::npos) html_.element("small", label.substr(share + 2));
}

void Page::sheet(const Figure& figure, int64_t cell) {
  const auto columns = static_cast<size_t>(figure.layout.columns);
  const std::vector<std::string>&rows = figure.layout.row_labels,
        &heads = figure.layout.column_labels;
  const auto scroll = html_.open("div", {{"class", "scroll"}});
  const auto table = html_.open(
      "table",
      {{"class", fmt::format("sheet{}{}", rows.empty() ? " bare" : "", columns > 5 ? " many" : "")},
       {"style", fmt::format("--columns:{};--cell:{}px", columns, cell)}});
  if (!heads.empty()) sheet_head(figure);
  const auto body = html_.open("tbody");
  for (size_t i = 0; i < figure.cells.size(); i += columns) {
    const auto row = html_.open("tr");
    const std::string label =
        rows.empty() ? fmt::format("row {}", i / columns + 1) : rows[i / columns];
    if (!rows.empty()) row_head(label);
    for (size_t j = i; j < std::min(i + columns, figure.cells.size()); ++j) {
      const auto data = html_.open("td");
      image(figure.cells[j], heads.empty() ? label : fmt::format("{}: {}", label, heads[j - i]));
    }
  }
}

void Page::picture(const ReportFigure& shown, const char* heading, int64_t side) {
  const GridOptions& layout = shown.figure.layout;
  const bool beside = !layout.row_labels.empty() && std::string_view(heading) == "h3";
  const auto scope = html_.open("figure", {{"class", beside ? "beside" : "plain"}});
  const bool hero = *heading == '\0';
  if (!hero) html_.element(heading, shown.title);
  // A whole multiple of the model's pixels where that is near.
  const int64_t longest = std::max(report_.shape.height, report_.shape.width);
  const int64_t cell = report_.shape.width * std::max<int64_t>(1, side / longest);
  if (layout.row_labels.empty() && layout.column_labels.empty())
    wall(shown.figure, cell, !hero);
  else
    sheet(shown.figure, cell);
  const auto caption = html_.open("figcaption");
  if (!shown.caption.empty()) html_.element("p", shown.caption);
  html_.element("code", shown.command, {{"class", "command"}});
}

void Page::pictures() {
  const auto section = html_.open("section", {{"id", "pictures"}});
  html_.element("h2", "Pictures");
  html_.element("p", "Below each picture is the command that draws it.", {{"class", "caption"}});
  if (!report_.no_mixtures.empty()) html_.element("p", report_.no_mixtures);
  {
    const auto stack = html_.open("div", {{"class", "stack"}});
    for (const ReportFigure& figure : report_.figures) picture(figure, "h3", kCellSide);
  }
  if (report_.components.empty()) return;
  html_.element("h3", "Components of each factor");
  html_.element(
      "p",
      "A row is a component with its share of the images, heaviest first: the mean and the "
      "variance of 200 samples, and five of them, with all other factors drawn. " +
          report_.components_note,
      {{"class", "caption"}});
  const auto pair = html_.open("div", {{"class", "pair"}});
  for (const ReportFigure& figure : report_.components) picture(figure, "h4", kCellSide);
}

void Page::column_heads(const std::vector<std::string>& names, bool last_is_text) {
  const auto head = html_.open("thead");
  const auto row = html_.open("tr");
  for (size_t i = 0; i < names.size(); ++i) {
    const bool text = last_is_text && i + 1 == names.size();
    html_.element("th", names[i], {{"scope", "col"}, {"class", text ? "left" : "number"}});
  }
}

void Page::shaded_cell(double share, const std::string& text, const std::string& detail) {
  const double strength = std::clamp(share, 0.0, 1.0) * kStrongestShade;
  const auto cell =
      html_.open("td", {{"class", "shaded"},
                        {"style", fmt::format("background:rgba(var(--shade),{:.2f})", strength)}});
  html_.text(text);
  if (!detail.empty()) html_.element("small", detail);
}

void Page::factor_table() {
  html_.element("h3", "Factors");
  html_.element(
      "p",
      "A component is used when it takes more than one image in expectation, else dead. A "
      "dimension is active when its mean varies over images by more than 0.01. KL in nats "
      "an image.",
      {{"class", "caption"}});
  const auto scroll = html_.open("div", {{"class", "scroll"}});
  const auto table = html_.open("table", {{"class", "table"}});
  column_heads({"factor", "components", "used", "dead", "active dimensions", "perplexity", "KL[z]",
                "KL[r]", "property"},
               /*last_is_text=*/true);
  const auto body = html_.open("tbody");
  for (const FactorEvaluation& factor : report_.evaluation->factors) {
    const auto row = html_.open("tr");
    html_.element("th", factor.name, {{"scope", "row"}});
    for (const std::string& cell :
         {grouped(factor.components), grouped(factor.used), grouped(factor.dead()),
          fmt::format("{} of {}", factor.active_dimensions, factor.dimensions),
          decimal(factor.perplexity, 1), decimal(factor.kl_z, 2), decimal(factor.kl_r, 2)})
      html_.element("td", cell);
    const PropertyAgreement* best = factor.best();
    const bool named = !factor.property.empty();
    html_.element(
        "td",
        best == nullptr ? (named ? "named " + factor.property : "–")
        : best->property == factor.property
            ? fmt::format("named {}: accuracy {}", best->property, percent(best->accuracy))
            : fmt::format("nearest {}: NMI {}, purity {}", best->property, decimal(best->nmi, 2),
                          percent(best->purity)),
        {{"class", "left"}});
  }
}

void Page::property_table() {
  const Evaluation& evaluation = *report_.evaluation;
  html_.element("h3", "What factors say about properties");
  if (evaluation.factors.empty() || evaluation.factors.front().properties.empty()) {
    html_.element("p", "The data have no labels to compare with.");
    return;
  }
  std::string caption =
      "Normalised mutual information (NMI) of a factor's components and a property's values, 0 to "
      "1; "
      "below it the mutual information in nats. The last row is the mutual information gap: how "
      "far "
      "the factor that says most about a property is ahead of the second, as a share of all there "
      "is "
      "to say.";
  if (evaluation.mean_gap)
    caption += fmt::format(" Its mean is {}.", decimal(*evaluation.mean_gap, 2));
  html_.element("p", caption, {{"class", "caption"}});
  const auto scroll = html_.open("div", {{"class", "scroll"}});
  const auto table = html_.open("table", {{"class", "table matrix"}});
  std::vector<std::string> heads = {"factor"};
  for (const PropertyAgreement& agreement : evaluation.factors.front().properties)
    heads.push_back(agreement.property);
  column_heads(heads);
  {
    const auto body = html_.open("tbody");
    for (const FactorEvaluation& factor : evaluation.factors) {
      const auto row = html_.open("tr");
      html_.element("th", factor.name, {{"scope", "row"}});
      for (const PropertyAgreement& agreement : factor.properties)
        shaded_cell(agreement.nmi, decimal(agreement.nmi, 2),
                    decimal(agreement.mutual_information, 2));
    }
  }
  if (evaluation.gaps.empty()) return;
  const auto foot = html_.open("tfoot");
  const auto row = html_.open("tr");
  html_.element("th", "gap", {{"scope", "row"}});
  for (size_t i = 1; i < heads.size(); ++i) {
    const auto gap = std::find_if(evaluation.gaps.begin(), evaluation.gaps.end(),
                                  [&](const PropertyGap& one) { return one.property == heads[i]; });
    if (gap == evaluation.gaps.end())
      html_.element("td", "–", {{"class", "shaded"}});
    else
      shaded_cell(gap->gap, decimal(gap->gap, 2), gap->factor);
  }
}

void Page::dependence_table() {
  const Evaluation& evaluation = *report_.evaluation;
  if (evaluation.dependence.size() < 2) return;
  html_.element("h3", "How factors depend on each other");
  html_.element(
      "p",
      fmt::format("NMI of the components of two factors over the images: 0 where one says "
                  "nothing about the other. The mean over pairs is {}.",
                  decimal(evaluation.mean_dependence, 3)),
      {{"class", "caption"}});
  const auto scroll = html_.open("div", {{"class", "scroll"}});
  const auto table = html_.open("table", {{"class", "table matrix"}});
  std::vector<std::string> heads = {"factor"};
  for (const FactorEvaluation& factor : evaluation.factors) heads.push_back(factor.name);
  column_heads(heads);
  const auto body = html_.open("tbody");
  for (size_t i = 0; i < evaluation.factors.size(); ++i) {
    const auto row = html_.open("tr");
    html_.element("th", evaluation.factors[i].name, {{"scope", "row"}});
    for (size_t j = 0; j < evaluation.factors.size(); ++j)
      if (i == j)
        html_.element("td", "·", {{"class", "shaded"}});
      else
        shaded_cell(evaluation.dependence[i][j], decimal(evaluation.dependence[i][j], 2));
  }
}

void Page::judge_table() {
  if (!report_.no_judge.empty()) {
    html_.element("h3", "The judge");
    html_.element("p", fmt::format("No samples were judged: {}.", report_.no_judge));
  }
  if (!report_.judge) return;
  const ClassifierReport& judge = *report_.judge;
  html_.element("h3", "The judge");
  html_.element(
      "p",
      fmt::format(
          "A classifier that shares nothing with the model, trained on {} labelled "
          "images, names what images show. It is right so often about real images that it "
          "has not seen, about the model's reconstructions of them, and about {} samples of "
          "every value that was asked for. In {} of samples it sees all named factors as "
          "asked for.",
          grouped(judge.training_labels), grouped(judge.samples), percent(judge.joint_agreement)),
      {{"class", "caption"}});
  const auto scroll = html_.open("div", {{"class", "scroll"}});
  const auto table = html_.open("table", {{"class", "table"}});
  column_heads({"factor", "real images", "reconstructions", "samples", "samples by value"},
               /*last_is_text=*/true);
  const auto body = html_.open("tbody");
  for (const ClassifierReport::Factor& factor : judge.factors) {
    const auto row = html_.open("tr");
    html_.element("th", factor.name, {{"scope", "row"}});
    html_.element("td", percent(factor.own_accuracy));
    html_.element("td", percent(factor.reconstructed_accuracy));
    html_.element("td", percent(factor.agreement));
    std::vector<std::string> values;
    for (size_t v = 0; v < factor.values.size(); ++v)
      values.push_back(
          fmt::format("{} {}", factor.values[v], percent(factor.agreement_by_value[v])));
    html_.element("td", fmt::format("{}", fmt::join(values, ", ")), {{"class", "left"}});
  }
}

void Page::measures() {
  const auto section = html_.open("section", {{"id", "measures"}});
  html_.element("h2", "Measures");
  if (!report_.evaluation) {
    html_.element("p", report_.no_mixtures);
    return;
  }
  const Evaluation& evaluation = *report_.evaluation;
  html_.element("p",
                fmt::format("On {} images of the {} split, with {} of z an image: bound {} = "
                            "reconstruction {} − KL[z] {} − KL[r] {} nats, standard error {}.",
                            grouped(evaluation.count), evaluation.split,
                            plural(evaluation.samples, "draw"), decimal(evaluation.elbo, 2),
                            decimal(evaluation.reconstruction, 2), decimal(evaluation.kl_z, 2),
                            decimal(evaluation.kl_r, 2), decimal(evaluation.standard_error, 2)),
                {{"class", "caption"}});
  factor_table();
  property_table();
  dependence_table();
  judge_table();
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

std::string headline(const RunReport& report) {
  std::string text = training_sentence(report);
  if (!report.finished()) text += " " + progress_sentence(report);
  if (report.evaluation) text += measure_sentences(report);
  return text;
}

std::string report_page(const RunReport& report) { return Page(report).write(); }

}  // namespace facet
