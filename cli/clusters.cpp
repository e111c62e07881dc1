// `facet clusters RUN --factor NAME`: what the components of a factor look like, heaviest first. A
// row holds the mean and the variance of a component's samples and five of them, with all other
// factors drawn from the prior: the paper's figure of cluster means, variances and samples. With
// --merge rows are groups of components, and --tree shows how groups join.
#include "cli/picture_options.h"

namespace facet {

namespace {

struct ClustersArguments : PictureArguments {
  ClustersRequest request;
  TreeRequest tree;
  bool as_tree = false;
};

void run_clusters(ClustersArguments& arguments) {
  const LoadedRun run = load_run(arguments.run, {arguments.device});
  arguments.tree.factor = arguments.request.factor;
  arguments.tree.seed = arguments.request.seed;
  write_drawn(arguments.as_tree ? tree_picture(run, arguments.tree)
                                : clusters_picture(run, arguments.request),
              arguments.output);
}

}  // namespace

void add_clusters_command(const Command& program) {
  auto arguments = std::make_shared<ClustersArguments>();
  const Command command = program.command("clusters", "Show the components of a factor");
  add_picture_options(command, *arguments, arguments->request.seed);
  command.option("--factor", arguments->request.factor, "The factor").required();
  const Option tree = command.flag("--tree", arguments->as_tree,
                                   "A tree: how groups of components join, with pictures");
  command.option("--leaves", arguments->tree.limit, "Groups that the tree starts from")
      .range(2, 200)
      .needs(tree)
      .show_default();
  command
      .option("--merge", arguments->request.merge,
              "Merge the components into so many groups, and show these; their numbers count the "
              "groups, heaviest first")
      .range(1, 10000)
      .excludes(tree);
  const Option components =
      command
          .option("--components", arguments->request.components,
                  "These components, by name or number, separated by commas; groups with --merge")
          .separated_by(',')
          .excludes(tree);
  command.option("--limit", arguments->request.limit, "So many of the heaviest components")
      .range(1, 200)
      .excludes(components)
      .excludes(tree)
      .show_default();
  command.option("--average", arguments->request.average, "Samples behind each mean and variance")
      .range(shown_cluster_samples(), int64_t{100000})
      .excludes(tree)
      .show_default();
  command.run([arguments] { run_clusters(*arguments); });
}

}  // namespace facet
