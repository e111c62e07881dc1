// The parts of a batch among ranks: each rank has consecutive ones, and sums are taken in the order
// of parts, so that they depend on how many parts there are and not on how many ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "facet/core/ranks.h"
#include "facet/core/tensor.h"
#include "facet/data/batch_part.h"

namespace facet {

class RankParts {
 public:
  /// Throws an Error if there are fewer parts than ranks; it names the options after `prefix`,
  /// "train.". Null ranks are this process alone.
  RankParts(int64_t batch_size, int64_t parts, std::shared_ptr<Ranks> ranks,
            const std::string& prefix);

  Ranks& ranks() const { return *ranks_; }
  int64_t count() const { return parts_; }
  /// All parts of the batch, in order.
  std::vector<BatchPart> all() const { return parts_of_batch(batch_size_, parts_); }
  /// Those of this rank. What they draw is kept as long as one of them lives.
  std::vector<BatchPart> own() const;

  /// How many of something every rank has, from how many every part has.
  std::vector<int64_t> per_rank(const std::function<int64_t(const BatchPart&)>& of_part) const;
  /// One of something per part.
  std::vector<int64_t> one_per_part() const {
    return per_rank([](const BatchPart&) { return 1; });
  }
  /// The sum over all parts of this rank's terms, [n] each.
  torch::Tensor sum(const std::vector<torch::Tensor>& of_own_parts) const;

 private:
  int64_t first_part(int64_t rank) const { return parts_ * rank / ranks_->size(); }

  std::shared_ptr<Ranks> ranks_;
  int64_t batch_size_, parts_;
};

/// Whether a rank wants to stop, the same answer for all at every step. A GPU takes many steps
/// while its host asks the others once.
bool any_rank_stops(Ranks& ranks, torch::Device device, int64_t step,
                    const std::function<bool()>& stop);

}  // namespace facet
