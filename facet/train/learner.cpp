#include "facet/train/learner.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/prior/certain.h"
#include "facet/prior/initialise.h"
#include "facet/prior/revive.h"
#include "facet/prior/untangle.h"
#include "facet/train/asking.h"
#include "facet/train/naming.h"

namespace facet {

namespace {

/// The part of a card's free memory that images may take; the rest is for the step.
constexpr double share_for_images = 0.7;

std::shared_ptr<Vae> make_model(const Config& config, const Pack& pack, const Key& key,
                                torch::Device device) {
  auto model = std::make_shared<Vae>(config.model, pack.shape(), key.fold("model"));
  model->move_to(device);
  return model;
}

ImageSet training_images(const Config& config, const Pack& pack, torch::Device device,
                         bool streamed, const std::function<void(const std::string&)>& notice) {
  const std::vector<Split> splits = parse_splits(config.data.train_splits);
  if (!streamed && device.is_cuda()) {
    const auto bytes = static_cast<double>(pack.indices(splits).numel() * pack.images[0].numel());
    const auto free = static_cast<double>(cuda::free_memory(device));
    streamed = bytes > share_for_images * free;
    if (streamed && notice)
      notice(
          fmt::format("the images ({:.1f} GB) do not fit beside the model into the card's free "
                      "memory ({:.1f} GB): they are sent to it batch by batch",
                      bytes * 1e-9, free * 1e-9));
  }
  return select_images(pack, splits, config.data, true, device, streamed);
}

std::vector<torch::Tensor> weights_of_values(const Config& config, const torch::Tensor& labels,
                                             const std::vector<int64_t>& columns) {
  std::vector<torch::Tensor> weights(columns.size());
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i] >= 0)
      weights[i] = value_weights(labels_of_factor(labels, i), config.model.factors[i].components,
                                 config.train.joint.balance);
  return weights;
}

/// An Error where there are steps of phase 2 for a prior that has no such phase, or fewer images
/// than it begins with.
void require_start(const Config& config, int64_t images) {
  const std::string& prior = config.model.prior;
  const int64_t components = config.model.factors.front().components;
  if (prior == "vamp" && components > images)
    throw Error({.doing = "training with",
                 .object = "model.prior vamp",
                 .found = fmt::format("{} components and {} images", components, images),
                 .expected = "at least as many images",
                 .cause = "each component begins at an image of its own"});
  if ((prior == "normal" || prior == "vamp") && config.train.initialise.steps > 0)
    throw Error({.doing = "training with",
                 .object = fmt::format("model.prior {}", prior),
                 .found = fmt::format("{} steps of phase 2", config.train.initialise.steps),
                 .expected = "train.initialise.steps at 0",
                 .cause = "this prior has no components to place among encodings"});
}

int64_t kind_of(Phase phase, bool supervised) {
  return 2 * static_cast<int64_t>(phase) + (supervised ? 1 : 0);
}

}  // namespace

Learner::Learner(const Config& config, const Pack& pack, torch::Device device,
                 const StepOptions& options, const std::function<void(const std::string&)>& notice)
    : config_(with_value_names(config, pack)),
      options_(options),
      device_(device),
      key_(static_cast<uint64_t>(config.seed)),
      model_(make_model(config_, pack, key_, device)),
      adam_(*model_, config.train.adam, device.is_cuda() && config.train.precision == "bf16"),
      label_columns_(find_label_columns(config_.model.factors, pack)),
      images_(training_images(config, pack, device, options.stream_images, notice)),
      batches_(images_, key_.fold("batches"), config.train.batch_size),
      labels_(factor_labels(images_.labels, label_columns_)),
      value_weights_(weights_of_values(config_, labels_, label_columns_)),
      labelled_(labelled_batches()),
      planner_(config_, key_, batches_, labelled_ ? &*labelled_ : nullptr, labels_),
      table_(config.train.batch_size, labelled_ ? config.train.joint.labelled_batch : 0, device),
      sums_(make_sums(model_->prior.size(), device)),
      side_(device),
      graphs_(device) {
  require_start(config_, images_.count());
  if (device.is_cuda()) choose_precision();
  using Moves = NamedPriorOptimizer::Moves;
  const Moves moves = config_.model.prior == "points" ? Moves::points : Moves::posterior;
  for (size_t i = 0; i < model_->prior.size(); ++i)
    if (moves_by_gradient(i, true))
      named_.try_emplace(model_->prior.factors[i].name, model_->prior.posteriors[i],
                         config_.train.adam, moves);
  if (config_.train.average_decay > 0)
    average_.emplace(adam_, model_->pseudo_inputs() ? nullptr : &model_->prior,
                     config_.train.average_decay);
}

bool Learner::moves_by_gradient(size_t factor, bool supervised) const {
  return config_.model.prior == "points" ||
         (config_.model.bayesian() && supervised && is_named(factor));
}

std::optional<Batches> Learner::labelled_batches() {
  const JointOptions& joint = config_.train.joint;
  if (joint.labelled_batch == 0 || !labels_.defined()) return {};
  const torch::Tensor known = labels_.ge(0).any(1).nonzero().squeeze(1);
  if (known.numel() == 0) return {};
  labelled_labels_ = labels_.index_select(0, known);
  ImageSet labelled = images_;
  labelled.pixels = images_.pixels.index_select(0, known.to(images_.pixels.device()));
  labelled.labels = images_.labels.index_select(0, known);
  labelled.augment = joint.augment_labelled;
  // Softened images are grey; the encoder knows black and white.
  if (labelled.augment) labelled.binarize_by_draw = config_.data.binarize != "none";
  return Batches(labelled, key_.fold("labelled batches"), joint.labelled_batch);
}

const StepPlan& Learner::next_plan(Phase phase, int64_t step) {
  const bool planned =
      planned_phase_ == phase && next_ < plans_.size() && plans_[next_].step == step;
  if (!planned) {
    const int64_t left = phase_steps(config_.train, phase) - step;
    const int64_t count = std::clamp<int64_t>(left, 1, PlanTable::capacity);
    plans_.clear();
    for (int64_t i = 0; i < count; ++i) plans_.push_back(planner_.plan(phase, step + i));
    table_.fill(plans_);
    planned_phase_ = phase;
    next_ = 0;
  }
  return plans_[next_++];
}

void Learner::step(Phase phase, int64_t step) {
  if (phase == Phase::initialise) cached_encodings();
  if (phase == Phase::joint) {
    if (step == 0) settle_components();
    revive_components(step);
  }
  const StepPlan& plan = next_plan(phase, step);
  if (phase != Phase::initialise) batches_.send(plan.images);
  if (plan.labelled.defined()) labelled_->send(plan.labelled);
  last_kind_ = kind_of(phase, plan.supervised);
  Trace& trace = traces_[last_kind_];
  const auto body = [&] {
    table_.advance();
    if (phase == Phase::pretrain) pretrain_step(trace);
    if (phase == Phase::initialise) initialise_step();
    if (phase == Phase::joint) joint_step(plan.supervised, trace);
  };
  if (options_.record)
    graphs_.step(last_kind_, body);
  else
    body();
  if (phase == Phase::joint) update_average(step);
}

void Learner::update_average(int64_t step) {
  if (!average_) return;
  if (step == 0) average_->start();
  if ((step + 1) % WeightAverage::stride == 0) average_->update();
}

std::optional<std::string> Learner::find_not_finite() const {
  const auto found = traces_.find(last_kind_);
  if (found == traces_.end()) return {};
  const Trace& trace = found->second;
  if (!trace.number.defined() || std::isfinite(trace.number.item<double>())) return {};
  NamedTensors tensors = trace.tensors;
  for (auto& entry : gradients_and_parameters(*model_)) tensors.push_back(entry);
  const std::string name = first_not_finite(tensors);
  return name.empty() ? "the gradient's norm" : name;
}

void Learner::choose_precision() {
  at::globalContext().setAllowTF32CuDNN(false);  // fp32 means float32, where LibTorch convolves
  if (config_.train.precision == "fp32" || !cuda::takes_stacks(device_)) return;
  model_->accelerate(
      config_.train.precision == "bf16"
          ? [this](const torch::Tensor& parameter) { return adam_.shadow_of(parameter); }
          : Shadows());
}

torch::Tensor Learner::optimise(const torch::Tensor& loss, NamedTensors trail, Trace& trace) {
  if (model_->accelerated())
    model_->begin_gradients();
  else
    adam_.zero_gradients();
  loss.backward();
  if (model_->accelerated()) model_->finish_gradients();
  torch::NoGradGuard no_gradient;
  const torch::Tensor& rate = table_.slots().learning_rate;
  trace.loss = loss.detach();
  torch::Tensor norm;
  if (adam_.shortens()) norm = adam_.gradient_norm();
  adam_.begin_step();
  // What comes next needs the moved encoder alone.
  side_.run([&] {
    torch::NoGradGuard no_gradient_there;
    if (!norm.defined()) norm = adam_.gradient_norm();
    adam_.move(adam_.range_of(model_->decoder()), rate, norm);
    trace.number = norm + trace.loss;
  });
  adam_.move(adam_.range_of(model_->encoder()), rate, norm);
  if (model_->pseudo_inputs())
    adam_.move(adam_.range_of(*model_->pseudo_inputs()), rate, norm, /*decays=*/false);
  for (auto& [name, tensor] : trail) tensor = tensor.detach();
  trace.tensors = std::move(trail);
  return norm;
}

torch::Tensor Learner::drawn_batch(const Batches& batches, const torch::Tensor& chosen,
                                   const torch::Tensor& step) const {
  return model_->likelihood().from_pixels(batches.drawn(chosen, step));
}

torch::Tensor Learner::seen(const torch::Tensor& x, const Key& noise) const {
  const double deviation = config_.train.input_noise;
  if (deviation == 0) return x;
  return x + deviation * standard_normal(noise.fold("input"), x.sizes(), x.options());
}

void Learner::pretrain_step(Trace& trace) {
  const StepSlots& slots = table_.slots();
  const torch::Tensor x = drawn_batch(batches_, slots.images, slots.gradient_step);
  const Key noise = key_.fold(phase_name(Phase::pretrain)).at(slots.step);
  const auto [encoding, z] = model_->encode_and_sample(seen(x, noise), noise);
  const torch::Tensor output = model_->decode(z);
  const torch::Tensor reconstruction = model_->likelihood().log_density(x, output);
  const torch::Tensor kl = standard_normal_kl(encoding);
  const torch::Tensor norm = optimise(pretrain_loss(reconstruction, kl, slots.kl_weight),
                                      {{"the encoder's mean", encoding.mean},
                                       {"the encoder's log variance", encoding.log_variance},
                                       {"the decoder's output", output},
                                       {"the reconstruction term", reconstruction},
                                       {"KL[z]", kl}},
                                      trace);
  side_.join();
  add_step(sums_, {.reconstruction = reconstruction, .gradient_norm = norm, .kl_z = {kl}},
           model_->prior.size());
}

void Learner::initialise_step() {
  torch::NoGradGuard no_gradient;
  const torch::Tensor& chosen = table_.slots().images;
  const torch::Tensor labels =
      encoding_labels_.defined() ? encoding_labels_.index_select(0, chosen) : torch::Tensor();
  StepTerms step;
  for (size_t i = 0; i < encodings_.size(); ++i) {
    const BlockEncoding block{encodings_[i].mean.index_select(0, chosen),
                              encodings_[i].variance.index_select(0, chosen)};
    FactorPosterior& posterior = model_->prior.posteriors[i];
    const torch::Tensor known = labels_of_factor(labels, i);
    const FactorTerms terms = factor_terms(block, posterior, known);
    step.kl_z.push_back(terms.kl_z);
    step.kl_r.push_back(terms.kl_r);
    natural_gradient_update(posterior, block, known, natural_gradient(chosen.size(0)),
                            model_->prior.hyperprior);
  }
  add_step(sums_, step, model_->prior.size());
}

std::vector<FactorParameters> Learner::tracked_parameters(bool supervised) {
  std::vector<FactorParameters> parameters(model_->prior.size());
  if (model_->pseudo_inputs()) parameters.front() = model_->pseudo_components();
  for (size_t i = 0; i < parameters.size(); ++i)
    if (moves_by_gradient(i, supervised))
      parameters[i] = named_.at(model_->prior.factors[i].name).track(model_->prior.posteriors[i]);
  return parameters;
}

torch::Tensor Learner::labelled_batch_loss(const std::vector<FactorParameters>& parameters) {
  const StepSlots& slots = table_.slots();
  const Encoding encoding = model_->encode(drawn_batch(*labelled_, slots.labelled, slots.step));
  const torch::Tensor labels = labelled_labels_.index_select(0, slots.labelled);
  return label_loss(model_->prior, encoding, parameters, labels, value_weights_);
}

torch::Tensor Learner::joint_loss(const BoundTerms& terms,
                                  const std::vector<FactorParameters>& parameters,
                                  const torch::Tensor& labels, bool supervised) {
  const StepSlots& slots = table_.slots();
  const torch::Tensor label_weight =
      supervised && !labelled_ ? slots.label_weight : torch::Tensor();
  torch::Tensor loss = batch_loss(terms, labels, {slots.kl_weight, label_weight, value_weights_});
  if (!supervised) return loss;
  if (labelled_) loss = loss + slots.label_weight * labelled_batch_loss(parameters);
  if (config_.train.joint.asked_weight > 0)
    loss = loss + config_.train.joint.asked_weight *
                      asked_loss(*model_, key_.fold("asked").at(slots.step), slots.images.size(0));
  if (!config_.model.bayesian()) return loss;
  // The hyperprior's lines matter for parameters that move by first-order gradients.
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!is_named(i)) continue;
    const HyperpriorKl kl = hyperprior_kl(parameters[i], model_->prior.hyperprior);
    loss = loss + (kl.components.sum() + kl.weights) / static_cast<double>(images_.count());
  }
  return loss;
}

void Learner::joint_step(bool supervised, Trace& trace) {
  const StepSlots& slots = table_.slots();
  const torch::Tensor x = drawn_batch(batches_, slots.images, slots.gradient_step);
  const torch::Tensor labels =
      labels_.defined() ? labels_.index_select(0, slots.images) : torch::Tensor();
  const Key noise = key_.fold(phase_name(Phase::joint)).at(slots.step);
  const std::vector<FactorParameters> parameters = tracked_parameters(supervised);
  const BoundTerms terms = bound_terms(*model_, parameters, x, seen(x, noise), labels, noise);
  NamedTensors trail = {{"the encoder's mean", terms.encoding.mean},
                        {"the encoder's log variance", terms.encoding.log_variance},
                        {"the reconstruction term", terms.reconstruction}};
  for (size_t i = 0; i < terms.factors.size(); ++i) {
    const std::string& name = model_->prior.factors[i].name;
    trail.emplace_back(fmt::format("KL[z] of factor '{}'", name), terms.factors[i].kl_z);
    trail.emplace_back(fmt::format("KL[r] of factor '{}'", name), terms.factors[i].kl_r);
  }
  StepTerms step;
  step.gradient_norm =
      optimise(joint_loss(terms, parameters, labels, supervised), std::move(trail), trace);
  step.reconstruction = terms.reconstruction;
  step.labels = labels;
  for (const FactorTerms& factor : terms.factors) {
    step.kl_z.push_back(factor.kl_z);
    step.kl_r.push_back(factor.kl_r);
    if (labels.defined()) step.label_log_likelihood.push_back(factor.label_log_likelihood);
  }

  move_components(x, labels, supervised);
  side_.join();
  add_step(sums_, step, model_->prior.size());
}

void Learner::move_components(const torch::Tensor& x, const torch::Tensor& labels,
                              bool supervised) {
  torch::NoGradGuard no_gradient;
  FactorialMixture& prior = model_->prior;
  std::vector<bool> moves(prior.size());
  for (size_t i = 0; i < prior.size(); ++i) {
    if (moves_by_gradient(i, supervised))
      named_.at(prior.factors[i].name).step(prior.posteriors[i], table_.slots().named_rate);
    else
      moves[i] = config_.model.bayesian();
  }
  if (model_->pseudo_inputs()) encode_pseudo_inputs();
  if (!config_.model.bayesian()) return;
  const Encoding moved = model_->encode(x);
  natural_gradient_update(prior, moved.mean, moved.log_variance, labels,
                          natural_gradient(x.size(0)), moves);
}

NaturalGradient Learner::natural_gradient(int64_t batch) const {
  return {static_cast<double>(images_.count()) / static_cast<double>(batch),
          table_.slots().step_size};
}

void Learner::encode_pseudo_inputs() {
  torch::NoGradGuard no_gradient;
  const FactorParameters encoded = model_->pseudo_components();
  model_->prior.posteriors.front().assign(
      FactorPosterior::from_mean(encoded.components, encoded.counts));
}

void Learner::swap_average() {
  if (!average_) return;
  average_->swap();
  if (model_->pseudo_inputs()) encode_pseudo_inputs();
}

void Learner::settle_components() {
  torch::NoGradGuard no_gradient;
  for (FactorPosterior& posterior : model_->prior.posteriors) {
    const torch::Tensor& like = posterior.components.alpha;  // [K, D]
    if (config_.model.prior == "points") posterior.assign(without_doubt(posterior));
    if (config_.model.prior == "normal")
      posterior.assign(certain_posterior(torch::zeros_like(like), torch::ones_like(like),
                                         torch::ones_like(posterior.counts)));
  }
}

void Learner::revive_components(int64_t step) {
  const JointOptions& joint = config_.train.joint;
  if (!config_.model.bayesian() || joint.revive_every == 0 || step <= joint.hold_steps ||
      step % joint.revive_every != 0 || 4 * step > 3 * joint.steps)
    return;
  const Key key =
      key_.fold(phase_name(Phase::joint)).fold(static_cast<uint64_t>(step)).fold("revive");
  for (size_t i = 0; i < model_->prior.size(); ++i) {
    if (is_named(i)) continue;
    FactorPosterior revived = model_->prior.posteriors[i];
    if (revive_dead_components(key.fold(i), revived, model_->prior.hyperprior) > 0)
      model_->prior.posteriors[i].assign(revived);
  }
}

const std::vector<BlockEncoding>& Learner::cached_encodings() {
  if (!encodings_.empty()) return encodings_;
  torch::NoGradGuard no_gradient;
  const int64_t count = encoded_images(config_.train.initialise, images_.count());
  const Key key = key_.fold("initialise");
  const torch::Tensor chosen = permutation(key, images_.count()).narrow(0, 0, count);
  std::vector<torch::Tensor> means, variances;
  for (const torch::Tensor& slice : chosen.split(500)) {
    const torch::Tensor pixels = images_.draw(slice, key.fold(means.size()));
    const Encoding encoding = model_->encode(model_->likelihood().from_pixels(pixels));
    means.push_back(encoding.mean);
    variances.push_back(encoding.variance());
  }
  encodings_ = model_->prior.split(torch::cat(means), torch::cat(variances));
  if (labels_.defined()) encoding_labels_ = labels_.index_select(0, chosen.to(device_));
  return encodings_;
}

void Learner::forget_encodings() {
  encodings_.clear();
  encoding_labels_ = torch::Tensor();
  graphs_.forget(kind_of(Phase::initialise, false));
}

torch::Tensor Learner::known_labels(size_t factor) const {
  const torch::Tensor labels = labels_of_factor(encoding_labels_, factor);
  return labels.defined() && labels.ge(0).any().item<bool>() ? labels : torch::Tensor();
}

void Learner::untangle_factors() {
  torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> means, variances;
  std::vector<BlockPlan> blocks;
  for (const BlockEncoding& block : cached_encodings()) {
    means.push_back(block.mean);
    variances.push_back(block.variance);
    const size_t factor = blocks.size();
    blocks.push_back(
        {block.mean.size(1), model_->prior.factors[factor].components, known_labels(factor)});
  }
  const Coordinates coordinates = untangle(key_.fold("coordinates"), torch::cat(means, 1), blocks);
  const torch::Tensor variance = torch::cat(variances, 1).mean(0);  // [Z]
  const torch::Tensor moved = coordinates.transform.square().matmul(variance);
  model_->change_coordinates(coordinates, torch::log(moved));
  adam_.reset();       // its moments are of the old coordinates
  forget_encodings();  // so are they
}

void Learner::place_components() {
  if (config_.model.prior == "normal") return;
  if (config_.model.prior == "vamp") {
    const torch::Tensor order = permutation(key_.fold("components"), images_.count());
    const int64_t count = model_->prior.factors.front().components;
    const torch::Tensor chosen = order.narrow(0, 0, count);
    model_->pseudo_inputs()->start_at(images_.draw(chosen, key_.fold("pseudo-inputs")));
    return;
  }
  if (config_.train.initialise.untangle && model_->prior.size() > 1) untangle_factors();
  const auto& encodings = cached_encodings();
  torch::NoGradGuard no_gradient;
  for (size_t i = 0; i < encodings.size(); ++i) {
    const int64_t components = model_->prior.factors[i].components;
    const torch::Tensor labels = known_labels(i);
    model_->prior.posteriors[i].assign(
        labels.defined()
            ? labelled_posterior(encodings[i], labels, components, images_.count(),
                                 model_->prior.hyperprior)
            : initial_posterior(key_.fold("components").fold(i), encodings[i], components,
                                images_.count(), config_.train.initialise.kmeans_iterations,
                                model_->prior.hyperprior));
  }
}

}  // namespace facet
