#include "facet/report/tree_figure.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/model/generate.h"
#include "facet/prior/merge_tree.h"
#include "facet/report/figures.h"

namespace facet {

namespace {

constexpr size_t kPicturesPerLeaf = 8;

/// Images of components at their means, with one draw of all other factors.
std::vector<Image> component_pictures(Vae& model, size_t factor,
                                      const std::vector<int64_t>& components, const Key& key) {
  const FactorialMixture& prior = model.prior;
  const auto count = static_cast<int64_t>(components.size());
  torch::Tensor z = sample_latents(key, prior, 1).z.repeat({count, 1});
  const torch::Tensor chosen = torch::tensor(components, kInt64).to(z.device());
  z.narrow(1, prior.block_begin(factor), prior.factors[factor].dimensions)
      .copy_(prior.posteriors[factor].mean().m.index_select(0, chosen));
  return to_images(decode_means(model, z));
}

std::string leaf_label(double share, size_t components) {
  return fmt::format("{:.1f} %, {} component{}", 100 * share, components,
                     components == 1 ? "" : "s");
}

/// The joins below the cut, with leaves in the order of `groups`.
std::vector<Dendrogram::Join> joins_of(const MergeTree& tree, const Groups& groups) {
  const size_t cut = static_cast<size_t>(tree.living()) - groups.size();
  std::map<int64_t, size_t> node_of;  // by the component that stands for the group in merges
  for (size_t g = 0; g < groups.size(); ++g)
    for (const int64_t k : groups[g]) node_of[k] = g;
  std::vector<Dendrogram::Join> joins;
  for (size_t i = cut; i < tree.merges.size(); ++i) {
    const Merge& merge = tree.merges[i];
    joins.push_back({node_of.at(merge.into), node_of.at(merge.from), merge.lift});
    node_of[merge.into] = groups.size() + joins.size() - 1;
  }
  return joins;
}

}  // namespace

Dendrogram component_dendrogram(Vae& model, size_t factor, int64_t limit, uint64_t seed) {
  torch::NoGradGuard no_gradient;
  const FactorialMixture& prior = model.prior;
  const FactorOptions& options = prior.factors[factor];
  if (options.named())
    throw Error({.doing = "drawing the tree of a factor",
                 .object = options.name,
                 .found = "a named factor",
                 .expected = "a free one",
                 .cause = "the components of a named factor are its values and stay apart"});
  const MergeTree tree = merge_tree(prior.posteriors[factor], prior.hyperpriors[factor]);
  const int64_t natural = tree.natural_cut(),
                shown = std::min(std::max(limit, natural), tree.living());
  const Groups groups = tree.cut(shown);
  std::vector<int64_t> pictured;
  double images = 0;
  for (const std::vector<int64_t>& group : groups) {
    for (const int64_t k : group) images += tree.images[static_cast<size_t>(k)];
    pictured.insert(
        pictured.end(), group.begin(),
        group.begin() + static_cast<std::ptrdiff_t>(std::min(group.size(), kPicturesPerLeaf)));
  }
  std::vector<Image> pictures = component_pictures(model, factor, pictured, Key(seed).fold("tree"));
  Dendrogram result;
  result.title = fmt::format("{}: {} living components; the tree suggests {} group{}", options.name,
                             tree.living(), natural, natural == 1 ? "" : "s");
  auto next = pictures.begin();
  for (const std::vector<int64_t>& group : groups) {
    double own = 0;
    for (const int64_t k : group) own += tree.images[static_cast<size_t>(k)];
    Dendrogram::Leaf leaf{leaf_label(own / images, group.size()), {}};
    for (size_t i = 0; i < std::min(group.size(), kPicturesPerLeaf); ++i)
      leaf.pictures.push_back(std::move(*next++));
    result.leaves.push_back(std::move(leaf));
  }
  result.joins = joins_of(tree, groups);
  return result;
}

}  // namespace facet
