// The codes of images: the most likely component of every factor, with what it was chosen by.
#pragma once

#include <functional>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/data/data_options.h"
#include "facet/data/pack.h"
#include "facet/model/vae.h"

namespace facet {

/// Of B images. Codes are on the CPU, all else where the model computes.
struct ImageCodes {
  torch::Tensor codes;                       ///< int64 [B, I]
  std::vector<torch::Tensor> probabilities;  ///< one per factor, float32 [B, K] (the paper's g)
  torch::Tensor mean, variance;              ///< of q(z|x), float32 [B, Z]

  ImageCodes on_cpu() const;
};

/// The codes of U8 pixels [B, C, H, W].
ImageCodes read_codes(const Vae& model, const torch::Tensor& pixels);

/// What a pass over many images reports while it runs.
struct PassEvents {
  std::function<void(int64_t done, int64_t images)> progress = {};
  std::function<bool()> stop = {};  ///< whether to stop
};

/// Calls `take` with the codes of all images of a pack, batch by batch in row order, as evaluation
/// sees them (data/image_slices.h). Pages of the pack are given back as it goes, so that memory
/// does not grow with their number. False if events.stop() said so.
bool for_each_code(const Vae& model, const Pack& pack, const DataOptions& options,
                   const std::function<void(int64_t begin, const ImageCodes&)>& take,
                   const PassEvents& events);

}  // namespace facet
