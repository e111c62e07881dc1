#include "facet/eval/merged_clusters.h"

#include <algorithm>
#include <numeric>

#include "facet/core/json.h"
#include "facet/eval/clusters.h"
#include "facet/prior/merge_tree.h"

namespace facet {

const CutAgreement* MergedEvaluation::of(const std::string& property) const {
  const auto found = std::find_if(properties.begin(), properties.end(),
                                  [&](const auto& one) { return one.property == property; });
  return found == properties.end() ? nullptr : &*found;
}

MergedEvaluation evaluate_merges(const MergeTree& tree) {
  MergedEvaluation result;
  result.living = tree.living();
  result.natural_groups = tree.natural_cut();
  result.bound_groups = tree.bound_cut();
  double lost = 0;
  for (const Merge& merge : tree.merges) {  // from all components to two groups
    result.lift.push_back(merge.lift);
    result.loss.push_back(lost);
    lost += merge.loss;
  }
  std::reverse(result.lift.begin(), result.lift.end());
  std::reverse(result.loss.begin(), result.loss.end());
  return result;
}

CutAgreement cut_agreement(const MergeTree& tree, const std::vector<int64_t>& codes,
                           const std::vector<int64_t>& classes, const std::string& property,
                           int64_t values) {
  CutAgreement result;
  result.property = property;
  result.values = values;
  const auto components = static_cast<int64_t>(tree.images.size());
  const Contingency by_component = contingency(codes, classes, components, values);
  for (int64_t groups = 2; groups <= tree.living(); ++groups) {
    const std::vector<int64_t> group_of = tree.group_of(groups);
    Contingency table(static_cast<size_t>(groups),
                      std::vector<int64_t>(static_cast<size_t>(values), 0));
    for (size_t k = 0; k < by_component.size(); ++k)
      for (size_t v = 0; v < by_component[k].size(); ++v)
        table[static_cast<size_t>(group_of[k])][v] += by_component[k][v];
    result.accuracy.push_back(matched_accuracy(table));
    result.nmi.push_back(normalised_mutual_information(table));
    result.adjusted_rand.push_back(adjusted_rand_index(table));
  }
  return result;
}

Json to_json(const MergedEvaluation& merged) {
  std::vector<int64_t> groups(merged.lift.size());
  std::iota(groups.begin(), groups.end(), int64_t{2});
  Json json = {{"living", merged.living},
               {"natural_groups", merged.natural_groups},
               {"bound_groups", merged.bound_groups},
               {"groups", groups},
               {"lift", merged.lift},
               {"loss", merged.loss}};
  for (const CutAgreement& one : merged.properties)
    json["properties"][one.property] = {
        {"accuracy", one.accuracy}, {"nmi", one.nmi}, {"adjusted_rand", one.adjusted_rand}};
  return json;
}

}  // namespace facet
