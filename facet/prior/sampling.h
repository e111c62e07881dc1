// Sampling latent vectors. Every sampler chooses a component per factor and then draws the factor's
// block around it; samplers differ in how they choose and how they draw. The loop over the factors
// is written once, in draw_latents.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/prior/factorial_mixture.h"

namespace facet {

/// Components by group (prior/merge_tree.h).
using Groups = std::vector<std::vector<int64_t>>;

/// Latent vectors with the components that they were drawn from.
struct LatentSample {
  torch::Tensor z;           ///< float64 [count, Z]
  torch::Tensor components;  ///< int64 [count, I]
};

/// The components of factor i for every draw, int64 [count].
using ComponentChoice = std::function<torch::Tensor(size_t factor)>;
/// Blocks of factor i drawn around chosen components (int64 [count]), [count, D].
using BlockDraw = std::function<torch::Tensor(size_t factor, const torch::Tensor& components)>;

/// Chooses and draws every factor in turn.
LatentSample draw_latents(const FactorialMixture& prior, const ComponentChoice& choose,
                          const BlockDraw& draw);

/// Ancestral sampling: a component per factor from E[pi], then the block from the component's
/// Student-t predictive (eq:z-t-dist). `fixed[i]` >= 0 fixes factor i at a component; an empty list
/// fixes none. If `groups[i]` is not empty, `fixed[i]` is one of these groups, and its components
/// are drawn by their weights; an empty list has no groups.
LatentSample sample_latents(const Key& key, const FactorialMixture& prior, int64_t count,
                            const std::vector<int64_t>& fixed = {},
                            const std::vector<Groups>& groups = {});

/// The same with every named factor at one of its values, all equally likely.
LatentSample sample_even_values(const Key& key, const FactorialMixture& prior, int64_t count);

/// As sample_even_values, but with draws that a captured CUDA graph can replay; those above need
/// generators on the host. A block is drawn from GaussianRows.
LatentSample sample_even_values_captured(const Key& key, const FactorialMixture& prior,
                                         int64_t count);

/// Chosen components as Gaussians, [B, D] each, or [B, Z] for all factors. The scale is that of
/// their Student-t predictives, which Gaussians approximate well if there are many images.
struct GaussianRows {
  torch::Tensor centre, scale;
};
/// Those of the components [B, I] of all factors.
GaussianRows gaussian_rows(const FactorialMixture& prior, const torch::Tensor& components);

/// z [B, Z] with the components that its blocks most probably are of, or with those that labels
/// [B, I] say, where these are defined and not -1. A CUDA graph can replay this.
LatentSample with_probable_components(const FactorialMixture& prior, const torch::Tensor& z,
                                      const torch::Tensor& labels = {});

/// Latent samples one after another.
LatentSample join(const std::vector<LatentSample>& samples);

/// `count` times the same component, int64 [count].
torch::Tensor same_component(const FactorPosterior& posterior, int64_t component, int64_t count);

/// Components drawn from E[pi], int64 [count]; only from those in `among` if it is not empty.
torch::Tensor sample_components(const Key& key, const FactorPosterior& posterior, int64_t count,
                                const std::vector<int64_t>& among = {});

/// The Normal-Gammas of chosen components (int64 [B]), [B, D] each.
NormalGamma chosen_components(const FactorPosterior& posterior, const torch::Tensor& components);

/// Blocks drawn from the Student-t predictives of the chosen components (int64 [B]), [B, D].
torch::Tensor sample_blocks(const Key& key, const FactorPosterior& posterior,
                            const torch::Tensor& components);

}  // namespace facet
