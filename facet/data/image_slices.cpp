#include "facet/data/image_slices.h"

#include <algorithm>

#include "facet/core/torch.h"

namespace facet {

torch::Tensor binarize(const torch::Tensor& pixels, const Key& key) {
  const torch::Tensor draw =
      uniform(key, pixels.sizes(), torch::TensorOptions().device(pixels.device()));
  return draw.mul_(255).lt(pixels).to(kUInt8).mul_(255);
}

torch::Tensor binarize_slice(const torch::Tensor& pixels, int64_t seed, int64_t slice) {
  const Key key = Key(static_cast<uint64_t>(seed)).fold("binarize");
  return binarize(pixels, key.fold(static_cast<uint64_t>(slice)));
}

torch::Tensor evaluation_slices(const Pack& pack, const DataOptions& options, int64_t first,
                                int64_t count) {
  const int64_t begin = first * kImagesPerSlice;
  const torch::Tensor pixels =
      pack.images.slice(begin, std::min(count * kImagesPerSlice, pack.count() - begin));
  if (options.binarize == "none") return pixels;
  std::vector<torch::Tensor> slices = pixels.split(kImagesPerSlice);
  for (size_t i = 0; i < slices.size(); ++i)
    slices[i] = binarize_slice(slices[i], options.binarize_seed, first + static_cast<int64_t>(i));
  return torch::cat(slices);
}

}  // namespace facet
