#include "facet/data/division.h"

#include <unordered_map>

#include "facet/core/random.h"
#include "facet/core/torch.h"

namespace facet {

torch::Tensor random_split(const std::vector<int64_t>& groups, const TableOptions& options) {
  std::unordered_map<int64_t, size_t> place;  // of each group, in the order of their first images
  std::vector<std::vector<int64_t>> members;
  for (size_t n = 0; n < groups.size(); ++n) {
    const auto [entry, is_new] = place.try_emplace(groups[n], members.size());
    if (is_new) members.emplace_back();
    members[entry->second].push_back(static_cast<int64_t>(n));
  }
  const auto count = static_cast<int64_t>(groups.size());
  const torch::Tensor order =
      permutation(Key(options.seed).fold("split"), static_cast<int64_t>(members.size()));
  int64_t valid = static_cast<int64_t>(options.valid_fraction * static_cast<double>(count));
  int64_t test = static_cast<int64_t>(options.test_fraction * static_cast<double>(count));
  torch::Tensor split = torch::zeros({count}, kUInt8);
  uint8_t* values = split.data_ptr<uint8_t>();
  for (size_t i = 0; i < members.size(); ++i) {
    const auto& group = members[static_cast<size_t>(order.data_ptr<int64_t>()[i])];
    const auto size = static_cast<int64_t>(group.size());
    Split chosen = Split::train;
    if (size <= valid) {
      chosen = Split::valid;
      valid -= size;
    } else if (size <= test) {
      chosen = Split::test;
      test -= size;
    }
    for (const int64_t image : group) values[image] = static_cast<uint8_t>(chosen);
  }
  return split;
}

}  // namespace facet
