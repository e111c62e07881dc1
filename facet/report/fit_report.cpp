#include "facet/report/fit_report.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include <fmt/format.h>
#include <torch/version.h>

#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/shell.h"
#include "facet/core/torch.h"
#include "facet/core/version.h"
#include "facet/data/array_file.h"
#include "facet/fit/fit_evaluation.h"
#include "facet/fit/fit_options.h"
#include "facet/report/chart.h"
#include "facet/report/fit_views.h"
#include "facet/report/html.h"
#include "facet/report/page_style.h"
#include "facet/report/page_text.h"
#include "facet/train/run_folder.h"

namespace facet {

namespace {

constexpr size_t most_views = 3;
/// More rows would bury the largest components.
constexpr size_t most_components = 20;

/// All that the page says.
struct FitReport {
  std::string name, command;
  FitConfig config;
  std::vector<Json> records;
  VectorMixture mixture;
  Evaluation evaluation;
  std::vector<std::vector<Scatter>> views;  ///< by factor
};

/// The lines of metrics.jsonl that have an iteration and a bound. None are fine: a run may have
/// lost the file, and the rest of the page stands.
std::vector<Json> read_records(const std::filesystem::path& path) {
  std::vector<Json> records;
  if (!std::filesystem::exists(path)) return records;
  std::istringstream lines(read_text(path, "reading metrics"));
  std::string line;
  while (std::getline(lines, line)) {
    Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (record.is_object() && record.contains("iteration") && record["iteration"].is_number() &&
        record.contains("bound"))
      records.push_back(std::move(record));
  }
  return records;
}

Chart curve(const std::vector<Json>& records, const char* title, const char* key, bool from_zero) {
  Chart chart;
  chart.title = title;
  chart.from_zero = from_zero;
  chart.x_title = "iteration";
  ChartLine line{title, {}};
  for (const Json& record : records)
    if (record.contains(key) && record[key].is_number())
      line.points.push_back({record["iteration"].get<double>(), record[key].get<double>()});
  chart.lines.push_back(std::move(line));
  return chart;
}

class FitPage {
 public:
  explicit FitPage(const FitReport& report) : report_(report) {}

  std::string write() {
    html_.markup("<!DOCTYPE html>\n");
    {
      const auto root = html_.open("html", {{"lang", "en"}});
      head();
      const auto body = html_.open("body");
      {
        const auto main = html_.open("main");
        opening();
        curves();
        views();
        for (size_t i = 0; i < report_.mixture.mixture.size(); ++i) components(i);
        configuration();
      }
      const auto footer = html_.open("footer");
      html_.text(fmt::format("Written by facet {} with LibTorch {}.", version(), TORCH_VERSION));
    }
    return html_.page();
  }

 private:
  void head() {
    const auto scope = html_.open("head");
    html_.single("meta", {{"charset", "utf-8"}});
    html_.single("meta",
                 {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
    html_.element("title", report_.name + " · Facet report");
    const auto style = html_.open("style");
    html_.markup(kPageStyle);
  }

  void opening() {
    const auto header = html_.open("header");
    const auto words = html_.open("div");
    html_.element("p", "Facet report", {{"class", "kicker"}});
    html_.element("h1", report_.name);
    const Evaluation& evaluation = report_.evaluation;
    html_.element("p",
                  fmt::format("{} fitted to {} of {}.",
                              plural(static_cast<int64_t>(evaluation.factors.size()), "mixture"),
                              plural(evaluation.count, "vector"),
                              plural(report_.mixture.mixture.dimensions(), "dimension")),
                  {{"class", "lead"}});
    const auto list = html_.open("dl", {{"class", "facts"}});
    fact("Log density", decimal(evaluation.predictive_bound, 3), "nats per vector, mean");
    int64_t living = 0, all = 0;
    for (const FactorEvaluation& factor : evaluation.factors) {
      living += factor.used;
      all += factor.components;
    }
    fact("Living components", fmt::format("{} of {}", living, all), "");
    for (const FactorEvaluation& factor : evaluation.factors)
      if (const PropertyAgreement* best = factor.best())
        fact(fmt::format("{} and {}", factor.name, best->property), decimal(best->nmi, 2), "NMI");
  }

  void fact(const std::string& name, const std::string& value, const std::string& detail) {
    const auto scope = html_.open("div");
    html_.element("dt", name);
    const auto definition = html_.open("dd");
    html_.text(value);
    if (!detail.empty()) html_.element("small", detail);
  }

  void curves() {
    const auto section = html_.open("section", {{"id", "curves"}});
    html_.element("h2", "Curves");
    html_.element("p",
                  "The bound in nats per vector, and the components with more than one vector.",
                  {{"class", "caption"}});
    const auto charts = html_.open("div", {{"class", "charts"}});
    for (const Chart& chart : {curve(report_.records, "bound", "bound", false),
                               curve(report_.records, "living components", "living", true)}) {
      const auto figure = html_.open("figure");
      html_.element("h4", chart.title);
      html_.markup(chart_svg(chart));
      html_.markup(chart_legend(chart));
    }
  }

  void views() {
    const auto section = html_.open("section", {{"id", "views"}});
    html_.element("h2", "Views");
    html_.element(
        "p",
        "Vectors on their principal axes, in standard units. A point has the colour of "
        "its most probable component; ellipses are the largest components, at two standard "
        "deviations.",
        {{"class", "caption"}});
    const auto charts = html_.open("div", {{"class", "charts"}});
    for (size_t i = 0; i < report_.views.size(); ++i) {
      if (report_.views[i].empty())
        html_.element("p", fmt::format("Factor '{}' has one dimension, and no view.",
                                       report_.mixture.mixture.factors[i].name));
      for (const Scatter& view : report_.views[i]) {
        const auto figure = html_.open("figure");
        html_.element("h4", view.title);
        html_.markup(scatter_svg(view));
      }
    }
  }

  void components(size_t i) {
    const FactorOptions& factor = report_.mixture.mixture.factors[i];
    const torch::Tensor held = report_.mixture.mixture.held_images(i);
    std::vector<int64_t> order(static_cast<size_t>(factor.components));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return held.data_ptr<double>()[a] > held.data_ptr<double>()[b];
    });
    const auto section = html_.open("section");
    html_.element("h2", fmt::format("Factor '{}'", factor.name));
    const torch::Tensor weights = report_.mixture.mixture.posteriors[i].expected_weights();
    const size_t shown = std::min(order.size(), most_components);
    html_.element("p",
                  shown < order.size() ? fmt::format("Its {} largest components.", shown)
                                       : std::string("Its components."),
                  {{"class", "caption"}});
    const auto table = html_.open("table", {{"class", "table"}});
    {
      const auto head = html_.open("thead");
      const auto row = html_.open("tr");
      for (const char* name : {"component", "vectors", "weight"}) html_.element("th", name);
    }
    const auto rows = html_.open("tbody");
    for (size_t place = 0; place < shown; ++place) {
      const int64_t k = order[place];
      const auto row = html_.open("tr");
      html_.element("th", factor.component_name(k));
      html_.element("td", decimal(held[k].item<double>(), 1));
      html_.element("td", percent(weights[k].item<double>()));
    }
  }

  void configuration() {
    const auto section = html_.open("section", {{"id", "config"}});
    html_.element("h2", "Config");
    html_.element("pre", report_.command);
    const auto details = html_.open("details");
    html_.element("summary", "The complete config, with defaults");
    html_.element("pre", write_options(report_.config).dump(2));
  }

  const FitReport& report_;
  Html html_;
};

}  // namespace

std::string fit_report(const std::filesystem::path& run, const FitReportRequest& request) {
  torch::NoGradGuard no_gradient;
  const RunFolder folder = RunFolder::of(run);
  const auto say = [&](const std::string& sentence) {
    if (request.notice) request.notice(sentence);
  };
  FitReport report{std::filesystem::absolute(folder.path).lexically_normal().filename().string(),
                   fmt::format("facet fit --config {}/config.json --out AGAIN",
                               shell_quoted(request.command_path)),
                   read_saved_fit_config(folder.config()),
                   read_records(folder.metrics()),
                   read_mixture(folder.model()),
                   {},
                   {}};
  const VectorOptions& files = report.config.vectors;
  const torch::Tensor vectors = read_vectors(files.file, files.tensor);
  require_vectors(report.mixture, vectors, files.file);
  say("measuring the vectors");
  const VectorLabels labels =
      files.labels.empty() ? VectorLabels{} : read_vector_labels(files.labels, vectors.size(0));
  report.evaluation = evaluate_mixture(report.mixture, vectors, labels, "vectors");
  say("drawing");
  for (size_t i = 0; i < report.mixture.mixture.size(); ++i)
    report.views.push_back(factor_views(report.mixture, i, vectors, most_views));
  return FitPage(report).write();
}

}  // namespace facet
