#include "facet/model/generate.h"

#include <vector>

#include "facet/core/torch.h"

namespace facet {

namespace {

/// The images of a slice. On a GPU a launch takes as long as many images do.
int64_t slice_size(const Vae& model) {
  return model.images_at_once(model.device().is_cpu() ? 500 : 4000);
}

/// `convert` gets the decoder's output for a slice of z and the index of the slice.
template <typename Convert>
torch::Tensor decode_in_slices(const Vae& model, const torch::Tensor& z, const Convert& convert) {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& slice : z.split(slice_size(model)))
    parts.push_back(convert(model.decode(slice), parts.size()).to(torch::kCPU));
  return torch::cat(parts);
}

}  // namespace

torch::Tensor decode_means(const Vae& model, const torch::Tensor& z) {
  const Likelihood& likelihood = model.likelihood();
  return decode_in_slices(model, z, [&](const torch::Tensor& output, size_t) {
    return likelihood.to_pixels(likelihood.mean(output));
  });
}

torch::Tensor decode_samples(const Vae& model, const torch::Tensor& z, const Key& key) {
  const Likelihood& likelihood = model.likelihood();
  return decode_in_slices(model, z, [&](const torch::Tensor& output, size_t slice) {
    return likelihood.to_pixels(likelihood.sample(key.fold(slice), output));
  });
}

torch::Tensor decode_stddevs(const Vae& model, const torch::Tensor& z) {
  const Likelihood& likelihood = model.likelihood();
  const torch::Tensor ends = likelihood.from_pixels(torch::tensor({0, 255}, kUInt8));
  const double units = (ends[1] - ends[0]).item<double>();
  return decode_in_slices(model, z, [&](const torch::Tensor& output, size_t) {
    return likelihood.stddev(output) * (255 / units);
  });
}

Encoding encode_pixels(const Vae& model, const torch::Tensor& pixels) {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> means, log_variances;
  for (const torch::Tensor& slice : pixels.split(slice_size(model))) {
    const Encoding part = model.encode(model.likelihood().from_pixels(slice.to(model.device())));
    means.push_back(part.mean);
    log_variances.push_back(part.log_variance);
  }
  return {torch::cat(means), torch::cat(log_variances)};
}

}  // namespace facet
