// The step of phase 3, networks and mixtures together: eq:elbo:a to eq:elbo:c and, with labels, the
// terms of eq:semi-sup and of train/pseudo_labels.h and train/consistency.h, part by part of the
// batch; then the prior's own update on the whole batch.
#include <fmt/format.h>

#include "facet/core/torch.h"
#include "facet/train/consistency.h"
#include "facet/train/learner.h"

namespace facet {

torch::Tensor Learner::batch_labels() const {
  return labels_.of_factors.defined() ? labels_.of_factors.index_select(0, plans_.slots().images)
                                      : torch::Tensor();
}

torch::Tensor Learner::labelled_batch_loss(const std::vector<FactorParameters>& parameters,
                                           const BatchPart& part) {
  const StepSlots& slots = plans_.slots();
  const Encoding encoding =
      model_->encode(drawn_images(*labels_.labelled_batches, slots.labelled, slots.step, part));
  const torch::Tensor labels = labels_.labelled.index_select(0, part.rows(slots.labelled));
  return part.share(label_loss(model_->prior, encoding, parameters, labels, labels_.value_weights));
}

torch::Tensor Learner::pseudo_label_loss(const BoundTerms& terms,
                                         const std::vector<FactorParameters>& parameters,
                                         const BatchPart& part) {
  const StepSlots& slots = plans_.slots();
  const torch::Tensor view = batches_.draw_distorted(slots.images, slots.gradient_step, part);
  const Encoding encoding = model_->encode(model_->likelihood().from_pixels(view));
  if (part.whole()) labels_.pseudo->observe(labels_.pseudo->mean_probabilities(terms.factors));
  return part.share(label_loss(model_->prior, encoding, parameters,
                               labels_.pseudo->choose(terms.factors), labels_.value_weights));
}

void Learner::observe_parts(const std::vector<FactorParameters>& parameters,
                            const std::vector<BatchPart>& own,
                            const std::vector<torch::Tensor>& images) {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> means;
  for (size_t i = 0; i < own.size(); ++i) {
    const Encoding encoding = model_->encode(with_noise(images[i], joint_noise(own[i])));
    const auto factors = factor_terms(model_->prior, encoding.mean, encoding.log_variance,
                                      parameters, own[i].rows(batch_labels()));
    means.push_back(own[i].share(labels_.pseudo->mean_probabilities(factors)));
  }
  labels_.pseudo->observe(gradients_.sum_of_parts(means));
}

torch::Tensor Learner::joint_loss(const BoundTerms& terms,
                                  const std::vector<FactorParameters>& parameters,
                                  const torch::Tensor& labels, bool supervised,
                                  const BatchPart& part) {
  const StepSlots& slots = plans_.slots();
  const bool own_batch = labels_.labelled_batches.has_value();
  const torch::Tensor label_weight =
      supervised && !own_batch ? slots.label_weight : torch::Tensor();
  torch::Tensor loss =
      part.share(batch_loss(terms, labels, {slots.kl_weight, label_weight, labels_.value_weights}));
  if (!supervised) return loss;
  if (own_batch) {
    const BatchPart labelled = part.of(slots.labelled.size(0));
    if (labelled.count() > 0)
      loss = loss + slots.label_weight * labelled_batch_loss(parameters, labelled);
  }
  if (labels_.pseudo)
    loss = loss + config_.train.joint.pseudo_labels.weight * slots.label_weight *
                      pseudo_label_loss(terms, parameters, part);
  if (const double weight = config_.train.joint.consistency_weight; weight > 0)
    loss =
        loss + weight * part.share(consistency_loss(
                            *model_, part.rows(key_.fold("asked").at(slots.step)), part.count()));
  if (part.index > 0) return loss;
  const torch::Tensor penalty = model_->strategy().penalty(*model_, parameters, images_.count());
  return penalty.defined() ? loss + penalty : loss;
}

Key Learner::joint_noise(const BatchPart& part) const {
  return part.rows(key_.fold(phase_name(Phase::joint)).at(plans_.slots().step));
}

PartTerms Learner::joint_part(const std::vector<FactorParameters>& parameters, bool supervised,
                              const BatchPart& part, const torch::Tensor& x) {
  torch::Tensor labels = batch_labels();
  if (labels.defined()) labels = part.rows(labels);
  const Key noise = joint_noise(part);
  const BoundTerms terms = bound_terms(*model_, parameters, x, with_noise(x, noise), labels, noise);
  PartTerms result{.step = {.reconstruction = terms.reconstruction},
                   .tensors = {{"the encoder's mean", terms.encoding.mean},
                               {"the encoder's log variance", terms.encoding.log_variance},
                               {"the reconstruction term", terms.reconstruction}}};
  for (size_t i = 0; i < terms.factors.size(); ++i) {
    const FactorTerms& factor = terms.factors[i];
    const std::string& name = model_->prior.factors[i].name;
    result.tensors.emplace_back(fmt::format("KL[z] of factor '{}'", name), factor.kl_z);
    result.tensors.emplace_back(fmt::format("KL[r] of factor '{}'", name), factor.kl_r);
    result.step.kl_z.push_back(factor.kl_z);
    result.step.kl_r.push_back(factor.kl_r);
    if (labels.defined()) result.step.label_log_likelihood.push_back(factor.label_log_likelihood);
  }
  result.loss = joint_loss(terms, parameters, labels, supervised, part);
  return result;
}

void Learner::joint_step(bool supervised, DebugTensors& debug) {
  const StepSlots& slots = plans_.slots();
  PriorStrategy& prior = model_->strategy();
  const std::vector<FactorParameters> parameters = prior.parameters(*model_, supervised);
  const std::vector<BatchPart> own = gradients_.own_parts();
  std::vector<torch::Tensor> images;
  for (const BatchPart& part : own)
    images.push_back(drawn_images(batches_, slots.images, slots.gradient_step, part));
  if (supervised && labels_.pseudo && !gradients_.whole()) observe_parts(parameters, own, images);
  StepTerms step = gradients_.compute(own, debug, [&](const BatchPart& part) {
    return joint_part(parameters, supervised, part,
                      images[static_cast<size_t>(part.index - own.front().index)]);
  });
  step.labels = batch_labels();
  step.gradient_norm = optimise(debug);
  torch::NoGradGuard no_gradient;
  const auto encode = [&] {
    if (gradients_.whole()) return model_->encode(images.front());
    std::vector<torch::Tensor> rows;
    for (const torch::Tensor& x : images) {
      const Encoding encoding = model_->encode(x);
      rows.push_back(torch::cat({encoding.mean, encoding.log_variance}, 1));
    }
    const auto halves = gradients_.gather_images(rows).chunk(2, 1);
    return Encoding{halves[0].contiguous(), halves[1].contiguous()};
  };
  prior.after_gradient(*model_,
                       {encode, batch_labels(), supervised, slots.named_rate, natural_gradient()});
  side_.join();
  add_step(sums_, step, model_->prior.size());
}

}  // namespace facet
