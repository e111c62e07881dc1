// The run in a few sentences: what was trained, how far it is, and what was measured.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/eval/evaluation.h"
#include "facet/report/html.h"
#include "facet/report/page_text.h"
#include "facet/report/report.h"

namespace facet {

namespace {

std::string subject(const RunReport& report) {
  return fmt::format("{}×{} {} {}", report.shape.height, report.shape.width,
                     report.shape.channels == 1 ? "grey" : "colour",
                     report.config.data.pack.empty() ? "portraits" : "images");
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
        best != nullptr && factor.property.empty() && best->nmi >= clearly_found)
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
  if (const int64_t steps = report.log.steps_done(); steps > 0)
    sentence += fmt::format(", trained for {}", plural(steps, "step"));
  if (const double seconds = report.training_seconds(); seconds >= 1)
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

}  // namespace

std::string headline(const RunReport& report) {
  std::string text = training_sentence(report);
  if (!report.finished()) text += " " + progress_sentence(report);
  if (report.evaluation) text += measure_sentences(report);
  return text;
}

}  // namespace facet
