#include "facet/search/image_codes.h"

#include <algorithm>

#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/data/image_slices.h"
#include "facet/model/generate.h"

namespace facet {

namespace {

constexpr int64_t kBatchSize = 250, kSlicesOnGpu = 4;
/// Probabilities of a factor at once: half a gigabyte.
constexpr int64_t kMostProbabilities = int64_t{1} << 26;

/// A GPU gets as many as it computes at once: its time for a launch is that of many images.
int64_t batch_size(const Vae& model) {
  if (model.device().is_cpu()) return kBatchSize;
  int64_t most = kSlicesOnGpu * kImagesPerSlice;
  for (const FactorOptions& factor : model.prior.factors)
    most = std::min(most, std::max<int64_t>(1, kMostProbabilities / factor.components));
  return model.images_at_once(most);
}

}  // namespace

ImageCodes ImageCodes::on_cpu() const {
  ImageCodes result{codes, {}, mean.cpu(), variance.cpu()};
  for (const torch::Tensor& factor : probabilities) result.probabilities.push_back(factor.cpu());
  return result;
}

ImageCodes read_codes(const Vae& model, const torch::Tensor& pixels) {
  torch::NoGradGuard no_gradient;
  const Encoding encoding = encode_pixels(model, pixels);
  const torch::Tensor variance = encoding.variance();
  ImageCodes result;
  std::vector<torch::Tensor> codes;
  const auto blocks = model.prior.split(encoding.mean, variance);
  for (size_t i = 0; i < model.prior.size(); ++i) {
    const torch::Tensor probabilities = e_step(blocks[i], model.prior.posteriors[i], {});
    codes.push_back(probabilities.argmax(1));
    result.probabilities.push_back(probabilities.to(kFloat32));
  }
  result.codes = torch::stack(codes, 1).cpu();
  result.mean = encoding.mean.to(kFloat32);
  result.variance = variance.to(kFloat32);
  return result;
}

bool for_each_code(const Vae& model, const Pack& pack, const DataOptions& options,
                   const std::function<void(int64_t begin, const ImageCodes&)>& take,
                   const PassEvents& events) {
  // All of them were read when the pack was checked.
  release_pages(pack.labels.data_ptr(), pack.labels.nbytes());
  const int64_t slices = model.device().is_cuda() ? kSlicesOnGpu : 1, batch = batch_size(model);
  int64_t done = 0;
  for (int64_t first = 0; done < pack.count(); first += slices) {
    const int64_t begin = done;
    const torch::Tensor images = evaluation_slices(pack, options, first, slices);
    for (const torch::Tensor& pixels : images.split(batch)) {
      if (events.stop && events.stop()) return false;
      take(done, read_codes(model, pixels));
      done += pixels.size(0);
      if (events.progress) events.progress(done, pack.count());
    }
    pack.images.release(begin, done - begin);
  }
  return true;
}

}  // namespace facet
