#include "facet/model/model_options.h"

#include <fmt/format.h>

#include "facet/model/prior_strategy.h"

namespace facet {

namespace {

/// The values of `model.prior` and their meanings come from the table of priors.
std::vector<std::string> prior_names() {
  std::vector<std::string> names;
  for (const PriorKind& kind : prior_kinds()) names.emplace_back(kind.name);
  return names;
}

const std::string& prior_help() {
  static const std::string help = [] {
    std::string text;
    for (const PriorKind& kind : prior_kinds())
      text += fmt::format("{}'{}': {}", text.empty() ? "The kind of prior. " : "; ", kind.name,
                          kind.meaning);
    return text + ".";
  }();
  return help;
}

}  // namespace

void ModelOptions::visit(OptionVisitor& visitor) {
  visitor.option("likelihood", likelihood, "The distribution of pixels.");
  visitor.option("network", network, "Encoder and decoder.");
  visitor.option("factors", factors, "The factors of the latent vector, in order.");
  visitor.option("prior", prior, prior_help().c_str(),
                 one_of(prior_names(), {{"points", "point_mass"}}));
  visitor.option("weights", weights,
                 "The prior of a free factor's mixing weights: a symmetric Dirichlet, or a "
                 "Dirichlet process cut off at the number of components.",
                 one_of({"dirichlet", "stick_breaking"}));
  visitor.option("hyperprior", hyperprior, "The prior of the mixtures' parameters.");
}

}  // namespace facet
