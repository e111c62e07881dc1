// The measures of a report as tables: of each factor, of factors and properties, of factors among
// each other, and what the evaluation classifier says of samples.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/report/chart.h"
#include "facet/report/page_sections.h"
#include "facet/report/page_text.h"

namespace facet {

namespace {

constexpr int64_t kChartGroups = 3;       // a chart shows so many times the groups that matter
constexpr double kStrongestShade = 0.45;  // dark text stays readable on it

void column_heads(Html& html, const std::vector<std::string>& names, bool last_is_text = false) {
  const auto head = html.open("thead");
  const auto row = html.open("tr");
  for (size_t i = 0; i < names.size(); ++i) {
    const bool text = last_is_text && i + 1 == names.size();
    html.element("th", names[i], {{"scope", "col"}, {"class", text ? "left" : "number"}});
  }
}

void shaded_cell(Html& html, double share, const std::string& text,
                 const std::string& detail = "") {
  const double strength = std::clamp(share, 0.0, 1.0) * kStrongestShade;
  const auto cell =
      html.open("td", {{"class", "shaded"},
                       {"style", fmt::format("background:rgba(var(--shade),{:.2f})", strength)}});
  html.text(text);
  if (!detail.empty()) html.element("small", detail);
}

void factor_table(Html& html, const RunReport& report) {
  html.element("h3", "Factors");
  html.element("p",
               "A component is used when it takes more than one image in expectation, else dead. A "
               "dimension is active when its mean varies over images by more than 0.01. KL in nats "
               "per image.",
               {{"class", "caption"}});
  const auto scroll = html.open("div", scroll_region());
  const auto table = html.open("table", {{"class", "table"}});
  column_heads(html,
               {"factor", "components", "used", "dead", "active dimensions", "perplexity", "KL[z]",
                "KL[r]", "property"},
               /*last_is_text=*/true);
  const auto body = html.open("tbody");
  for (const FactorEvaluation& factor : report.evaluation->factors) {
    const auto row = html.open("tr");
    html.element("th", factor.name, {{"scope", "row"}});
    for (const std::string& cell :
         {grouped(factor.components), grouped(factor.used), grouped(factor.dead()),
          fmt::format("{} of {}", factor.active_dimensions, factor.dimensions),
          decimal(factor.perplexity, 1), decimal(factor.kl_z, 2), decimal(factor.kl_r, 2)})
      html.element("td", cell);
    const PropertyAgreement* best = factor.best();
    const bool named = !factor.property.empty();
    html.element(
        "td",
        best == nullptr ? (named ? "named " + factor.property : "–")
        : best->property == factor.property
            ? fmt::format("named {}: accuracy {}{}", best->property, percent(best->accuracy),
                          factor.mirrored_accuracy
                              ? ", with mirror images " + percent(*factor.mirrored_accuracy)
                              : "")
            : fmt::format("nearest {}: NMI {}, purity {}", best->property, decimal(best->nmi, 2),
                          percent(best->purity)),
        {{"class", "left"}});
  }
}

void property_table(Html& html, const RunReport& report) {
  const Evaluation& evaluation = *report.evaluation;
  html.element("h3", "What factors say about properties");
  if (evaluation.factors.empty() || evaluation.factors.front().properties.empty()) {
    html.element("p", "The data have no labels to compare with.");
    return;
  }
  std::string caption =
      "Normalised mutual information (NMI) of a factor's components and a property's values, 0 to "
      "1; below it the mutual information in nats. The last row is the mutual information gap: how "
      "far the factor that says most about a property is ahead of the second, as a share of all "
      "there is to say.";
  if (evaluation.mean_gap)
    caption += fmt::format(" Its mean is {}.", decimal(*evaluation.mean_gap, 2));
  html.element("p", caption, {{"class", "caption"}});
  const auto scroll = html.open("div", scroll_region());
  const auto table = html.open("table", {{"class", "table matrix"}});
  std::vector<std::string> heads = {"factor"};
  for (const PropertyAgreement& agreement : evaluation.factors.front().properties)
    heads.push_back(agreement.property);
  column_heads(html, heads);
  {
    const auto body = html.open("tbody");
    for (const FactorEvaluation& factor : evaluation.factors) {
      const auto row = html.open("tr");
      html.element("th", factor.name, {{"scope", "row"}});
      for (const PropertyAgreement& agreement : factor.properties)
        shaded_cell(html, agreement.nmi, decimal(agreement.nmi, 2),
                    decimal(agreement.mutual_information, 2));
    }
  }
  if (evaluation.gaps.empty()) return;
  const auto foot = html.open("tfoot");
  const auto row = html.open("tr");
  html.element("th", "gap", {{"scope", "row"}});
  for (size_t i = 1; i < heads.size(); ++i) {
    const auto gap = std::find_if(evaluation.gaps.begin(), evaluation.gaps.end(),
                                  [&](const PropertyGap& one) { return one.property == heads[i]; });
    if (gap == evaluation.gaps.end())
      html.element("td", "–", {{"class", "shaded"}});
    else
      shaded_cell(html, gap->gap, decimal(gap->gap, 2), gap->factor);
  }
}

/// Agreement of merged components with the property that a factor is nearest to, by the number of
/// groups.
Chart merged_chart(const std::string& factor, const CutAgreement& cuts, int64_t natural_groups) {
  const size_t shown = std::min(
      cuts.accuracy.size(),
      static_cast<size_t>(kChartGroups * std::max({cuts.values, natural_groups, int64_t{5}})));
  const auto line = [&](const char* name, const std::vector<double>& values) {
    ChartLine result{name, {}};
    for (size_t i = 0; i < shown; ++i)
      result.points.push_back({static_cast<double>(i + 2), values[i]});
    return result;
  };
  Chart chart;
  chart.title = fmt::format("{} and {}", factor, cuts.property);
  chart.lines = {line("matched", cuts.accuracy), line("NMI", cuts.nmi),
                 line("ARI", cuts.adjusted_rand)};
  chart.from_zero = true;
  chart.whole = true;
  chart.x_title = "groups";
  return chart;
}

void merged_row(Html& html, const FactorEvaluation& factor, const CutAgreement& cuts,
                int64_t groups) {
  if (groups < 2 || groups > factor.merged->living) return;
  const size_t at = cuts.entry(groups);
  const auto row = html.open("tr");
  html.element("th", factor.name, {{"scope", "row"}});
  for (const std::string& cell :
       {grouped(factor.merged->living), grouped(groups), percent(cuts.accuracy[at]),
        decimal(cuts.nmi[at], 2), decimal(cuts.adjusted_rand[at], 2)})
    html.element("td", cell);
  html.element("td",
               fmt::format("{}, {} values{}", cuts.property, cuts.values,
                           groups == factor.merged->natural_groups ? "; as the tree suggests" : ""),
               {{"class", "left"}});
}

void merged_table(Html& html, const RunReport& report) {
  struct Shown {
    const FactorEvaluation* factor;
    const CutAgreement* cuts;
  };
  std::vector<Shown> all;
  for (const FactorEvaluation& factor : report.evaluation->factors) {
    const PropertyAgreement* best = factor.best();
    if (!factor.merged || best == nullptr || factor.merged->living <= best->values) continue;
    all.push_back({&factor, factor.merged->of(best->property)});
  }
  if (all.empty()) return;
  html.element("h3", "Merged components");
  html.element("p",
               "Components that are neighbours are merged into groups, without labels. A row "
               "compares the groups with the property that the factor is nearest to: with as many "
               "groups as it has values, and with as many as the tree itself suggests. Matched is "
               "the share of images that are right if every value gets one group.",
               {{"class", "caption"}});
  {
    const auto scroll = html.open("div", scroll_region());
    const auto table = html.open("table", {{"class", "table"}});
    column_heads(html, {"factor", "living", "groups", "matched", "NMI", "ARI", "property"},
                 /*last_is_text=*/true);
    const auto body = html.open("tbody");
    for (const auto& [factor, cuts] : all) {
      merged_row(html, *factor, *cuts, cuts->values);
      if (factor->merged->natural_groups != cuts->values)
        merged_row(html, *factor, *cuts, factor->merged->natural_groups);
    }
  }
  const auto charts = html.open("div", {{"class", "charts"}});
  for (const auto& [factor, cuts] : all) {
    const Chart chart = merged_chart(factor->name, *cuts, factor->merged->natural_groups);
    const auto scope = html.open("figure");
    html.element("h4", chart.title);
    html.markup(chart_svg(chart));
    html.markup(chart_legend(chart));
  }
}

void dependence_table(Html& html, const RunReport& report) {
  const Evaluation& evaluation = *report.evaluation;
  if (evaluation.dependence.size() < 2) return;
  html.element("h3", "How factors depend on each other");
  html.element("p",
               fmt::format("NMI of the components of two factors over the images: 0 where one says "
                           "nothing about the other. The mean over pairs is {}.",
                           decimal(evaluation.mean_dependence, 3)),
               {{"class", "caption"}});
  const auto scroll = html.open("div", scroll_region());
  const auto table = html.open("table", {{"class", "table matrix"}});
  std::vector<std::string> heads = {"factor"};
  for (const FactorEvaluation& factor : evaluation.factors) heads.push_back(factor.name);
  column_heads(html, heads);
  const auto body = html.open("tbody");
  for (size_t i = 0; i < evaluation.factors.size(); ++i) {
    const auto row = html.open("tr");
    html.element("th", evaluation.factors[i].name, {{"scope", "row"}});
    for (size_t j = 0; j < evaluation.factors.size(); ++j)
      if (i == j)
        html.element("td", "·", {{"class", "shaded"}});
      else
        shaded_cell(html, evaluation.dependence[i][j], decimal(evaluation.dependence[i][j], 2));
  }
}

void classifier_table(Html& html, const RunReport& report) {
  if (!report.no_classifier.empty()) {
    html.element("h3", "Evaluation classifier");
    html.element("p", fmt::format("No samples were classified: {}.", report.no_classifier));
  }
  if (!report.classifier) return;
  const ClassifierReport& classifier = *report.classifier;
  html.element("h3", "Evaluation classifier");
  html.element(
      "p",
      fmt::format(
          "A classifier that shares nothing with the model, trained on {} labelled "
          "images, names what images show. It is right so often about real images that it "
          "has not seen, about the model's reconstructions of them, and about {} samples of "
          "every requested value. In {} of samples it sees all named factors as requested.",
          grouped(classifier.training_labels), grouped(classifier.samples),
          percent(classifier.joint_agreement)),
      {{"class", "caption"}});
  const auto scroll = html.open("div", scroll_region());
  const auto table = html.open("table", {{"class", "table"}});
  column_heads(html, {"factor", "real images", "reconstructions", "samples", "samples by value"},
               /*last_is_text=*/true);
  const auto body = html.open("tbody");
  for (const ClassifierReport::Factor& factor : classifier.factors) {
    const auto row = html.open("tr");
    html.element("th", factor.name, {{"scope", "row"}});
    html.element("td", percent(factor.own_accuracy));
    html.element("td", percent(factor.reconstructed_accuracy));
    html.element("td", percent(factor.means.agreement));
    std::vector<std::string> values;
    for (size_t v = 0; v < factor.values.size(); ++v)
      values.push_back(
          fmt::format("{} {}", factor.values[v], percent(factor.means.agreement_by_value[v])));
    html.element("td", fmt::format("{}", fmt::join(values, ", ")), {{"class", "left"}});
  }
}

}  // namespace

void write_measures(Html& html, const RunReport& report) {
  const auto section = html.open("section", {{"id", "measures"}});
  html.element("h2", "Measures");
  if (!report.evaluation) {
    html.element("p", report.no_mixtures);
    return;
  }
  const Evaluation& evaluation = *report.evaluation;
  html.element(
      "p",
      fmt::format("On {} images of the {} split, with {} of z per image: bound {} = "
                  "reconstruction {} − KL[z] {} − KL[r] {} nats, standard error {}. "
                  "Predictive bound {} nats.",
                  grouped(evaluation.count), evaluation.split, plural(evaluation.samples, "draw"),
                  decimal(evaluation.elbo, 2), decimal(evaluation.reconstruction, 2),
                  decimal(evaluation.kl_z, 2), decimal(evaluation.kl_r, 2),
                  decimal(evaluation.standard_error, 2), decimal(evaluation.predictive_bound, 2)),
      {{"class", "caption"}});
  factor_table(html, report);
  property_table(html, report);
  merged_table(html, report);
  dependence_table(html, report);
  classifier_table(html, report);
}

}  // namespace facet
