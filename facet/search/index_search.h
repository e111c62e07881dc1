// Queries of an index: the images nearest to a latent vector in some or all factors, among those
// with chosen values. A scan of the 4-bit numbers gives a short list, which is then compared
// exactly, by the stored latent vectors. Distances are Euclidean, in latent space.
#pragma once

#include <cstdint>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/search/index_file.h"

namespace facet {

struct IndexQuery {
  torch::Tensor latent;         ///< [Z]
  std::vector<bool> factors;    ///< whose blocks count; empty: all
  std::vector<int64_t> values;  ///< component that a factor must have, -1: any; empty: no condition
  int64_t top = 20;
  int64_t shortlist = 1000;  ///< images that are compared exactly, at least `top`
  bool exact = false;        ///< compare all images exactly
};

struct IndexHit {
  size_t segment = 0;
  int64_t row = 0;
  double distance = 0;
};

struct IndexResult {
  std::vector<IndexHit> hits;  ///< nearest first
  int64_t images = 0;          ///< of the index
  int64_t matching = 0;        ///< of them with the wanted values
};

/// A value is the given label of an image where it has one, else the component of its code.
IndexResult search_index(const SearchIndex& index, const IndexQuery& query);

}  // namespace facet
