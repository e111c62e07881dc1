#include "facet/train/learner.h"

#include <fmt/format.h>

#include "facet/core/torch.h"
#include "facet/train/consistency.h"
#include "facet/train/metrics.h"
#include "facet/train/refit.h"

namespace facet {

namespace {

std::shared_ptr<Vae> make_model(const Config& config, const Pack& pack, const Key& key,
                                torch::Device device) {
  auto model = std::make_shared<Vae>(config.model, pack.shape(), key.fold("model"));
  model->move_to(device);
  return model;
}

int64_t kind_of(Phase phase, bool supervised) {
  return 2 * static_cast<int64_t>(phase) + (supervised ? 1 : 0);
}

}  // namespace

Learner::Learner(const Config& config, const Pack& pack, torch::Device device,
                 const StepOptions& options, const std::function<void(const std::string&)>& notice)
    : config_(with_value_names(config, pack)),
      key_(static_cast<uint64_t>(config.seed)),
      model_(make_model(config_, pack, key_, device)),
      adam_(model_->parameters(), config.train.adam),
      images_(training_images(config, pack, device, options.stream_images, notice)),
      batches_(images_, key_.fold("batches"), config.train.batch_size),
      labels_(training_labels(config_, pack, images_, key_)),
      plans_(config_, key_, batches_, labels_, device),
      encoded_(*model_, images_, labels_.of_factors, config_, key_.fold("initialise")),
      sums_(make_sums(model_->prior.size(), device)),
      side_(device),
      graphs_(device, options.capture) {
  if (const auto sentence = too_many_encodings(config_, images_.count()); sentence && notice)
    notice(*sentence);
  if (notice)
    for (const std::string& remark : label_remarks(config_, labels_)) notice(remark);
  PriorStrategy& prior = model_->strategy();
  prior.require_fit_steps(config_.model.prior, config_.train.initialise.steps);
  prior.begin(*model_, config_.train.adam, images_.count());
  use_kernels();
  if (config_.train.average_decay > 0)
    average_.emplace(adam_, prior.has_own_components() ? &model_->prior : nullptr,
                     config_.train.average_decay);
}

void Learner::use_kernels() {
  if (config_.train.precision == "fp32") return;
  model_->accelerate(
      config_.train.precision == "bf16"
          ? [this](const torch::Tensor& parameter) { return adam_.bf16_copy_of(parameter); }
          : Bf16Copies());
}

void Learner::step(Phase phase, int64_t step) {
  if (phase == Phase::initialise) encoded_.blocks();
  if (phase == Phase::joint && step == 0) model_->strategy().begin_joint(*model_);
  if (phase == Phase::joint &&
      maintain_prior(*model_, encoded_, labels_, config_.train, key_, step) && average_)
    average_->start_prior();
  const StepPlan& plan = plans_.next(phase, step);
  if (phase != Phase::initialise) batches_.upload(plan.images);
  if (plan.labelled.defined()) labels_.labelled_batches->upload(plan.labelled);
  last_kind_ = kind_of(phase, plan.supervised);
  DebugTensors& debug = debug_[last_kind_];
  graphs_.step(last_kind_, [&] {
    plans_.advance();
    if (phase == Phase::pretrain) pretrain_step(debug);
    if (phase == Phase::initialise) initialise_step();
    if (phase == Phase::joint) joint_step(plan.supervised, debug);
  });
  if (phase == Phase::joint && average_) average_->after_step(step);
}

std::optional<std::string> Learner::find_not_finite() const {
  const auto found = debug_.find(last_kind_);
  return found == debug_.end() ? std::nullopt
                               : facet::find_not_finite(found->second, model_->parameters());
}

torch::Tensor Learner::optimise(const torch::Tensor& loss, NamedTensors tensors,
                                DebugTensors& debug) {
  if (model_->accelerated())
    model_->begin_gradients();
  else
    adam_.zero_gradients();
  loss.backward();
  if (model_->accelerated()) model_->finish_gradients();
  torch::NoGradGuard no_gradient;
  const torch::Tensor& rate = plans_.slots().learning_rate;
  debug.loss = loss.detach();
  torch::Tensor norm;
  if (adam_.clips()) norm = adam_.gradient_norm();
  adam_.begin_step();
  // The rest of the step needs only the encoder's update.
  side_.run([&] {
    torch::NoGradGuard no_gradient_there;
    if (!norm.defined()) norm = adam_.gradient_norm();
    adam_.update(adam_.range_of(model_->decoder().parameters()), rate, norm);
    debug.finite = norm + debug.loss;
  });
  adam_.update(adam_.range_of(model_->encoder().parameters()), rate, norm);
  if (const NamedTensors own = model_->strategy().own_parameters(); !own.empty())
    adam_.update(adam_.range_of(own), rate, norm, /*decay=*/false);
  for (auto& [name, tensor] : tensors) tensor = tensor.detach();
  debug.tensors = std::move(tensors);
  return norm;
}

torch::Tensor Learner::drawn_images(const Batches& batches, const torch::Tensor& chosen,
                                    const torch::Tensor& step) const {
  return model_->likelihood().from_pixels(batches.draw(chosen, step));
}

torch::Tensor Learner::with_noise(const torch::Tensor& x, const Key& noise) const {
  const double stddev = config_.train.input_noise;
  if (stddev == 0) return x;
  return x + stddev * standard_normal(noise.fold("input"), x.sizes(), x.options());
}

void Learner::pretrain_step(DebugTensors& debug) {
  const StepSlots& slots = plans_.slots();
  const torch::Tensor x = drawn_images(batches_, slots.images, slots.gradient_step);
  const Key noise = key_.fold(phase_name(Phase::pretrain)).at(slots.step);
  const auto [encoding, z] = model_->encode_and_sample(with_noise(x, noise), noise);
  const torch::Tensor output = model_->decode(z);
  const torch::Tensor reconstruction = model_->likelihood().log_density(x, output);
  const torch::Tensor kl = standard_normal_kl(encoding);
  const torch::Tensor norm = optimise(pretrain_loss(reconstruction, kl, slots.kl_weight),
                                      {{"the encoder's mean", encoding.mean},
                                       {"the encoder's log variance", encoding.log_variance},
                                       {"the decoder's output", output},
                                       {"the reconstruction term", reconstruction},
                                       {"KL[z]", kl}},
                                      debug);
  side_.join();
  add_step(sums_, {.reconstruction = reconstruction, .gradient_norm = norm, .kl_z = {kl}},
           model_->prior.size());
}

void Learner::initialise_step() {
  torch::NoGradGuard no_gradient;
  const torch::Tensor& chosen = plans_.slots().images;
  const torch::Tensor labels =
      encoded_.labels().defined() ? encoded_.labels().index_select(0, chosen) : torch::Tensor();
  StepTerms step;
  for (size_t i = 0; i < model_->prior.size(); ++i) {
    const BlockEncoding& all = encoded_.blocks()[i];
    const BlockEncoding block{all.mean.index_select(0, chosen),
                              all.variance.index_select(0, chosen)};
    FactorPosterior& posterior = model_->prior.posteriors[i];
    const torch::Tensor known = labels_of_factor(labels, i);
    const FactorTerms terms = factor_terms(block, posterior, known);
    step.kl_z.push_back(terms.kl_z);
    step.kl_r.push_back(terms.kl_r);
    natural_gradient_update(posterior, block, known, natural_gradient(),
                            model_->prior.hyperpriors[i]);
  }
  add_step(sums_, step, model_->prior.size());
}

torch::Tensor Learner::labelled_batch_loss(const std::vector<FactorParameters>& parameters) {
  const StepSlots& slots = plans_.slots();
  const Encoding encoding =
      model_->encode(drawn_images(*labels_.labelled_batches, slots.labelled, slots.step));
  const torch::Tensor labels = labels_.labelled.index_select(0, slots.labelled);
  return label_loss(model_->prior, encoding, parameters, labels, labels_.value_weights);
}

torch::Tensor Learner::pseudo_label_loss(const BoundTerms& terms,
                                         const std::vector<FactorParameters>& parameters) {
  const StepSlots& slots = plans_.slots();
  const torch::Tensor view = batches_.draw_distorted(slots.images, slots.gradient_step);
  const Encoding encoding = model_->encode(model_->likelihood().from_pixels(view));
  return label_loss(model_->prior, encoding, parameters, labels_.pseudo->choose(terms.factors),
                    labels_.value_weights);
}

torch::Tensor Learner::joint_loss(const BoundTerms& terms,
                                  const std::vector<FactorParameters>& parameters,
                                  const torch::Tensor& labels, bool supervised) {
  const StepSlots& slots = plans_.slots();
  const bool own_batch = labels_.labelled_batches.has_value();
  const torch::Tensor label_weight =
      supervised && !own_batch ? slots.label_weight : torch::Tensor();
  torch::Tensor loss =
      batch_loss(terms, labels, {slots.kl_weight, label_weight, labels_.value_weights});
  if (!supervised) return loss;
  if (own_batch) loss = loss + slots.label_weight * labelled_batch_loss(parameters);
  if (labels_.pseudo)
    loss = loss + config_.train.joint.pseudo_labels.weight * slots.label_weight *
                      pseudo_label_loss(terms, parameters);
  if (const double weight = config_.train.joint.consistency_weight; weight > 0)
    loss = loss + weight * consistency_loss(*model_, key_.fold("asked").at(slots.step),
                                            slots.images.size(0));
  const torch::Tensor penalty = model_->strategy().penalty(*model_, parameters, images_.count());
  return penalty.defined() ? loss + penalty : loss;
}

void Learner::joint_step(bool supervised, DebugTensors& debug) {
  const StepSlots& slots = plans_.slots();
  const torch::Tensor x = drawn_images(batches_, slots.images, slots.gradient_step);
  const torch::Tensor labels = labels_.of_factors.defined()
                                   ? labels_.of_factors.index_select(0, slots.images)
                                   : torch::Tensor();
  const Key noise = key_.fold(phase_name(Phase::joint)).at(slots.step);
  PriorStrategy& prior = model_->strategy();
  const std::vector<FactorParameters> parameters = prior.parameters(*model_, supervised);
  const BoundTerms terms = bound_terms(*model_, parameters, x, with_noise(x, noise), labels, noise);
  StepTerms step{.reconstruction = terms.reconstruction, .labels = labels};
  NamedTensors tensors = {{"the encoder's mean", terms.encoding.mean},
                          {"the encoder's log variance", terms.encoding.log_variance},
                          {"the reconstruction term", terms.reconstruction}};
  for (size_t i = 0; i < terms.factors.size(); ++i) {
    const FactorTerms& factor = terms.factors[i];
    const std::string& name = model_->prior.factors[i].name;
    tensors.emplace_back(fmt::format("KL[z] of factor '{}'", name), factor.kl_z);
    tensors.emplace_back(fmt::format("KL[r] of factor '{}'", name), factor.kl_r);
    step.kl_z.push_back(factor.kl_z);
    step.kl_r.push_back(factor.kl_r);
    if (labels.defined()) step.label_log_likelihood.push_back(factor.label_log_likelihood);
  }
  step.gradient_norm =
      optimise(joint_loss(terms, parameters, labels, supervised), std::move(tensors), debug);
  torch::NoGradGuard no_gradient;
  prior.after_gradient(*model_, {x, labels, supervised, slots.named_rate, natural_gradient()});
  side_.join();
  add_step(sums_, step, model_->prior.size());
}

NaturalGradient Learner::natural_gradient() const {
  const auto batch = static_cast<double>(config_.train.batch_size);
  return {static_cast<double>(images_.count()) / batch, plans_.slots().step_size};
}

void Learner::swap_average() {
  if (!average_) return;
  average_->swap();
  model_->strategy().refresh(*model_);
}

void Learner::finish_prior() {
  facet::finish_prior(*model_, encoded_, labels_, config_.train, key_);
}

void Learner::clear_encodings() {
  encoded_.clear();
  graphs_.forget(kind_of(Phase::initialise, false));
}

void Learner::place_components() {
  const InitialiseOptions& options = config_.train.initialise;
  if (!model_->strategy().fits_encodings()) return model_->strategy().place(*model_, images_, key_);
  if (options.untangle && model_->prior.size() > 1) {
    untangle_factors(*model_, encoded_, key_.fold("coordinates"));
    adam_.reset();  // the moments and the encodings belong to the old coordinates
    clear_encodings();
  }
  facet::place_components(*model_, encoded_, images_.count(), options, key_.fold("components"));
}

}  // namespace facet
