// An evaluation as lines for a person: the bound, a table of factors, what they found, and what an
// evaluation classifier says of samples.
#include <algorithm>

#include <fmt/format.h>

#include "cli/command.h"
#include "facet/eval/classifier_report.h"
#include "facet/eval/evaluation.h"

namespace facet {

namespace {

/// More than these would bury the table of factors; `--json` has them all.
constexpr size_t most_properties_shown = 12;

/// What was measured: vectors are their own encodings, of which nothing is drawn.
const char* items_of(const Evaluation& evaluation) {
  return evaluation.samples == 0 ? "vectors" : "images";
}

void print_bound(const Evaluation& evaluation) {
  fmt::print("{} split, {} images, {} sample{} of z per image\n", evaluation.split,
             evaluation.count, evaluation.samples, evaluation.samples == 1 ? "" : "s");
  fmt::print("  bound (ELBO) {:10.3f} nats (standard error {:.3f})\n", evaluation.elbo,
             evaluation.standard_error);
  fmt::print("    = reconstruction {:.3f} - KL[z] {:.3f} - KL[r] {:.3f}\n",
             evaluation.reconstruction, evaluation.kl_z, evaluation.kl_r);
  fmt::print("  predictive bound {:.3f} nats (standard error {:.3f})\n",
             evaluation.predictive_bound, evaluation.predictive_standard_error);
  if (evaluation.importance_bound)
    fmt::print(
        "  importance-weighted bound {:.3f} nats (standard error {:.3f}; {} draws for each of {} "
        "images)\n",
        *evaluation.importance_bound, *evaluation.importance_standard_error,
        evaluation.importance_samples, evaluation.importance_images);
}

std::string agreement_text(const FactorEvaluation& factor, const Evaluation& evaluation) {
  const int64_t images = evaluation.count;
  const PropertyAgreement* best = factor.best();
  if (best == nullptr) return "";
  const std::string labelled =
      best->images == images
          ? ""
          : fmt::format("; {} of {} {} have labels", best->images, images, items_of(evaluation));
  if (best->property == factor.property)
    return fmt::format("  named {}: accuracy {:.1f} %{}{}", best->property, 100 * best->accuracy,
                       factor.mirrored_accuracy ? fmt::format(", with mirror images {:.1f} %",
                                                              100 * *factor.mirrored_accuracy)
                                                : "",
                       labelled);
  if (best->nmi < clearly_found)
    return fmt::format("  found none (nearest: {}, NMI {:.2f}{})", best->property, best->nmi,
                       labelled);
  // A one-to-one matching says little where there are more components than values.
  const bool matched = factor.components == best->values;
  return fmt::format("  found {} (NMI {:.2f}, {} {:.1f} %{})", best->property, best->nmi,
                     matched ? "matched" : "purity",
                     100 * (matched ? best->accuracy : best->purity), labelled);
}

void print_factors(const Evaluation& evaluation, size_t width) {
  fmt::print("  {:<{}}  components used  perplexity   KL[z]   KL[r]  property\n", "factor", width);
  for (const FactorEvaluation& factor : evaluation.factors)
    fmt::print("  {:<{}}  {:>8} of {:<4} {:>10.1f} {:>8.2f} {:>7.2f}{}\n", factor.name, width,
               factor.used, factor.components, factor.perplexity, factor.kl_z, factor.kl_r,
               agreement_text(factor, evaluation));
}

/// "first 2 of 4, third 1 of 4" for the factors where part is less than whole; empty for none.
template <class Part, class Whole>
std::string missing(const Evaluation& evaluation, Part part, Whole whole) {
  std::string text;
  for (const FactorEvaluation& factor : evaluation.factors)
    if (part(factor) < whole(factor))
      text += fmt::format("{}{} {} of {}", text.empty() ? "" : ", ", factor.name, part(factor),
                          whole(factor));
  return text;
}

std::string dead_components(const Evaluation& evaluation) {
  const std::string dead = missing(
      evaluation, [](const auto& factor) { return factor.used; },
      [](const auto& factor) { return factor.components; });
  return dead.empty() ? "no component is dead" : "living components: " + dead;
}

void print_life(const Evaluation& evaluation) {
  const std::string inactive = missing(
      evaluation, [](const auto& factor) { return factor.active_dimensions; },
      [](const auto& factor) { return factor.dimensions; });
  fmt::print("  {}\n", dead_components(evaluation));
  fmt::print("  {}\n", inactive.empty() ? "every latent dimension is active"
                                        : "active latent dimensions: " + inactive);
}

void print_gaps(const Evaluation& evaluation) {
  if (!evaluation.mean_gap) return;
  if (evaluation.gaps.size() <= most_properties_shown) {
    size_t property_width = 8;
    for (const PropertyGap& gap : evaluation.gaps)
      property_width = std::max(property_width, gap.property.size());
    fmt::print("  {:<{}}  entropy   gap  said most by\n", "property", property_width);
    for (const PropertyGap& gap : evaluation.gaps)
      fmt::print("  {:<{}}  {:>7.2f} {:>5.2f}  {}\n", gap.property, property_width, gap.entropy,
                 gap.gap, gap.factor);
  }
  fmt::print("  mean information gap {:.2f} over {} propert{}\n", *evaluation.mean_gap,
             evaluation.gaps.size(), evaluation.gaps.size() == 1 ? "y" : "ies");
}

/// What free factors have found, with the component in which each property shows best.
void print_found(const Evaluation& evaluation, size_t width) {
  constexpr size_t most = 5;
  constexpr double least = 0.02;  // of a property's entropy: less is hardly worth a line
  size_t property_width = 0;
  for (const FactorEvaluation& factor : evaluation.factors)
    for (const PropertyAgreement* said : factor.most_explained(most))
      property_width = std::max(property_width, said->property.size());
  for (const FactorEvaluation& factor : evaluation.factors) {
    if (!factor.property.empty()) continue;
    for (const PropertyAgreement* said : factor.most_explained(most))
      if (said->explained >= least)
        fmt::print(
            "  {:<{}}  says {:>4.1f} % of {:<{}}  component {}: {} in {:.0f} % of {} {}, "
            "{:.0f} % of all\n",
            factor.name, width, 100 * said->explained, said->property, property_width,
            said->component, said->value, 100 * said->standout.share, said->standout.items,
            items_of(evaluation), 100 * said->standout.usual_share);
  }
}

/// What merged components of free factors are: at the number of groups that the tree suggests, and
/// at the number of the property's values.
void print_merged(const Evaluation& evaluation, size_t width) {
  for (const FactorEvaluation& factor : evaluation.factors) {
    if (!factor.merged) continue;
    const MergedEvaluation& merged = *factor.merged;
    const PropertyAgreement* best = factor.best();
    const CutAgreement* cuts = best == nullptr ? nullptr : merged.of(best->property);
    fmt::print("  {:<{}}  {} living components; their tree suggests {} group{}, the bound {}\n",
               factor.name, width, merged.living, merged.natural_groups,
               merged.natural_groups == 1 ? "" : "s", merged.bound_groups);
    if (cuts == nullptr) continue;
    std::vector<int64_t> shown = {merged.natural_groups};
    if (cuts->values != merged.natural_groups) shown.push_back(cuts->values);
    for (const int64_t groups : shown)
      if (groups >= 2 && groups <= merged.living)
        fmt::print("  {:<{}}  {} groups: {} matched {:.1f} %, NMI {:.2f}, ARI {:.2f}\n", "", width,
                   groups, cuts->property, 100 * cuts->accuracy[cuts->entry(groups)],
                   cuts->nmi[cuts->entry(groups)], cuts->adjusted_rand[cuts->entry(groups)]);
  }
}

void print_dependence(const Evaluation& evaluation) {
  const auto& dependence = evaluation.dependence;
  if (dependence.size() < 2) return;
  size_t one = 0, other = 1;
  for (size_t i = 0; i < dependence.size(); ++i)
    for (size_t j = i + 1; j < dependence.size(); ++j)
      if (dependence[i][j] > dependence[one][other]) one = i, other = j;
  fmt::print("  mean dependence between factors {:.3f} (NMI); most: {} and {} {:.3f}\n",
             evaluation.mean_dependence, evaluation.factors[one].name,
             evaluation.factors[other].name, dependence[one][other]);
}

}  // namespace

void print_evaluation(const Evaluation& evaluation) {
  size_t width = 6;
  for (const FactorEvaluation& factor : evaluation.factors)
    width = std::max(width, factor.name.size());
  print_bound(evaluation);
  if (!evaluation.components_placed)
    fmt::print(
        "  note: the run has not initialised its components yet; what is said of them below means "
        "nothing\n");
  print_factors(evaluation, width);
  print_life(evaluation);
  print_gaps(evaluation);
  print_found(evaluation, width);
  print_merged(evaluation, width);
  print_dependence(evaluation);
}

void print_vector_evaluation(const Evaluation& evaluation) {
  size_t width = 6;
  for (const FactorEvaluation& factor : evaluation.factors)
    width = std::max(width, factor.name.size());
  fmt::print("{}, {} vectors\n", evaluation.split, evaluation.count);
  fmt::print("  log density {:10.4f} nats per vector (standard error {:.4f})\n",
             evaluation.predictive_bound, evaluation.predictive_standard_error);
  fmt::print("  bound       {:10.4f} = expected log density {:.4f} - KL[r] {:.4f}\n",
             evaluation.elbo, -evaluation.kl_z, evaluation.kl_r);
  print_factors(evaluation, width);
  fmt::print("  {}\n", dead_components(evaluation));
  print_gaps(evaluation);
  print_found(evaluation, width);
  print_merged(evaluation, width);
  print_dependence(evaluation);
}

namespace {

/// Every value's share, or the lowest alone where there are too many for a line.
std::string agreement_by_value(const ClassifierReport::Factor& factor) {
  constexpr size_t longest = 50;
  const auto share = [&](size_t v) {
    return fmt::format("{} {:.1f} %", factor.values[v], 100 * factor.means.agreement_by_value[v]);
  };
  std::string text;
  for (size_t v = 0; v < factor.values.size(); ++v) text += (v == 0 ? "" : ", ") + share(v);
  if (text.size() <= longest) return text;
  const auto& shares = factor.means.agreement_by_value;
  const auto lowest = std::min_element(shares.begin(), shares.end()) - shares.begin();
  return "lowest: " + share(static_cast<size_t>(lowest));
}

}  // namespace

void print_classifier_report(const ClassifierReport& report) {
  size_t width = 6;
  for (const ClassifierReport::Factor& factor : report.factors)
    width = std::max(width, factor.name.size());
  const bool refined = report.refine_steps > 0;
  fmt::print("evaluation classifier, trained on {} labelled images; {} samples per value{}\n",
             report.training_labels, report.samples,
             refined ? fmt::format(", also refined in {} steps with guidance {}",
                                   report.refine_steps, report.refine_guidance)
                     : "");
  fmt::print("  {:<{}}  real images  reconstructed   samples  {}by value\n", "factor", width,
             refined ? "refined   " : "");
  for (const ClassifierReport::Factor& factor : report.factors)
    fmt::print("  {:<{}}  {:>9.1f} %  {:>11.1f} %  {:>6.1f} %  {}{}\n", factor.name, width,
               100 * factor.own_accuracy, 100 * factor.reconstructed_accuracy,
               100 * factor.means.agreement,
               factor.refined ? fmt::format("{:>5.1f} %   ", 100 * factor.refined->agreement) : "",
               agreement_by_value(factor));
  fmt::print("  all named factors at once: {:.1f} % of samples{}\n", 100 * report.joint_agreement,
             report.refined_joint_agreement
                 ? fmt::format(", {:.1f} % of refined ones", 100 * *report.refined_joint_agreement)
                 : "");
}

}  // namespace facet
