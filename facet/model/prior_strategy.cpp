#include "facet/model/prior_strategy.h"

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/model/vae.h"

namespace facet {

std::unique_ptr<PriorStrategy> make_mixture_prior(const ModelOptions&, const ImageShape&);
std::unique_ptr<PriorStrategy> make_normal_prior(const ModelOptions&, const ImageShape&);
std::unique_ptr<PriorStrategy> make_point_mass_prior(const ModelOptions&, const ImageShape&);
std::unique_ptr<PriorStrategy> make_vamp_prior(const ModelOptions&, const ImageShape&);

const std::vector<PriorKind>& prior_kinds() {
  static const std::vector<PriorKind> kinds = {
      {"mixture", "the Bayesian factorial mixture", make_mixture_prior},
      {"normal", "N(0, I)", make_normal_prior},
      {"point_mass", "the factorial mixture with point estimates of its parameters (VaDE)",
       make_point_mass_prior},
      {"vamp", "a mixture of the encodings of learned images (VampPrior)", make_vamp_prior},
  };
  return kinds;
}

std::unique_ptr<PriorStrategy> make_prior_strategy(const ModelOptions& options,
                                                   const ImageShape& shape) {
  std::vector<std::string> names;
  for (const PriorKind& kind : prior_kinds()) {
    if (options.prior == kind.name) {
      auto strategy = kind.make(options, shape);
      if (options.stick_breaking() && !strategy->bayesian())
        Attempt{"building the prior", "model.prior " + options.prior}.fail(
            "stick-breaking weights", "model.weights dirichlet",
            "only a posterior of the weights can have this prior");
      return strategy;
    }
    names.emplace_back(kind.name);
  }
  throw Error({.doing = "building the prior",
               .object = "model.prior",
               .found = "'" + options.prior + "'",
               .expected = "the name of a prior",
               .cause = suggest(options.prior, names)});
}

void PriorStrategy::require_fit_steps(const std::string& name, int64_t steps) const {
  if (!fits_encodings() && steps > 0)
    Attempt{"training with", "model.prior " + name}.fail(
        std::to_string(steps) + " steps of phase 2", "train.initialise.steps at 0",
        "this prior has no components to fit to encodings");
}

void PriorStrategy::begin(const Vae&, const AdamOptions&, int64_t) {}
void PriorStrategy::place(Vae&, const ImageSet&, const Key&) {}
void PriorStrategy::begin_joint(Vae&) {}
void PriorStrategy::after_gradient(Vae&, const JointBatch&) {}
void PriorStrategy::refit(Vae&, const std::vector<FactorData>&, const Refit&, const Key&) {}
void PriorStrategy::learn_hyperpriors(Vae&) {}
void PriorStrategy::refresh(Vae&) {}

std::vector<FactorParameters> PriorStrategy::parameters(const Vae& model, bool) {
  return std::vector<FactorParameters>(model.prior.size());
}

torch::Tensor PriorStrategy::penalty(const Vae&, const std::vector<FactorParameters>&,
                                     int64_t) const {
  return {};
}

FactorParameters PriorStrategy::track(const Vae& model, size_t factor) {
  return optimizers_.at(model.prior.factors[factor].name).track(model.prior.posteriors[factor]);
}

void PriorStrategy::step_by_gradient(Vae& model, size_t factor,
                                     const torch::Tensor& learning_rate) {
  optimizers_.at(model.prior.factors[factor].name)
      .step(model.prior.posteriors[factor], learning_rate);
}

}  // namespace facet
