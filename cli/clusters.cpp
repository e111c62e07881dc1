// `facet clusters RUN --factor NAME`: what the components of a factor look like, heaviest first. A
// row holds the mean and the variance of a component's samples and five of them, with all other
// factors drawn from the prior: the paper's figure of cluster means, variances and samples.
#include "cli/picture_options.h"

namespace facet {

namespace {

struct ClustersArguments : PictureArguments {
  ClustersRequest request;
};

}  // namespace

void add_clusters_command(const Command& program) {
  auto arguments = std::make_shared<ClustersArguments>();
  const Command command = program.command("clusters", "Show the components of a factor");
  add_picture_options(command, *arguments, arguments->request.seed);
  command.option("--factor", arguments->request.factor, "The factor").required();
  const Option components = command
                                .option("--components", arguments->request.components,
                                        "These components, by name or number, separated by commas")
                                .separated_by(',');
  command.option("--limit", arguments->request.limit, "So many of the heaviest components")
      .range(1, 200)
      .excludes(components)
      .show_default();
  command.option("--average", arguments->request.average, "Samples behind each mean and variance")
      .range(shown_cluster_samples(), int64_t{100000})
      .show_default();
  command.run([arguments] {
    write_drawn(clusters_picture(load_run(arguments->run, arguments->device), arguments->request),
                arguments->output);
  });
}

}  // namespace facet
