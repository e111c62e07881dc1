#include "facet/train/rank_parts.h"

#include <algorithm>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"

namespace facet {

RankParts::RankParts(int64_t batch_size, int64_t parts, std::shared_ptr<Ranks> ranks,
                     const std::string& prefix)
    : ranks_(ranks ? std::move(ranks) : std::make_shared<Ranks>()),
      batch_size_(batch_size),
      parts_(std::min(parts, batch_size)) {
  if (parts_ < ranks_->size())
    Attempt{fmt::format("training with {} ranks", ranks_->size())}.fail(
        parts_ < parts ? fmt::format("{}batch_size {}", prefix, batch_size)
                       : fmt::format("{}batch_parts {}", prefix, parts),
        fmt::format("at least {}, one per rank", ranks_->size()),
        "--set changes it, also for a run that is resumed");
}

std::vector<BatchPart> RankParts::own() const {
  const std::vector<BatchPart> parts = all();
  return {parts.begin() + first_part(ranks_->rank()),
          parts.begin() + first_part(ranks_->rank() + 1)};
}

std::vector<int64_t> RankParts::per_rank(
    const std::function<int64_t(const BatchPart&)>& of_part) const {
  const std::vector<BatchPart> parts = all();
  std::vector<int64_t> counts(static_cast<size_t>(ranks_->size()));
  for (int64_t rank = 0; rank < ranks_->size(); ++rank)
    for (int64_t part = first_part(rank); part < first_part(rank + 1); ++part)
      counts[static_cast<size_t>(rank)] += of_part(parts[static_cast<size_t>(part)]);
  return counts;
}

torch::Tensor RankParts::sum(const std::vector<torch::Tensor>& of_own_parts) const {
  const torch::Tensor rows = ranks_->gather(torch::stack(of_own_parts), one_per_part());
  torch::Tensor sum = rows[0].clone();
  for (int64_t part = 1; part < parts_; ++part) sum.add_(rows[part]);
  return sum;
}

bool any_rank_stops(Ranks& ranks, torch::Device device, int64_t step,
                    const std::function<bool()>& stop) {
  constexpr int64_t steps_of_gpu = 16;
  if (!ranks.alone() && !device.is_cpu() && step % steps_of_gpu != 0) return false;
  return ranks.any(stop && stop());
}

}  // namespace facet
