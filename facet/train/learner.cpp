#include "facet/train/learner.h"

#include <fmt/format.h>

#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"
#include "facet/train/metrics.h"
#include "facet/train/refit.h"
#include "facet/train/step_cost.h"

namespace facet {

namespace {

std::shared_ptr<Vae> make_model(const Config& config, const Pack& pack, const Key& key,
                                torch::Device device) {
  require_memory(config, pack, device);
  auto model = std::make_shared<Vae>(config.model, pack.shape(), key.fold("model"));
  model->move_to(device);
  return model;
}

int64_t rank_count(const StepOptions& options) { return options.ranks ? options.ranks->size() : 1; }

int64_t kind_of(Phase phase, bool supervised) {
  return 2 * static_cast<int64_t>(phase) + (supervised ? 1 : 0);
}

}  // namespace

Learner::Learner(const Config& config, const Pack& pack, torch::Device device,
                 const StepOptions& options, const std::function<void(const std::string&)>& notice)
    : config_(with_batch_parts(with_value_names(config, pack), rank_count(options))),
      key_(static_cast<uint64_t>(config.seed)),
      model_(make_model(config_, pack, key_, device)),
      adam_(model_->parameters(), config.train.adam),
      gradients_(config_.train, *model_, adam_, options.ranks),
      images_(training_images(config, pack, device, options.stream_images, notice)),
      batches_(images_, key_.fold("batches"), config.train.batch_size),
      labels_(training_labels(config_, pack, images_, key_)),
      plans_(config_, key_, batches_, labels_, device),
      encoded_(*model_, images_, labels_.of_factors, config_, key_.fold("initialise"),
               gradients_.ranks()),
      sums_(make_sums(model_->prior.size(), device)),
      side_(device),
      graphs_(device, options.capture && !gradients_.ranks().through_host()) {
  if (const auto sentence = too_many_encodings(config_, images_.count()); sentence && notice)
    notice(*sentence);
  if (notice)
    for (const std::string& remark : label_remarks(config_, labels_)) notice(remark);
  PriorStrategy& prior = model_->strategy();
  prior.require_fit_steps(config_.model.prior, config_.train.initialise.steps);
  prior.begin(*model_, config_.train.adam, images_.count());
  use_kernels(notice);
  if (config_.train.average_decay > 0)
    average_.emplace(adam_, prior.has_own_components() ? &model_->prior : nullptr,
                     config_.train.average_decay);
}

void Learner::use_kernels(const std::function<void(const std::string&)>& notice) {
  if (const auto remark = cuda::fallback_remark(model_->device()); remark && notice)
    notice(*remark);
  if (config_.train.precision == "fp32") {
    if (notice && cuda::kernels_available(model_->device()))
      notice(
          "train.precision is fp32: LibTorch's convolutions compute; ours, which are several "
          "times as fast, need tf32 or bf16");
    return;
  }
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
  const int64_t kind = kind_of(phase, plan.supervised);
  DebugTensors& debug = debug_.begin_step(kind);
  graphs_.step(kind, [&] {
    plans_.advance();
    if (phase == Phase::pretrain) pretrain_step(debug);
    if (phase == Phase::initialise) initialise_step(debug);
    if (phase == Phase::joint) joint_step(plan.supervised, debug);
  });
  if (phase == Phase::joint && average_) average_->after_step(step);
}

std::optional<std::string> Learner::find_not_finite() const {
  const DebugTensors* const debug = debug_.last();
  if (debug == nullptr || is_finite(*debug)) return {};
  // All ranks come here. The tensor is one of the first rank that has any such.
  const std::string own = first_not_finite(debug->tensors);
  Ranks& ranks = gradients_.ranks();
  for (int64_t rank = 0; rank < ranks.size(); ++rank)
    if (const std::string name = ranks.broadcast(own, rank); !name.empty()) return name;
  const std::string name = first_not_finite(gradients_and_parameters(model_->parameters()));
  return name.empty() ? "the gradient's norm" : name;
}

torch::Tensor Learner::optimise(DebugTensors& debug) {
  torch::NoGradGuard no_gradient;
  const torch::Tensor& rate = plans_.slots().learning_rate;
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
  return norm;
}

torch::Tensor Learner::drawn_images(const Batches& batches, const torch::Tensor& chosen,
                                    const torch::Tensor& step, const BatchPart& part) const {
  return model_->likelihood().from_pixels(batches.draw(chosen, step, part));
}

torch::Tensor Learner::with_noise(const torch::Tensor& x, const Key& noise) const {
  const double stddev = config_.train.input_noise;
  if (stddev == 0) return x;
  return x + stddev * standard_normal(noise.fold("input"), x.sizes(), x.options());
}

void Learner::pretrain_step(DebugTensors& debug) {
  const StepSlots& slots = plans_.slots();
  const Key key = key_.fold(phase_name(Phase::pretrain)).at(slots.step);
  const auto part_terms = [&](const BatchPart& part) -> PartTerms {
    const torch::Tensor x = drawn_images(batches_, slots.images, slots.gradient_step, part);
    const Key noise = part.rows(key);
    const auto [encoding, z] = model_->encode_and_sample(with_noise(x, noise), noise);
    const torch::Tensor output = model_->decode(z);
    const torch::Tensor reconstruction = model_->likelihood().log_density(x, output);
    const torch::Tensor kl = standard_normal_kl(encoding);
    return {part.share(pretrain_loss(reconstruction, kl, slots.kl_weight)),
            {.reconstruction = reconstruction, .kl_z = {kl}},
            {{"the encoder's mean", encoding.mean},
             {"the encoder's log variance", encoding.log_variance},
             {"the decoder's output", output},
             {"the reconstruction term", reconstruction},
             {"KL[z]", kl}}};
  };
  StepTerms step = gradients_.compute(gradients_.own_parts(), debug, part_terms);
  step.gradient_norm = optimise(debug);
  side_.join();
  add_step(sums_, step, model_->prior.size());
}

void Learner::initialise_step(DebugTensors& debug) {
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
    const std::string& name = model_->prior.factors[i].name;
    NamedTensors seen = {{fmt::format("the encodings of factor '{}'", name), block.mean},
                         {fmt::format("KL[z] of factor '{}'", name), terms.kl_z},
                         {fmt::format("KL[r] of factor '{}'", name), terms.kl_r}};
    const torch::Tensor sum = (terms.kl_z + terms.kl_r).sum();
    debug.finite = i == 0 ? sum : debug.finite + sum;
    if (i == 0) debug.tensors.clear();
    debug.tensors.insert(debug.tensors.end(), seen.begin(), seen.end());
  }
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
