#include "facet/prior/move_goal.h"

#include <cmath>
#include <numbers>

#include "facet/core/torch.h"
#include "facet/prior/evidence.h"

namespace facet {

namespace {

/// The images of components, as their statistics lambda - lambda_0 say, [..., D].
struct ImageSums {
  torch::Tensor count, first, second;

  ImageSums(const NormalGamma& q, const NormalGamma& prior)
      : count(q.s - prior.s),
        first(q.s * q.m - prior.s * prior.m),
        second(2.0 * (q.b - prior.b) + q.s * q.m.square() - prior.s * prior.m.square()) {}
};

/// sum_n E[log p(z_n | xi)].
torch::Tensor expected_log_densities(const NormalGamma& q, const ImageSums& images) {
  const NormalGammaMoments expected = moments(q);
  return 0.5 * images.count * (expected.log_alpha - std::log(2.0 * std::numbers::pi)) -
         0.5 * expected.alpha * images.second + expected.alpha_mu * images.first -
         0.5 * images.count * expected.alpha_mu2;
}

/// 1/2 sum_n Var[log p(z_n | xi)] to first order: u / s + (1 - u)^2 / (4 a) for an image at the
/// squared distance u = E[alpha] (z - m)^2, whose square is taken as three times the squared mean.
torch::Tensor half_variances(const NormalGamma& q, const ImageSums& images) {
  const torch::Tensor distances =
      (q.a / q.b * (images.second - 2.0 * q.m * images.first + images.count * q.m.square()))
          .clamp_min(0);
  const torch::Tensor squares = 3.0 * distances.square() / images.count.clamp_min(1e-12);
  return 0.5 * (distances / q.s + (images.count - 2.0 * distances + squares) / (4.0 * q.a));
}

/// sum_k n_k E[log pi_k] - 1/2 sum_k n_k Var[log pi_k], with 1 / c_k for the variance.
double held_out_weights(const std::vector<double>& counts, const FactorHyperprior& hyperprior) {
  const torch::Tensor all = torch::tensor(counts, kFloat64);
  const torch::Tensor images = (all - hyperprior.count.cpu()).clamp_min(0);
  const torch::Tensor doubt = 0.5 * (images / all).sum();
  if (!hyperprior.concentration.defined())
    return (images * (torch::digamma(all) - torch::digamma(all.sum()))).sum().item<double>() -
           doubt.item<double>();
  const torch::Tensor sorted = std::get<0>(images.sort(0, /*descending=*/true));
  const int64_t sticks = sorted.size(0) - 1;
  const torch::Tensor own = sorted.narrow(0, 0, sticks);
  const torch::Tensor later = (sorted.sum() - sorted.cumsum(0)).narrow(0, 0, sticks).clamp_min(0);
  const torch::Tensor one = own + 1.0, other = later + hyperprior.concentration.cpu();
  const torch::Tensor both = torch::digamma(one + other);
  return (own * (torch::digamma(one) - both) + later * (torch::digamma(other) - both))
             .sum()
             .item<double>() -
         doubt.item<double>();
}

}  // namespace

MoveGoal move_goal(const std::string& name) {
  return name == "evidence" ? MoveGoal::evidence : MoveGoal::held_out;
}

torch::Tensor component_worth(MoveGoal goal, const NaturalNormalGamma& components,
                              const FactorHyperprior& hyperprior) {
  const NormalGamma& prior = hyperprior.components;
  if (goal == MoveGoal::evidence)
    return (log_normaliser(components) - log_normaliser(to_natural(prior))).sum(-1);
  const NormalGamma q = to_mean(components);
  const ImageSums images(q, prior);
  return (expected_log_densities(q, images) - half_variances(q, images)).sum(-1);
}

double weights_worth(MoveGoal goal, const std::vector<double>& counts,
                     const FactorHyperprior& hyperprior) {
  return goal == MoveGoal::evidence ? weights_evidence(counts, hyperprior.concentration)
                                    : held_out_weights(counts, hyperprior);
}

double factor_worth(MoveGoal goal, const FactorPosterior& posterior, const FactorData& data,
                    const FactorHyperprior& hyperprior) {
  const double bound = factor_bound(posterior, data, hyperprior);
  if (goal == MoveGoal::evidence) return bound;
  torch::NoGradGuard no_gradient;
  const HyperpriorKl kl = hyperprior_kl(posterior.parameters(), hyperprior);
  const torch::Tensor images = (posterior.counts - hyperprior.count).clamp_min(0);
  const NormalGamma q = posterior.mean();
  const torch::Tensor doubt =
      half_variances(q, {q, hyperprior.components}).sum() + 0.5 * (images / posterior.counts).sum();
  return bound + (kl.components.sum() + kl.weights - doubt).item<double>();
}

}  // namespace facet
