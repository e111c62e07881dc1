// From latent vectors to pixels and back, for pictures and evaluations: in slices, so that many
// large images fit into memory. Pixels are U8 [B, C, H, W] on the CPU.
#pragma once

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/model/vae.h"

namespace facet {

/// The means of p(x|z) as pixels, for z [B, Z].
torch::Tensor decode_means(const Vae& model, const torch::Tensor& z);

/// Draws from p(x|z) as pixels, for z [B, Z].
torch::Tensor decode_samples(const Vae& model, const torch::Tensor& z, const Key& key);

/// The standard deviations of p(x|z) in grey levels (0 to 255), float32 [B, C, H, W] on the CPU.
torch::Tensor decode_stddevs(const Vae& model, const torch::Tensor& z);

/// The encoding of U8 pixels [B, C, H, W].
Encoding encode_pixels(const Vae& model, const torch::Tensor& pixels);

}  // namespace facet
