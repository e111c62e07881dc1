#include "facet/train/trainer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "facet/core/checksum.h"
#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/eval/bounds.h"
#include "facet/model/model_file.h"
#include "facet/train/gpu_error.h"
#include "facet/train/progress_pictures.h"

namespace facet {

namespace {

std::optional<ImageSet> valid_images(const Pack& pack, const Config& config, torch::Device device) {
  const auto& trained = config.data.train_splits;
  const bool trained_on = std::find(trained.begin(), trained.end(), "valid") != trained.end();
  if (trained_on || !pack.split.eq(static_cast<int64_t>(Split::valid)).any().item<bool>())
    return std::nullopt;
  return select_images(pack, {Split::valid}, config.data, false, device);
}

/// One line per option, "train.batch_size=64".
std::string option_lines(const Config& config) {
  const Json options = write_options(config).flatten();
  std::string lines;
  for (const auto& [path, value] : options.items()) {
    std::string key = path.substr(1);
    std::replace(key.begin(), key.end(), '/', '.');
    lines += fmt::format("{}={}\n", key, value.dump());
  }
  return lines;
}

TrainedOn trained_on(const Pack& pack, const Config& config) {
  TrainedOn data{.images = fingerprint(pack)};
  const auto& factors = config.model.factors;
  if (std::any_of(factors.begin(), factors.end(), [](const auto& each) { return each.named(); })) {
    const torch::Tensor labels = pack.labels.contiguous();
    data.labels = checksum_of(labels.data_ptr(), labels.nbytes());
  }
  return data;
}

}  // namespace

Trainer::Trainer(const Config& config, const Pack& pack, const RunFolder& folder,
                 torch::Device device, bool resume, TrainingCallbacks callbacks,
                 const StepOptions& options)
    : folder_(folder),
      callbacks_(std::move(callbacks)),
      device_(device),
      learner_(config, pack, device, options, callbacks_.notice),
      ranks_(learner_.ranks()),
      options_(learner_.config().train),
      valid_(valid_images(pack, config, device)),
      properties_(pack.properties),
      data_(trained_on(pack, config)) {
  progress_.sums = learner_.sums();
  progress_.state = learner_.state();
  Config same_everywhere = learner_.config();
  same_everywhere.data.pack.clear();  // may have another path
  ranks_.agree("the config", option_lines(same_everywhere));
  ranks_.agree("the data", data_.images + data_.labels);
  if (resume) {
    restore();
  } else if (ranks_.first()) {
    RunFolder::create(folder_.path);  // only now, when the config has been checked
    write_config();
  }
  if (ranks_.first()) {
    metrics_ = std::make_unique<MetricsFile>(folder_.metrics(), progress_.metrics.lines);
    best_ = BestBound(folder_.metrics());
    events_ = std::make_unique<EventFile>(folder_.events());
  }
  last_checkpoint_ = position_text();
  if (!resume) save();  // so that a run has a state even if its first step fails
}

void Trainer::restore_from(const std::filesystem::path& path) {
  torch::NoGradGuard no_gradient;
  Progress saved = read_checkpoint(path, learner_.model(), learner_.adam(), learner_.average(),
                                   progress_.state, data_);
  if (saved.sums.numel() != learner_.sums().numel())
    throw Error({.doing = "reading tensor 'metrics.sums' of",
                 .object = path.string(),
                 .found = fmt::format("{} numbers", saved.sums.numel()),
                 .expected = fmt::format("{}", learner_.sums().numel()),
                 .cause = "is the file damaged?"});
  require_metrics(folder_.metrics(), saved.metrics);
  learner_.sums().copy_(saved.sums);
  saved.sums = learner_.sums();
  progress_ = saved;
}

void Trainer::restore_newest() {
  try {
    return restore_from(folder_.state());
  } catch (const Error& newest) {
    if (!std::filesystem::exists(folder_.previous_state())) throw;
    try {
      restore_from(folder_.previous_state());
    } catch (const Error&) {
      throw Error(newest);  // what is wrong with both, or with the data
    }
    if (callbacks_.notice && std::filesystem::exists(folder_.state()))
      callbacks_.notice(fmt::format("going on from the checkpoint before the last, at {}: {}",
                                    position_text(), newest.what()));
  }
}

void Trainer::restore() {
  restore_newest();
  const Config begun = read_saved_config(folder_.config());
  const int64_t planned = progress_.joint_steps.value_or(begun.train.joint.steps);
  const int64_t most =
      progress_.phase == Phase::done ? planned : phase_steps(begun.train, progress_.phase);
  if (progress_.phase != Phase::joint && progress_.step > most)
    Attempt{"reading a checkpoint", folder_.state().string()}.fail(
        position_text(), fmt::format("at most step {}", most), "is the file damaged?");
  ranks_.agree("the checkpoint", position_text());  // and nobody writes before all have read
  extend(planned);
  const bool divided_otherwise =
      options_.batch_parts != begun.train.batch_parts || options_.reduce != begun.train.reduce;
  if (divided_otherwise && ranks_.first()) write_config();
}

void Trainer::write_config() const {
  write_text(folder_.config(), write_options(learner_.config()).dump(2) + "\n",
             "saving the config");
}

void Trainer::extend(int64_t before) {
  const int64_t now = options_.joint.steps;
  if (progress_.phase == Phase::done) {
    // States of version 0.1 do not say how many steps a finished run has.
    const int64_t taken = progress_.step > 0 ? progress_.step : before;
    if (now <= before) return;
    progress_.phase = Phase::joint;
    progress_.step = taken;
    progress_.sums.zero_();
    if (ranks_.first()) std::filesystem::remove(folder_.evaluation());  // it has to be made again
  }
  if (progress_.phase == Phase::joint && now < progress_.step)
    Attempt{"continuing the run in", folder_.path.string()}.fail(
        fmt::format("{} joint steps", progress_.step),
        fmt::format("at most train.joint.steps = {}", now));
  if (now == before) return;
  if (ranks_.first()) write_config();
  if (callbacks_.notice)
    callbacks_.notice(fmt::format(
        "the joint phase has {} steps now, not {}: the learning rate and other schedules that span "
        "it are stretched from here on",
        now, before));
}

std::string Trainer::position_text() const {
  return fmt::format("step {} of phase {}", progress_.step, phase_name(progress_.phase));
}

void Trainer::require_finite() const {
  const auto name = learner_.find_not_finite();
  if (!name) return;
  fail_not_finite(*name);
}

void Trainer::fail_not_finite(const std::string& name) const {
  throw NotFinite(
      {.doing = fmt::format("training, {}, run", position_text()),
       .object = folder_.path.string(),
       .found = fmt::format("NaN or infinity in {}", name),
       .expected = "finite numbers",
       .cause = fmt::format(
           "is the learning rate too high? The last good checkpoint, at {}, is unchanged",
           last_checkpoint_)});
}

void Trainer::fail_on_gpu(const c10::Error& error) const {
  throw_gpu_error(error, fmt::format("training, {}, run", position_text()), folder_.path.string(),
                  last_checkpoint_,
                  fmt::format("facet train --out {} --resume", folder_.path.string()));
}

void Trainer::enter(Phase phase) {
  if (progress_.phase == phase) return;
  progress_.phase = phase;
  if (phase == Phase::done) return;  // the number of joint steps is kept
  progress_.step = 0;
  progress_.sums.zero_();
  if (phase != Phase::initialise) learner_.clear_encodings();
}

void Trainer::step(Phase phase) {
  enter(phase);
  learner_.step(phase, progress_.step);
  ++progress_.step;
  // The check waits for the GPU, so there it is only made when a metrics line is due.
  if (device_.is_cpu()) return require_finite();
  if (progress_.step % options_.log_every != 0) return;
  ranks_.barrier();  // a GPU may wait for a lost rank: only here that has a time-out
  require_finite();
}

void Trainer::log(const StepReport& report) {
  if (!ranks_.first()) return;
  const Json record = to_record(report);
  metrics_->write(record);
  for (const auto& [name, value] : record.items())
    if (value.is_number() && name != "step")
      events_->scalar("train/" + name, report.total_step, value.get<double>());
  for (const StepReport::Factor& factor : report.factors)
    events_->scalar("living/" + factor.name, report.total_step, static_cast<double>(factor.living));
  events_->flush();
  if (callbacks_.report) callbacks_.report(report);
}

void Trainer::swap_average() {
  const bool begun = progress_.phase == Phase::done
                         ? options_.joint.steps > 0
                         : progress_.phase == Phase::joint && progress_.step > 0;
  if (begun) learner_.swap_average();
}

void Trainer::evaluate_valid(const StepReport& report) {
  swap_average();
  // Other ranks evaluate too: those who waited meanwhile could take the first for lost.
  const Evaluation evaluation = evaluate(learner_.model(), *valid_, properties_, "valid", {});
  if (!std::isfinite(evaluation.elbo)) fail_not_finite("the bound on valid images");
  last_train_bound_ = report.elbo;
  last_valid_bound_ = evaluation.elbo;
  if (best_.add(evaluation.elbo, report.step) && options_.keep_best && ranks_.first())
    write_model(folder_.best(), learner_.model());
  swap_average();
  if (!ranks_.first()) return;
  metrics_->write(
      {{"phase", phase_name(report.phase)}, {"step", report.step}, {"valid", to_json(evaluation)}});
  events_->scalar("valid/elbo", report.total_step, evaluation.elbo);
  events_->flush();
  if (callbacks_.evaluated) callbacks_.evaluated(evaluation, report);
}

void Trainer::save() {
  ranks_.barrier();  // no rank was lost in what is saved
  // A state with a NaN must not replace a good one.
  const Vae& model = learner_.model();
  NamedTensors tensors = gradients_and_parameters(model.parameters());
  for (size_t i = 0; i < model.prior.size(); ++i) {
    // Logarithms, because s, a, b and c must also be positive.
    const FactorParameters prior = model.prior.posteriors[i].parameters();
    const std::string name = fmt::format("the prior of factor '{}'", model.prior.factors[i].name);
    tensors.emplace_back(name, prior.components.m);
    for (const torch::Tensor& positive :
         {prior.components.s, prior.components.a, prior.components.b, prior.counts})
      tensors.emplace_back(name, torch::log(positive));
  }
  if (const std::string name = first_not_finite(tensors); !name.empty()) fail_not_finite(name);
  if (ranks_.first()) {
    draw_progress();
    metrics_->sync();
    progress_.metrics = metrics_->mark();
    progress_.joint_steps = options_.joint.steps;
    write_checkpoint(folder_, model, learner_.adam(), learner_.average(), progress_, data_);
  }
  last_checkpoint_ = position_text();
  if (!ranks_.first()) return;
  swap_average();
  write_model(folder_.model(), model);
  swap_average();
}

/// Before the checkpoint of the same step, so that a killed run, which is resumed there, has it.
void Trainer::draw_progress() {
  const Phase phase = progress_.phase;
  if (phase == Phase::done || progress_.step == 0 || !due(progress_interval(options_, phase)))
    return;
  swap_average();
  write_progress_picture(folder_, learner_.model(), {phase, progress_.step});
  swap_average();
}

bool Trainer::stopped() {
  if (!any_rank_stops(ranks_, device_, progress_.step, callbacks_.stop)) return false;
  save();
  return true;
}

bool Trainer::out_of_patience() const {
  if (options_.patience == 0 || best_.evaluations_since() < options_.patience) return false;
  if (callbacks_.notice)
    callbacks_.notice(fmt::format(
        "stopping at joint step {}: {} evaluations without a better bound on valid images than "
        "{:.2f} at step {}",
        progress_.step, best_.evaluations_since(), best_.value(), best_.step()));
  return true;
}

std::optional<std::string> Trainer::overfitting() const {
  constexpr double much = 0.1;  // of the bound
  const double gap = last_train_bound_ - last_valid_bound_;
  if (last_valid_bound_ == 0 || gap < much * std::abs(last_train_bound_)) return std::nullopt;
  std::string sentence = fmt::format(
      "overfitting: the bound is {:.1f} on training images and {:.1f} on valid ones; more images, "
      "weight decay (train.adam.weight_decay) or fewer steps help",
      last_train_bound_, last_valid_bound_);
  if (options_.keep_best && best_.value() > last_valid_bound_)
    sentence += fmt::format("; the model of step {} with {:.1f} is in best.safetensors",
                            best_.step(), best_.value());
  return sentence;
}

bool Trainer::due(int64_t every) const {
  return every > 0 &&
         (progress_.step % every == 0 || progress_.step == phase_steps(options_, progress_.phase));
}

/// Runs the rest of the phase; false if it was stopped.
bool Trainer::run_phase() {
  const Phase phase = progress_.phase;
  if (phase == Phase::initialise && progress_.step == 0) {
    if (stopped()) return false;
    if (callbacks_.notice) callbacks_.notice("initialising the components by k-means");
    place_components();
  }
  while (progress_.step < phase_steps(options_, phase)) {
    // Not between the initialisation and the first step: a resumed run would initialise again.
    const bool just_initialised = phase == Phase::initialise && progress_.step == 0;
    if (!just_initialised && stopped()) return false;
    step(phase);
    const bool evaluation_due = valid_ && phase == Phase::joint && due(options_.evaluate_every);
    if (due(options_.log_every) || evaluation_due) {
      ranks_.barrier();
      const StepReport report = take_report(options_, progress_, learner_.model(), image_count());
      log(report);
      if (evaluation_due) evaluate_valid(report);
      // The first rank knows the evaluations before a run was resumed.
      if (evaluation_due && ranks_.any(ranks_.first() && out_of_patience())) return true;
    }
    if (due(options_.checkpoint_every)) save();
  }
  return true;
}

bool Trainer::run() {
  try {
    while (progress_.phase != Phase::done) {
      if (!run_phase()) return false;
      enter(static_cast<Phase>(static_cast<int64_t>(progress_.phase) + 1));
    }
    save();
    swap_average();
    learner_.finish_prior();
    ranks_.barrier();
    if (ranks_.first()) {
      write_model(folder_.model(), learner_.model());
      if (options_.joint.steps > 0)
        write_progress_picture(folder_, learner_.model(), {Phase::joint, progress_.step});
    }
  } catch (const RankLost& lost) {
    throw RankLost(
        fmt::format("{} (the last good checkpoint, at {}, is unchanged; continue with: "
                    "facet train --out {} --resume)",
                    lost.what(), last_checkpoint_, folder_.path.string()));
  } catch (const c10::Error& error) {
    // Nothing can be saved from a failed GPU.
    if (is_gpu_error(error.what_without_backtrace())) fail_on_gpu(error);
    throw;
  }
  return true;
}

}  // namespace facet
