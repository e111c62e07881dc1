// Images in slices of fixed size: for whoever goes through a pack of any size once, and for random
// numbers that must not depend on how many images are in memory.
#pragma once

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/data/data_options.h"
#include "facet/data/pack.h"

namespace facet {

/// Images that are binarized once are binarized in slices of so many, each with a key of its own.
inline constexpr int64_t kImagesPerSlice = 1000;

/// 255 with probability pixel / 255, otherwise 0.
torch::Tensor binarize(const torch::Tensor& pixels, const Key& key);

/// The pixels of slice number `slice`, binarized with `seed`.
torch::Tensor binarize_slice(const torch::Tensor& pixels, int64_t seed, int64_t slice);

/// `count` slices of a pack's images, or those that are left, as select_images() gives them for
/// evaluation from all splits, U8 [n, C, H, W] on the CPU. A view of the pack where nothing is
/// binarized and they are in one file.
torch::Tensor evaluation_slices(const Pack& pack, const DataOptions& options, int64_t first,
                                int64_t count);

}  // namespace facet
