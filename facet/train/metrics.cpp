#include "facet/train/metrics.h"

#include <algorithm>

#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/eval/clusters.h"
#include "facet/ops/sums.h"
#include "facet/train/step_plan.h"

namespace facet {

namespace {

/// The layout of the sums: the number of steps, the reconstruction, the gradient's norm, the log
/// likelihood and the number of labels, then KL[z] and KL[r] of every factor.
constexpr int64_t count_at = 0, reconstruction_at = 1, norm_at = 2, label_at = 3,
                  label_count_at = 4, first_kl_at = 5;

int64_t kl_z_at(size_t factor) { return first_kl_at + static_cast<int64_t>(factor); }
int64_t kl_r_at(size_t factor, size_t factors) { return kl_z_at(factors + factor); }

StepReport::Factor factor_report(const FactorialMixture& prior, size_t factor, int64_t images) {
  torch::Tensor usage = prior.held_images(factor);
  // The pseudo-counts of point estimates are arbitrarily large: scaled to the number of images.
  const double excess = usage.sum().item<double>() / static_cast<double>(images);
  if (excess > 1) usage = usage / excess;
  const std::vector<double> weights = to_doubles(usage);
  StepReport::Factor report;
  report.name = prior.factors[factor].name;
  report.components = prior.factors[factor].components;
  report.living =
      std::count_if(weights.begin(), weights.end(), [](double weight) { return weight > 1.0; });
  report.perplexity = perplexity(weights);
  return report;
}

}  // namespace

std::vector<torch::Tensor*> image_terms(StepTerms& step) {
  std::vector<torch::Tensor*> terms = {&step.reconstruction};
  for (auto* of_factors : {&step.kl_z, &step.kl_r, &step.label_log_likelihood})
    for (torch::Tensor& term : *of_factors) terms.push_back(&term);
  return terms;
}

torch::Tensor make_sums(size_t factors, torch::Device device) {
  return torch::zeros({kl_z_at(2 * factors)},
                      torch::TensorOptions().dtype(kFloat64).device(device));
}

void add_step(torch::Tensor& sums, const StepTerms& step, size_t factors) {
  torch::NoGradGuard no_gradient;
  using Term = ops::SummedTerm;
  std::vector<Term> terms = {{count_at, {}}};
  if (step.reconstruction.defined()) terms.push_back({reconstruction_at, step.reconstruction});
  if (step.gradient_norm.defined()) terms.push_back({norm_at, step.gradient_norm});
  for (size_t i = 0; i < step.kl_z.size(); ++i) terms.push_back({kl_z_at(i), step.kl_z[i]});
  for (size_t i = 0; i < step.kl_r.size(); ++i)
    terms.push_back({kl_r_at(i, factors), step.kl_r[i]});
  for (const torch::Tensor& factor : step.label_log_likelihood)
    terms.push_back({label_at, factor, Term::What::sum});
  if (step.labels.defined())
    terms.push_back({label_count_at, step.labels.flatten(), Term::What::known});
  ops::add_to_sums(sums, terms);
}

StepReport take_report(const TrainOptions& options, Progress& progress, const Vae& model,
                       int64_t images) {
  torch::NoGradGuard no_gradient;
  const FactorialMixture& prior = model.prior;
  const torch::Tensor sums = progress.sums.to(torch::kCPU, kFloat64, false, /*copy=*/true);
  progress.sums.zero_();
  const auto sum = [&](int64_t at) { return sums.data_ptr<double>()[at]; };
  const double steps = std::max(1.0, sum(count_at));

  StepReport report;
  report.phase = progress.phase;
  report.step = progress.step;
  report.phase_steps = phase_steps(options, progress.phase);
  for (const Phase phase : {Phase::pretrain, Phase::initialise, Phase::joint})
    report.total_step += phase < progress.phase    ? phase_steps(options, phase)
                         : phase == progress.phase ? progress.step
                                                   : 0;
  report.reconstruction = sum(reconstruction_at) / steps;
  report.gradient_norm = sum(norm_at) / steps;
  const int64_t last = progress.step - 1;
  const bool pretrain = progress.phase == Phase::pretrain;
  if (progress.phase != Phase::initialise)  // in which the networks are fixed
    report.learning_rate = options.learning_rate.at(pretrain ? last : options.pretrain.steps + last,
                                                    options.pretrain.steps + options.joint.steps);
  report.named = std::any_of(prior.factors.begin(), prior.factors.end(),
                             [](const FactorOptions& factor) { return factor.named(); });
  if (pretrain) {
    report.kl_weight = options.pretrain.kl_weight.at(last, options.pretrain.steps);
    report.kl_z = sum(kl_z_at(0)) / steps;
  } else {
    report.kl_weight = options.joint.kl_weight.at(last, options.joint.steps);
    report.step_size = natural_step_size(options, progress.phase, last);
    if (progress.phase == Phase::joint && report.named) {
      report.label_weight = options.joint.label_weight.at(last, options.joint.steps);
      report.label_log_likelihood = sum(label_at) / std::max(1.0, sum(label_count_at));
    }
    for (size_t i = 0; i < prior.size(); ++i) {
      StepReport::Factor factor = factor_report(prior, i, images);
      factor.kl_z = sum(kl_z_at(i)) / steps;
      factor.kl_r = sum(kl_r_at(i, prior.size())) / steps;
      report.kl_z += factor.kl_z;
      report.kl_r += factor.kl_r;
      if (model.strategy().bayesian()) {
        const HyperpriorKl kl =
            hyperprior_kl(prior.posteriors[i].parameters(), prior.hyperpriors[i]);
        report.hyperprior +=
            (kl.components.sum() + kl.weights).item<double>() / static_cast<double>(images);
      }
      report.factors.push_back(std::move(factor));
    }
  }
  report.elbo = report.reconstruction - report.kl_z - report.kl_r;
  return report;
}

Json to_record(const StepReport& report) {
  Json record = {{"phase", phase_name(report.phase)}, {"step", report.step}};
  if (report.phase != Phase::initialise) {
    record["elbo"] = report.elbo;
    record["reconstruction"] = report.reconstruction;
  }
  record["kl_z"] = report.kl_z;
  record["kl_r"] = report.kl_r;
  if (report.phase != Phase::initialise) {
    record["kl_weight"] = report.kl_weight;
    record["learning_rate"] = report.learning_rate;
    record["gradient_norm"] = report.gradient_norm;
  }
  if (report.phase != Phase::pretrain) {
    record["step_size"] = report.step_size;
    record["hyperprior"] = report.hyperprior;
    if (report.phase == Phase::joint && report.named) {
      record["label_weight"] = report.label_weight;
      record["label_log_likelihood"] = report.label_log_likelihood;
    }
    for (const StepReport::Factor& factor : report.factors)
      record["factors"].push_back({{"name", factor.name},
                                   {"living", factor.living},
                                   {"perplexity", factor.perplexity},
                                   {"kl_z", factor.kl_z},
                                   {"kl_r", factor.kl_r}});
  }
  return record;
}

}  // namespace facet
