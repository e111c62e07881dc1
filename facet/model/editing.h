// Editing images by their factors: fixing factors at chosen components, finding the component an
// image is in, moving an image to another component, and interpolating between two images. All of
// it works on blocks of the latent vector and needs only the prior; the caller encodes and decodes.
#pragma once

#include <string>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/model/vae.h"

namespace facet {

/// Components from settings such as "glasses=with" or "background=3": one entry per factor, -1 if
/// it is free, as for sample_latents. Throws an Error for an unknown factor or component and if two
/// settings contradict each other.
std::vector<int64_t> parse_fixed(const FactorialMixture& prior,
                                 const std::vector<std::string>& settings);

/// The most likely component of every factor.
struct LikelyComponents {
  torch::Tensor components;        ///< int64 [B, I]
  torch::Tensor responsibilities;  ///< their responsibilities, float64 [B, I]
};
LikelyComponents likely_components(const FactorialMixture& prior, const Encoding& encoding);

/// The encoding's mean with some factors moved to another component, float64 [B, Z]. `changes` is
/// as from parse_fixed; free factors do not change. With keep_offset an image keeps its position
/// within the component: its offset from the old component's mean, in units of that component's
/// predictive scale (eq:z-t-dist), becomes its offset from the new one's. Without it the block
/// becomes the new component's mean.
torch::Tensor edit(const FactorialMixture& prior, const Encoding& encoding,
                   const std::vector<int64_t>& changes, bool keep_offset = true);

/// `steps` points on the straight line from z_a to z_b, including both ends, float64 [B, steps, Z],
/// for z_a [B, Z] and z_b [B, Z] or [1, Z]. Only the blocks of `factors` change; an empty list
/// changes all.
torch::Tensor interpolate(const FactorialMixture& prior, const torch::Tensor& z_a,
                          const torch::Tensor& z_b, int64_t steps,
                          const std::vector<size_t>& factors = {});

}  // namespace facet
