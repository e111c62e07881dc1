// Latent vectors as numbers of 4 bits, for the scan of an index. Every factor's block is rotated to
// its principal axes, which keeps distances; axes are grouped into parts, and each part has 16
// centres from k-means on the index's own latent vectors. A part never spans two factors, so that a
// search can leave factors out. Axes are grouped so that the expected error is smallest: an axis
// with a large variance has a part for itself, and many with almost none share one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facet/core/random.h"
#include "facet/core/safetensors.h"
#include "facet/core/tensor.h"
#include "facet/prior/factor_options.h"

namespace facet {

/// Groups axes with the given variances into `parts` parts, or fewer if there are fewer axes, by
/// merging the two groups of one factor whose merging costs least until so many are left; every
/// factor keeps one. `factors[d]` is the factor of axis d. The groups, each in ascending order.
std::vector<std::vector<int64_t>> group_axes(const std::vector<double>& variances,
                                             const std::vector<int64_t>& factors, int64_t parts);

/// The axes of a part are columns begins[m] to begins[m + 1] of `rotation` and `centres`.
struct LatentQuantizer {
  torch::Tensor mean;            ///< float32 [Z]
  torch::Tensor rotation;        ///< float32 [Z, Z]; (z - mean) times it are the rotated vectors
  torch::Tensor centres;         ///< float32 [16, Z]
  std::vector<int64_t> begins;   ///< M + 1 numbers
  std::vector<int64_t> factors;  ///< of every part, M numbers

  int64_t parts() const { return static_cast<int64_t>(factors.size()); }
  /// Parts with the one that makes their number even, whose numbers are zero.
  int64_t stored_parts() const { return (parts() + 1) / 2 * 2; }

  /// The numbers of latent vectors [B, Z], U8 [B, stored_parts()].
  torch::Tensor quantize(const torch::Tensor& latents) const;
  /// What the numbers stand for, float32 [B, Z].
  torch::Tensor reconstruct(const torch::Tensor& numbers) const;
  /// The squared distance of a vector [Z] from every centre in the axes of every part, float32
  /// [stored_parts(), 16]. The sum over the parts of an image's entries is its squared distance
  /// from the image's reconstruction.
  torch::Tensor tables(const torch::Tensor& latent) const;

  void store(TensorFile& file) const;
  /// Throws an Error that names `object` if tensors are missing or do not fit together.
  static LatentQuantizer restore(const TensorFile& file, const std::vector<FactorOptions>& factors,
                                 const std::string& object);
};

/// Fits a quantizer of at most `parts` parts to latent vectors [N, Z].
LatentQuantizer fit_quantizer(const Key& key, const torch::Tensor& latents,
                              const std::vector<FactorOptions>& factors, int64_t parts);

}  // namespace facet
