// Mixtures with point estimates instead of a posterior (VaDE; Jiang et al., 2017), as a baseline:
// Adam updates means, variances and weights in every joint step.
#include "facet/core/torch.h"
#include "facet/model/prior_strategy.h"
#include "facet/model/vae.h"
#include "facet/prior/point_mass.h"

namespace facet {

namespace {

class PointMassPrior : public PriorStrategy {
 public:
  void begin(const Vae& model, const AdamOptions& adam, int64_t) override {
    for (size_t i = 0; i < model.prior.size(); ++i)
      optimizers_.try_emplace(model.prior.factors[i].name, model.prior.posteriors[i], adam,
                              PosteriorOptimizer::Kind::point_mass);
  }

  void begin_joint(Vae& model) override {
    torch::NoGradGuard no_gradient;
    for (FactorPosterior& posterior : model.prior.posteriors)
      posterior.assign(to_point_mass(posterior));
  }

  std::vector<FactorParameters> parameters(const Vae& model, bool) override {
    std::vector<FactorParameters> parameters;
    for (size_t i = 0; i < model.prior.size(); ++i) parameters.push_back(track(model, i));
    return parameters;
  }

  void after_gradient(Vae& model, const JointBatch& batch) override {
    for (size_t i = 0; i < model.prior.size(); ++i) step_by_gradient(model, i, batch.learning_rate);
  }
};

}  // namespace

std::unique_ptr<PriorStrategy> make_point_mass_prior(const ModelOptions&, const ImageShape&) {
  return std::make_unique<PointMassPrior>();
}

}  // namespace facet
