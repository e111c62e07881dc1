// `facet clusters RUN --factor NAME`: what the components of a factor look like, heaviest first. A
// row holds the mean and the variance of a component's samples and five of them, with all other
// factors drawn from the prior: the paper's figure of cluster means, variances and samples.
#include <algorithm>

#include <fmt/format.h>

#include "cli/pictures.h"
#include "facet/data/image_file.h"
#include "facet/prior/dirichlet.h"

namespace facet {

namespace {

constexpr int64_t kShownSamples = 5;

struct ClustersArguments : PictureArguments {
  std::string factor;
  std::vector<std::string> components;
  int64_t limit = 16, average = 200;
};

/// Images of one component: mean [C, H, W] and variance of its samples and the first of them.
struct Cluster {
  torch::Tensor mean, variance, samples;
};

Cluster sample_cluster(Vae& model, size_t factor, int64_t component, int64_t count,
                       const Key& key) {
  std::vector<int64_t> fixed(model.prior.size(), -1);
  fixed[factor] = component;
  // One key for all components: rows differ in the component and in nothing else.
  const torch::Tensor pixels =
      decode_means(model, sample_latents(key, model.prior, count, fixed).z);
  const torch::Tensor numbers = pixels.to(torch::kFloat32);
  return {numbers.mean(0), numbers.var(0, /*unbiased=*/false), pixels.narrow(0, 0, kShownSamples)};
}

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

Image draw_clusters(Vae& model, size_t factor, const std::vector<int64_t>& components,
                    int64_t count, const Key& key) {
  const FactorialMixture& prior = model.prior;
  const torch::Tensor weights = expected_weights(prior.posteriors[factor].counts);
  std::vector<Cluster> clusters;
  double largest = 0;
  GridOptions options;
  for (const int64_t component : components) {
    clusters.push_back(sample_cluster(model, factor, component, count, key));
    if (is_living(prior, factor, component))  // a dead one's samples are anywhere
      largest = std::max(largest, clusters.back().variance.max().item<double>());
    options.row_labels.push_back(fmt::format("{}  {:.1f} %",
                                             component_label(prior, factor, component),
                                             100 * weights[component].item<double>()));
  }
  std::vector<torch::Tensor> cells;
  for (const Cluster& cluster : clusters) {
    cells.push_back(stretch(cluster.mean, 0, 255).unsqueeze(0));
    cells.push_back(stretch(cluster.variance, 0, largest).unsqueeze(0));
    cells.push_back(cluster.samples);
  }
  options.columns = 2 + kShownSamples;
  options.column_labels = {"mean", "variance"};
  options.column_labels.resize(2 + kShownSamples, "sample");
  options.scale = magnification(model.shape());
  options.title = fmt::format("components of {}", prior.factors[factor].name);
  return draw_grid(to_images(torch::cat(cells)), options);
}

void run_clusters(const ClustersArguments& arguments) {
  const LoadedRun run = load_run(arguments.run, choose_device(arguments.device));
  const FactorialMixture& prior = run.model->prior;
  const size_t factor = prior.index_of(arguments.factor);
  const std::vector<int64_t> components = chosen_components(prior, factor, arguments);
  write_png(arguments.output, draw_clusters(*run.model, factor, components, arguments.average,
                                            Key(arguments.seed).fold("clusters")));
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
