// N(0, I), the prior of a plain VAE, as a baseline: one component per factor, never updated.
#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/model/prior_strategy.h"
#include "facet/model/vae.h"
#include "facet/prior/point_mass.h"

namespace facet {

namespace {

class NormalPrior : public PriorStrategy {
 public:
  bool fits_encodings() const override { return false; }

  void begin_joint(Vae& model) override {
    torch::NoGradGuard no_gradient;
    for (FactorPosterior& posterior : model.prior.posteriors) {
      const torch::Tensor& like = posterior.components.alpha;  // [1, D]
      posterior.assign(point_mass_posterior(torch::zeros_like(like), torch::ones_like(like),
                                            torch::ones_like(posterior.counts)));
    }
  }
};

}  // namespace

std::unique_ptr<PriorStrategy> make_normal_prior(const ModelOptions& options, const ImageShape&) {
  for (const FactorOptions& factor : options.factors)
    if (factor.components != 1)
      throw Error(
          {.doing = "building the prior",
           .object = "model.prior normal",
           .found = fmt::format("factor '{}' with {} components", factor.name, factor.components),
           .expected = "one component"});
  return std::make_unique<NormalPrior>();
}

}  // namespace facet
