// A part of a batch. A step may compute its batch in parts: one after another, which needs less
// memory, or on several ranks (core/ranks.h). What a part draws is what the whole batch draws for
// it, so that only rounding depends on the number of parts.
#pragma once

#include <memory>
#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"

namespace facet {

struct BatchPart {
  int64_t index = 0, parts = 1;  ///< part `index` of `parts`
  int64_t total = 0;             ///< images of the whole batch
  std::shared_ptr<SharedDraws> draws = {};

  int64_t begin() const { return total * index / parts; }
  int64_t count() const { return total * (index + 1) / parts - begin(); }
  bool whole() const { return parts == 1; }
  /// The same part of a batch of another size.
  BatchPart of(int64_t other_total) const { return {index, parts, other_total, draws}; }

  /// Its rows of something that the whole batch has.
  torch::Tensor rows(const torch::Tensor& all) const {
    return whole() ? all : all.narrow(0, begin(), count());
  }
  Key rows(const Key& key) const { return whole() ? key : key.rows(begin(), total, draws); }
  /// What the mean over its images adds to the mean over the batch.
  torch::Tensor share(const torch::Tensor& mean) const {
    return whole() ? mean : mean.mul(static_cast<double>(count()) / static_cast<double>(total));
  }
};

/// The parts of a batch of `total` images, none of them empty; they share their draws.
std::vector<BatchPart> parts_of_batch(int64_t total, int64_t parts);

}  // namespace facet
