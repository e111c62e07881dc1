// Working with images by their factors: holding factors at chosen components, reading off which
// component an image is in, moving an image to another component, and paths between two images.
// All of it happens on blocks of the latent vector and needs the prior alone; encoding before and
// decoding after is the caller's.
#pragma once

#include <string>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/model/vae.h"

namespace facet {

/// Components by factor from settings such as "glasses=with" or "background=3": one entry a factor,
/// -1 where it is free, as sample_latents takes them. An Error for an unknown factor or component
/// and where two settings contradict each other.
std::vector<int64_t> parse_fixed(const FactorialMixture& prior,
                                 const std::vector<std::string>& settings);

/// The component of every factor that images belong to most.
struct LikelyComponents {
  torch::Tensor components;        ///< int64 [B, I]
  torch::Tensor responsibilities;  ///< of those components, float64 [B, I]
};
LikelyComponents likely_components(const FactorialMixture& prior, const Encoding& encoding);

/// The encoding's mean with some factors moved to another component, float64 [B, Z]; `changes` is
/// as from parse_fixed, and free factors stay as they are. With keep_offset an image keeps its
/// place within the component: its distance to the old component's mean, measured in that
/// component's predictive scale (eq:z-t-dist), is laid off from the new one's. Without, the block
/// becomes the new component's mean.
torch::Tensor edit(const FactorialMixture& prior, const Encoding& encoding,
                   const std::vector<int64_t>& changes, bool keep_offset = true);

/// `steps` points of the straight path from z_a to z_b with both ends, float64 [B, steps, Z], for
/// z_a [B, Z] and z_b [B, Z] or [1, Z]. Only the blocks of `factors` move; none named moves all.
torch::Tensor interpolate(const FactorialMixture& prior, const torch::Tensor& z_a,
                          const torch::Tensor& z_b, int64_t steps,
                          const std::vector<size_t>& factors = {});

}  // namespace facet
