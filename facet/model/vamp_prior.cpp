// The VampPrior (Tomczak and Welling, 2018), as a baseline: the components are the encodings of
// learned images, the pseudo-inputs, all with the same weight. Pseudo-inputs are trained with the
// networks and start near training images.
#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/model/prior_strategy.h"
#include "facet/model/vae.h"
#include "facet/prior/point_mass.h"

namespace facet {

namespace {

class VampPrior : public PriorStrategy {
 public:
  VampPrior(int64_t components, const ImageShape& shape)
      : logits_(torch::zeros({components, shape.channels, shape.height, shape.width})
                    .requires_grad_()) {}

  NamedTensors own_parameters() const override { return {{"pseudo_inputs.logits", logits_}}; }
  bool fits_encodings() const override { return false; }
  bool has_own_components() const override { return false; }

  void begin(const Vae&, const AdamOptions&, int64_t images) override {
    if (logits_.size(0) > images)
      throw Error({.doing = "training with",
                   .object = "model.prior vamp",
                   .found = fmt::format("{} components and {} images", logits_.size(0), images),
                   .expected = "at least as many images",
                   .cause = "every component starts at a different image"});
  }

  void place(Vae&, const ImageSet& images, const Key& key) override {
    torch::NoGradGuard no_gradient;
    const torch::Tensor order = permutation(key.fold("components"), images.count());
    const torch::Tensor pixels =
        images.draw(order.narrow(0, 0, logits_.size(0)), key.fold("pseudo-inputs"));
    // The logits of black and white are infinite: clamped, so that gradients still flow.
    logits_.copy_(torch::logit(pixels.to(kFloat32) / 255.0, 0.1));
  }

  std::vector<FactorParameters> parameters(const Vae& model, bool) override {
    return {components(model)};
  }

  void after_gradient(Vae& model, const JointBatch&) override { refresh(model); }

  void refresh(Vae& model) override {
    torch::NoGradGuard no_gradient;
    const FactorParameters encoded = components(model);
    model.prior.posteriors.front().assign(
        FactorPosterior::from_mean(encoded.components, encoded.counts));
  }

 private:
  /// The encodings of the pseudo-inputs; gradients flow to encoder and pseudo-inputs.
  FactorParameters components(const Vae& model) const {
    const torch::Tensor pixels = 255.0 * torch::sigmoid(logits_);
    const Encoding encoding = model.encode(model.likelihood().from_pixels(pixels));
    const BlockEncoding block = model.prior.split(encoding.mean, encoding.variance()).front();
    const int64_t count = logits_.size(0);
    const torch::Tensor weights =
        torch::full({count}, 1.0 / static_cast<double>(count), block.mean.options());
    return point_mass_parameters(block.mean, block.variance, weights);
  }

  torch::Tensor logits_;  ///< logits of pixels / 255, float32 [K, C, H, W]
};

}  // namespace

std::unique_ptr<PriorStrategy> make_vamp_prior(const ModelOptions& options,
                                               const ImageShape& shape) {
  const auto refuse = [](const std::string& found, const std::string& expected) {
    throw Error({.doing = "building the prior",
                 .object = "model.prior vamp",
                 .found = found,
                 .expected = expected});
  };
  if (options.factors.size() != 1)
    refuse(fmt::format("{} factors", options.factors.size()), "a single one");
  if (options.factors.front().named())
    refuse(fmt::format("a named factor '{}'", options.factors.front().name), "a free one");
  return std::make_unique<VampPrior>(options.factors.front().components, shape);
}

}  // namespace facet
