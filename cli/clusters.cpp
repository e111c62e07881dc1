// `facet clusters RUN --factor NAME`: what the components of a factor look like, heaviest first. A
// row holds the mean and the variance of a component's samples and five of them, with all other
// factors drawn from the prior: the paper's figure of cluster means, variances and samples.
#include <algorithm>

#include <fmt/format.h>

#include "cli/pictures.h"
#include "facet/data/image_file.h"

namespace facet {

namespace {

struct ClustersArguments : PictureArguments {
  std::string factor;
  std::vector<std::string> components;
  int64_t limit = 16, average = 200;
};

std::vector<int64_t> chosen_components(const FactorialMixture& prior, size_t factor,
                                       const ClustersArguments& arguments) {
  const FactorPosterior& posterior = prior.posteriors[factor];
  if (arguments.components.empty()) return heaviest_components(posterior, arguments.limit);
  std::vector<int64_t> asked, chosen;
  for (const std::string& text : arguments.components)
    asked.push_back(prior.factors[factor].component_of(text));
  for (const int64_t component : heaviest_components(posterior, posterior.counts.size(0)))
    if (std::find(asked.begin(), asked.end(), component) != asked.end())
      chosen.push_back(component);
  return chosen;
}

void run_clusters(const ClustersArguments& arguments) {
  const LoadedRun run = load_run(arguments.run, choose_device(arguments.device));
  const FactorialMixture& prior = run.model->prior;
  const size_t factor = prior.index_of(arguments.factor);
  const std::vector<int64_t> components = chosen_components(prior, factor, arguments);
  write_picture(arguments.output, draw(cluster_figure(*run.model, factor, components,
                                                      arguments.average, arguments.seed)));
  fmt::print("{} of {} components of '{}' in {}\n", components.size(),
             prior.factors[factor].components, arguments.factor, arguments.output);
}

}  // namespace

void add_clusters_command(CLI::App& program) {
  auto arguments = std::make_shared<ClustersArguments>();
  CLI::App* command = program.add_subcommand("clusters", "Show the components of a factor");
  add_picture_options(*command, *arguments);
  command->add_option("--factor", arguments->factor, "The factor")->required();
  CLI::Option* components =
      command
          ->add_option("--components", arguments->components,
                       "These components, by name or number, separated by commas")
          ->delimiter(',')
          ->allow_extra_args(false);
  command->add_option("--limit", arguments->limit, "So many of the heaviest components")
      ->check(CLI::Range(1, 200))
      ->excludes(components)
      ->capture_default_str();
  command->add_option("--average", arguments->average, "Samples behind each mean and variance")
      ->check(CLI::Range(kShownSamples, int64_t{100000}))
      ->capture_default_str();
  command->callback([arguments] { run_clusters(*arguments); });
}

}  // namespace facet
