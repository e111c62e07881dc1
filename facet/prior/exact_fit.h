// Exact updates of a factor's mixture from the encodings of all images, or of many that stand for
// all. Natural-gradient steps on batches follow a moving encoder at once, but see a rare component
// only a few times in their memory; an update from all images has neither noise nor lag. It is the
// coordinate ascent of variational Bayes: for a fixed encoder, the bound never falls.
#pragma once

#include <algorithm>

#include "facet/prior/factorial_mixture.h"

namespace facet {

/// The encodings of n images, which stand for n * scale.
struct FactorData {
  BlockEncoding block;   ///< [n, D]; float64 on a GPU, of any real type on the CPU
  torch::Tensor labels;  ///< int64 [n], -1 where unknown; undefined without labels
  double scale = 1.0;
  /// If defined, float64 [D] each: what is meant are the points (mean - shift) * scale_by.
  torch::Tensor shift = {}, scale_by = {};
  /// Some rows in random order, int64; undefined if the images are in random order themselves.
  torch::Tensor random_rows = {};

  int64_t images() const { return block.mean.size(0); }
  /// The images from `begin`, `count` of them, in float64, shifted and scaled.
  FactorData slice(int64_t begin, int64_t count) const;
  /// At most `count` images that stand for all of them.
  FactorData random_part(int64_t count) const;
};

/// Calls `work` with the data in slices, so that no tensor [n, K] is large.
template <typename Work>
void for_slices(const FactorData& data, int64_t components, const Work& work) {
  const int64_t rows = std::max<int64_t>(1, (int64_t{1} << 22) / components);
  for (int64_t begin = 0; begin < data.images(); begin += rows)
    work(data.slice(begin, std::min(rows, data.images() - begin)));
}

/// The E-step of all images, and the optimum of q(xi) for it, in place.
void exact_update(FactorPosterior& posterior, const FactorData& data,
                  const FactorHyperprior& hyperprior);

/// The factor's part of the bound, summed over all images: minus KL[z], KL[r] and the hyperprior's
/// KL.
double factor_bound(const FactorPosterior& posterior, const FactorData& data,
                    const FactorHyperprior& hyperprior);

}  // namespace facet
