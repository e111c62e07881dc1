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

Learner::LabelInput Learner::label_input(const BatchPart& part) const {
  const StepSlots& slots = plans_.slots();
  LabelInput input;
  if (labels_.labelled_batches) {
    input.labelled = part.of(slots.labelled.size(0));
    if (input.labelled.count() > 0)
      input.further.images.push_back(
          drawn_images(*labels_.labelled_batches, slots.labelled, slots.step, input.labelled));
  }
  if (labels_.pseudo)
    input.further.images.push_back(model_->likelihood().from_pixels(
        batches_.draw_distorted(slots.images, slots.gradient_step, part)));
  if (config_.train.joint.consistency_weight > 0) {
    input.sample = consistency_sample(*model_, consistency_key(part), part.count());
    input.further.z = input.sample.z;
  }
  return input;
}

torch::Tensor Learner::further_label_loss(const JointTerms& terms, const LabelInput& input,
                                          const BatchPart& part) {
  const StepSlots& slots = plans_.slots();
  // Means over the images of a part, weighted by its share, are sums over those of the batch.
  std::vector<torch::Tensor> labels, weights;
  const auto add = [&](const torch::Tensor& of_images, double weight) {
    labels.push_back(of_images);
    weights.push_back(torch::full({of_images.size(0)}, weight, slots.label_weight.options()));
  };
  if (input.labelled.count() > 0)
    add(labels_.labelled.index_select(0, input.labelled.rows(slots.labelled)),
        1.0 / static_cast<double>(input.labelled.total));
  if (labels_.pseudo) {
    const std::vector<FactorTerms>& factors = terms.batch.factors;
    if (part.whole()) labels_.pseudo->observe(labels_.pseudo->mean_probabilities(factors));
    add(labels_.pseudo->choose(factors),
        config_.train.joint.pseudo_labels.weight / static_cast<double>(part.total));
  }
  return label_loss(terms.log_g, torch::cat(labels), torch::cat(weights), labels_.value_weights);
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

torch::Tensor Learner::joint_loss(const JointTerms& terms, const LabelInput& input,
                                  const std::vector<FactorParameters>& parameters,
                                  const torch::Tensor& labels, bool supervised,
                                  const BatchPart& part) {
  const StepSlots& slots = plans_.slots();
  const torch::Tensor label_weight =
      supervised && !labels_.labelled_batches ? slots.label_weight : torch::Tensor();
  torch::Tensor loss = part.share(
      batch_loss(terms.batch, labels, {slots.kl_weight, label_weight, labels_.value_weights}));
  if (!supervised) return loss;
  if (!input.further.images.empty())
    loss = loss + slots.label_weight * further_label_loss(terms, input, part);
  if (const double weight = config_.train.joint.consistency_weight; weight > 0)
    loss = loss + weight * part.share(consistency_loss(*model_, consistency_key(part), input.sample,
                                                       terms.output));
  if (part.index > 0) return loss;
  const torch::Tensor penalty = model_->strategy().penalty(*model_, parameters, images_.count());
  return penalty.defined() ? loss + penalty : loss;
}

Key Learner::consistency_key(const BatchPart& part) const {
  return part.rows(key_.fold("asked").at(plans_.slots().step));
}

Key Learner::joint_noise(const BatchPart& part) const {
  return part.rows(key_.fold(phase_name(Phase::joint)).at(plans_.slots().step));
}

PartTerms Learner::joint_part(const std::vector<FactorParameters>& parameters, bool supervised,
                              const BatchPart& part, const torch::Tensor& x,
                              const torch::Tensor& all_labels) {
  const torch::Tensor labels = all_labels.defined() ? part.rows(all_labels) : all_labels;
  const Key noise = joint_noise(part);
  const LabelInput input = supervised ? label_input(part) : LabelInput();
  const JointTerms joint =
      joint_terms(*model_, parameters, x, with_noise(x, noise), labels, noise, input.further);
  const BoundTerms& terms = joint.batch;
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
  result.loss = joint_loss(joint, input, parameters, labels, supervised, part);
  return result;
}

void Learner::joint_step(bool supervised, DebugTensors& debug) {
  const StepSlots& slots = plans_.slots();
  PriorStrategy& prior = model_->strategy();
  const std::vector<FactorParameters> parameters = prior.parameters(*model_, supervised);
  const std::vector<BatchPart> own = gradients_.own_parts();
  const torch::Tensor labels = batch_labels();
  std::vector<torch::Tensor> images;
  for (const BatchPart& part : own)
    images.push_back(drawn_images(batches_, slots.images, slots.gradient_step, part));
  if (supervised && labels_.pseudo && !gradients_.whole()) observe_parts(parameters, own, images);
  StepTerms step = gradients_.compute(own, debug, [&](const BatchPart& part) {
    return joint_part(parameters, supervised, part,
                      images[static_cast<size_t>(part.index - own.front().index)], labels);
  });
  step.labels = labels;
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
  prior.after_gradient(*model_, {encode, labels, supervised, slots.named_rate, natural_gradient()});
  side_.join();
  add_step(sums_, step, model_->prior.size());
}

}  // namespace facet
