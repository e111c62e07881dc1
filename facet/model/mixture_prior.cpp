// The paper's prior: every factor's mixture has a posterior, which is updated by natural gradients
// (eq:lambda-update). While the label loss has weight, the natural gradient of a named factor has
// no closed form (eq:semi-sup), and Adam updates its posterior instead.
#include "facet/core/torch.h"
#include "facet/model/prior_strategy.h"
#include "facet/model/vae.h"
#include "facet/prior/moves.h"

namespace facet {

namespace {

class MixturePrior : public PriorStrategy {
 public:
  bool bayesian() const override { return true; }

  void begin(const Vae& model, const AdamOptions& adam, int64_t) override {
    for (size_t i = 0; i < model.prior.size(); ++i)
      if (model.prior.factors[i].named())
        optimizers_.try_emplace(model.prior.factors[i].name, model.prior.posteriors[i], adam,
                                PosteriorOptimizer::Kind::posterior);
  }

  std::vector<FactorParameters> parameters(const Vae& model, bool supervised) override {
    std::vector<FactorParameters> parameters(model.prior.size());
    for (size_t i = 0; i < parameters.size(); ++i)
      if (by_gradient(model, i, supervised)) parameters[i] = track(model, i);
    return parameters;
  }

  /// The KL terms of the hyperprior (eq:elbo:d, eq:elbo:e), needed for parameters that are updated
  /// by first-order gradients.
  torch::Tensor penalty(const Vae& model, const std::vector<FactorParameters>& parameters,
                        int64_t images) const override {
    torch::Tensor sum;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].defined()) continue;
      const HyperpriorKl kl = hyperprior_kl(parameters[i], model.prior.hyperpriors[i]);
      const torch::Tensor term = (kl.components.sum() + kl.weights) / static_cast<double>(images);
      sum = sum.defined() ? sum + term : term;
    }
    return sum;
  }

  void after_gradient(Vae& model, const JointBatch& batch) override {
    std::vector<bool> by_natural_gradient(model.prior.size());
    for (size_t i = 0; i < model.prior.size(); ++i) {
      by_natural_gradient[i] = !by_gradient(model, i, batch.supervised);
      if (!by_natural_gradient[i]) step_by_gradient(model, i, batch.learning_rate);
    }
    const Encoding encoding = batch.encode();
    natural_gradient_update(model.prior, encoding.mean, encoding.log_variance, batch.labels,
                            batch.natural, by_natural_gradient);
  }

  void refit(Vae& model, const std::vector<FactorData>& data, const Refit& refit,
             const Key& key) override {
    for (size_t i = 0; i < model.prior.size(); ++i) {
      if (by_gradient(model, i, refit.supervised)) continue;
      const bool free = !model.prior.factors[i].named();
      FactorPosterior& posterior = model.prior.posteriors[i];
      FactorHyperprior& hyperprior = model.prior.hyperpriors[i];
      for (int64_t pass = 0; pass < refit.passes; ++pass) {
        exact_update(posterior, data[i], hyperprior);
        if (free && refit.learn_hyperprior) learn_hyperprior(hyperprior, posterior);
        if (free && refit.merge_and_split)
          merge_and_split(refit.move_goal, key.fold(i).fold(static_cast<uint64_t>(pass)), posterior,
                          data[i], hyperprior);
      }
    }
  }

  void learn_hyperpriors(Vae& model) override {
    for (size_t i = 0; i < model.prior.size(); ++i)
      if (!model.prior.factors[i].named())
        learn_hyperprior(model.prior.hyperpriors[i], model.prior.posteriors[i]);
  }

 private:
  static bool by_gradient(const Vae& model, size_t factor, bool supervised) {
    return supervised && model.prior.factors[factor].named();
  }
};

}  // namespace

std::unique_ptr<PriorStrategy> make_mixture_prior(const ModelOptions&, const ImageShape&) {
  return std::make_unique<MixturePrior>();
}

}  // namespace facet
