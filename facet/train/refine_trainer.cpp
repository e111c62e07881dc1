#include "facet/train/refine_trainer.h"

#include <algorithm>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/train/gpu_error.h"

namespace facet {

namespace {

constexpr const char* refiner_state_format = "facet-refiner-state-3";

const Pack& of_the_models_shape(const Pack& pack, const LoadedRun& run) {
  const std::string& path = run.config.data.pack;
  require_shape(pack, *run.model, path.empty() ? "built-in portraits" : path);
  return pack;
}

RefineConfig with_parts(RefineConfig config, const StepOptions& options) {
  if (config.batch_parts == 0) config.batch_parts = options.ranks ? options.ranks->size() : 1;
  return config;
}

}  // namespace

RefineTrainer::RefineTrainer(const RefineConfig& config, const LoadedRun& run, const Pack& pack,
                             bool resume, RefineCallbacks callbacks, const StepOptions& options)
    : config_(with_parts(config, options)),
      folder_(run.folder),
      callbacks_(std::move(callbacks)),
      device_(run.model->device()),
      learner_(config_, run.config, run.model, of_the_models_shape(pack, run), options,
               callbacks_.notice),
      ranks_(learner_.ranks()),
      data_(fingerprint(pack)) {
  ranks_.agree("the config", write_options(config_).dump(2));
  ranks_.agree("the data", data_);
  ranks_.agree("the model", refiner()->model());
  const int64_t lines = resume ? continue_refiner() : 0;
  if (!resume && ranks_.first()) {
    // A kill before the first checkpoint must not leave the state of another refiner.
    std::filesystem::remove(folder_.refiner_state());
    std::filesystem::remove(folder_.refiner_previous_state());
  }
  if (ranks_.first()) {
    write_text(folder_.refiner_config(), write_options(config_).dump(2) + "\n",
               "saving the refiner's config");
    metrics_ = std::make_unique<MetricsFile>(folder_.refiner_metrics(), lines);
    events_ = std::make_unique<EventFile>(folder_.refiner_events());
  }
  if (!resume) save();
}

int64_t RefineTrainer::continue_refiner() {
  const int64_t lines = restore();
  if (step_ > config_.steps)
    Attempt{"resuming the refiner of", folder_.path.string()}.fail(
        fmt::format("{} steps", step_), fmt::format("at most {}", config_.steps));
  // And nobody writes before all have read.
  ranks_.agree("the checkpoint", fmt::format("step {}", step_));
  return lines;
}

int64_t RefineTrainer::restore() {
  try {
    return restore_from(folder_.refiner_state());
  } catch (const Error& newest) {
    if (!std::filesystem::exists(folder_.refiner_previous_state())) throw;
    int64_t lines = 0;
    try {
      lines = restore_from(folder_.refiner_previous_state());
    } catch (const Error&) {
      throw Error(newest);  // what is wrong with both, or with the data
    }
    if (callbacks_.notice && std::filesystem::exists(folder_.refiner_state()))
      callbacks_.notice(fmt::format("going on from the checkpoint before the last, at step {}: {}",
                                    step_, newest.what()));
    return lines;
  }
}

int64_t RefineTrainer::restore_from(const std::filesystem::path& path) {
  torch::NoGradGuard no_gradient;
  const std::string object = path.string();
  const Attempt resuming{"resuming the refiner of", folder_.path.string()};
  const TensorFile file = read_safetensors(path, "reading a checkpoint");
  const auto metadata = [&](const char* key) {
    const auto found = file.metadata.find(key);
    return found == file.metadata.end() ? std::string() : found->second;
  };
  if (metadata("format") != refiner_state_format)
    resuming.fail(fmt::format("a state of format '{}'", metadata("format")),
                  fmt::format("'{}'", refiner_state_format),
                  "was it begun by an earlier version? --overwrite begins anew");
  if (metadata("model") != refiner()->model())
    resuming.fail("a refiner of another model", "that of this one",
                  "was the run trained further? --overwrite begins anew");
  if (metadata("data") != data_)
    resuming.fail(data_, fmt::format("the data that it was begun with, {}", metadata("data")),
                  "was the pack made anew or replaced?");
  for (const auto& [name, tensor] : file.tensors)
    if (tensor.is_floating_point() && !first_not_finite({{name, tensor}}).empty())
      resuming.fail(fmt::format("NaN or infinity in {}", name), "finite numbers",
                    "did training diverge?");
  for (const auto& [name, parameter] : refiner()->parameters())
    parameter.copy_(file.get("network." + name, kFloat32, parameter.sizes(), object));
  Adam& adam = learner_.adam();
  const std::vector<int64_t> flat = adam.parameters().sizes().vec();
  const auto numbers = to_integers(file.get("progress", kInt64, {4}, object));
  if (*std::min_element(numbers.begin(), numbers.end()) < 0)
    resuming.fail("negative numbers of steps", "a state", "is the file damaged?");
  adam.restore(numbers[3], {file.get("adam.first", kFloat32, flat, object),
                            file.get("adam.second", kFloat32, flat, object)});
  adam.from_order(learner_.average(), file.get("average", kFloat32, flat, object));
  learner_.sums().copy_(file.get("metrics.sums", kFloat64, {3}, object));
  step_ = saved_step_ = numbers[0];
  logged_step_ = numbers[1];
  require_metrics(folder_.refiner_metrics(), {numbers[2], metadata("metrics")});
  return numbers[2];
}

void RefineTrainer::require_finite() const {
  const auto name = learner_.find_not_finite();
  if (!name) return;
  throw NotFinite(
      {.doing = fmt::format("refining, step {}, run", step_),
       .object = folder_.path.string(),
       .found = fmt::format("NaN or infinity in {}", *name),
       .expected = "finite numbers",
       .cause = fmt::format("is the learning rate too high? The last good checkpoint, at "
                            "step {}, is unchanged",
                            saved_step_)});
}

void RefineTrainer::log() {
  ranks_.barrier();
  require_finite();
  const auto count = static_cast<double>(step_ - logged_step_);
  const std::vector<double> sums = to_doubles(learner_.sums());
  const RefineReport report{step_,           config_.steps,   sums[0] / count,
                            sums[1] / count, sums[2] / count, config_.rate_at(step_ - 1)};
  learner_.sums().zero_();
  logged_step_ = step_;
  if (!ranks_.first()) return;
  metrics_->write({{"step", report.step},
                   {"loss", report.loss},
                   {"latent_loss", report.latent_loss},
                   {"gradient_norm", report.gradient_norm},
                   {"learning_rate", report.learning_rate}});
  events_->scalar("refiner/loss", step_, report.loss);
  events_->scalar("refiner/latent_loss", step_, report.latent_loss);
  events_->scalar("refiner/gradient_norm", step_, report.gradient_norm);
  events_->scalar("refiner/learning_rate", step_, report.learning_rate);
  events_->flush();
  if (callbacks_.report) callbacks_.report(report);
}

void RefineTrainer::write_state() {
  metrics_->sync();
  const Adam& adam = learner_.adam();
  TensorFile file;
  for (const auto& [name, tensor] : refiner()->parameters())
    file.tensors["network." + name] = tensor.detach();
  file.tensors["adam.first"] = adam.moments().first;
  file.tensors["adam.second"] = adam.moments().second;
  file.tensors["average"] = adam.in_order(learner_.average());
  file.tensors["metrics.sums"] = learner_.sums();
  file.tensors["progress"] =
      torch::tensor({step_, logged_step_, metrics_->mark().lines, adam.steps()}, kInt64);
  file.metadata = {{"format", refiner_state_format},
                   {"data", data_},
                   {"model", refiner()->model()},
                   {"metrics", metrics_->mark().checksum}};
  AtomicFile output(folder_.refiner_state(), "saving a checkpoint");
  write_safetensors(output, file, "saving a checkpoint");
  output.commit_keeping(folder_.refiner_previous_state());
}

void RefineTrainer::save() {
  ranks_.barrier();  // no rank was lost in what is saved
  NamedTensors tensors = gradients_and_parameters(refiner()->parameters());
  tensors.emplace_back("the averaged weights", learner_.average());
  tensors.emplace_back("Adam's moments", learner_.adam().moments().second);
  if (const std::string name = first_not_finite(tensors); !name.empty())
    throw NotFinite({.doing = "saving a checkpoint of",
                     .object = folder_.path.string(),
                     .found = fmt::format("NaN or infinity in {}", name),
                     .expected = "finite numbers",
                     .cause = "the last good checkpoint is unchanged"});
  if (ranks_.first()) write_state();
  learner_.swap_average();
  if (ranks_.first()) write_refiner(folder_.refiner(), *refiner());
  if (callbacks_.saved && step_ > 0) callbacks_.saved(refiner());
  learner_.swap_average();
  saved_step_ = step_;
}

bool RefineTrainer::run() {
  try {
    return run_steps();
  } catch (const RankLost& lost) {
    throw RankLost(
        fmt::format("{} (the last good checkpoint, at step {}, is unchanged; continue "
                    "with: facet refine {} --resume)",
                    lost.what(), saved_step_, folder_.path.string()));
  } catch (const c10::Error& error) {
    // Nothing can be saved from a failed GPU.
    if (!is_gpu_error(error.what_without_backtrace())) throw;
    throw_gpu_error(error, fmt::format("refining, step {}, run", step_), folder_.path.string(),
                    fmt::format("step {}", saved_step_),
                    fmt::format("facet refine {} --resume", folder_.path.string()));
  }
}

bool RefineTrainer::run_steps() {
  if (step_ == config_.steps) save();  // a kill between state and refiner left an older refiner
  while (step_ < config_.steps) {
    if (any_rank_stops(ranks_, device_, step_, callbacks_.stop)) {
      save();
      return false;
    }
    learner_.step(step_++);
    // The check waits for the GPU, so there it is only made when a metrics line is due.
    if (device_.is_cpu()) require_finite();
    const bool last = step_ == config_.steps;
    if (last || step_ % config_.log_every == 0) log();
    if (last || (config_.checkpoint_every > 0 && step_ % config_.checkpoint_every == 0)) save();
  }
  return true;
}

}  // namespace facet
