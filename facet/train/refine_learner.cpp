#include "facet/train/refine_learner.h"

#include <algorithm>
#include <cmath>

#include "facet/core/torch.h"
#include "facet/model/fingerprint.h"
#include "facet/train/training_data.h"

namespace facet {

namespace {

/// Steps between updates of the average.
constexpr int64_t average_stride = 4;

std::shared_ptr<Refiner> new_refiner(const RefineConfig& config, const Vae& model, const Key& key) {
  auto refiner = std::make_shared<Refiner>(config.network, model.shape(), fingerprint(model),
                                           key.fold("network"));
  refiner->move_to(model.device());
  return refiner;
}

}  // namespace

RefineLearner::RefineLearner(const RefineConfig& config, const Config& run,
                             std::shared_ptr<Vae> model, const Pack& pack,
                             const StepOptions& options,
                             const std::function<void(const std::string&)>& notice)
    : config_(config),
      key_(Key(static_cast<uint64_t>(config.seed)).fold("refiner")),
      model_(std::move(model)),
      refiner_(new_refiner(config, *model_, key_)),
      adam_(refiner_->parameters(), config.adam),
      average_(adam_.parameters().clone()),
      parts_(config.batch_size, config.batch_parts, options.ranks, ""),
      batches_(training_images(run, pack, model_->device(), options.stream_images, notice),
               key_.fold("batches"), config.batch_size),
      plans_(config.batch_size, 0, model_->device()),
      sums_(torch::zeros({2}, torch::TensorOptions().dtype(kFloat64).device(model_->device()))),
      graphs_(model_->device(), options.capture && !ranks().through_host()) {}

void RefineLearner::plan(int64_t step) {
  if (!planned_.empty() && planned_.front().step <= step && step <= planned_.back().step) return;
  const int64_t end = std::max(step + 1, std::min(config_.steps, step + PlanTable::capacity));
  planned_.clear();
  for (int64_t n = step; n < end; ++n)
    planned_.push_back({.step = n,
                        .gradient_step = n,
                        .learning_rate = config_.rate_at(n),
                        .images = batches_.indices(n)});
  plans_.fill(planned_);
}

void RefineLearner::step(int64_t step) {
  plan(step);
  batches_.upload(planned_[static_cast<size_t>(step - planned_.front().step)].images);
  graphs_.step(0, [this] { compute_step(); });
  update_average(step);
}

torch::Tensor RefineLearner::loss(const torch::Tensor& images, const torch::Tensor& means,
                                  const Key& key) {
  const int64_t count = images.size(0);
  const auto options = images.options();
  const torch::Tensor noise = standard_normal(key.fold("noise"), images.sizes(), options);
  const torch::Tensor times =
      torch::sigmoid(config_.time_stddev * standard_normal(key.fold("times"), {count}, options));
  const torch::Tensor amounts = uniform(key.fold("amounts"), {count, 1, 1, 1}, options);
  const torch::Tensor disturbed =
      means + config_.mean_noise * amounts *
                  standard_normal(key.fold("mean noise"), means.sizes(), options);
  const torch::Tensor velocity =
      refiner_->velocity(mix_noise(images, noise, times), disturbed, times);
  return torch::mse_loss(velocity, images - noise);
}

torch::Tensor RefineLearner::compute_part(const BatchPart& part) {
  const StepSlots& slots = plans_.slots();
  const Key key = part.rows(key_.fold("steps").at(slots.step));
  torch::Tensor images, means;
  {
    torch::NoGradGuard no_gradient;
    const torch::Tensor pixels = batches_.draw(slots.images, slots.step, part);
    images = to_unit_range(pixels);
    const torch::Tensor x = model_->likelihood().from_pixels(pixels);
    means = unit_means(*model_, model_->encode_and_sample(x, key.fold("latents")).second);
  }
  const torch::Tensor share = part.share(loss(images, means, key));
  share.backward();
  debug_.tensors.emplace_back("the decoded means", means);
  return share.detach();
}

void RefineLearner::compute_step() {
  plans_.advance();
  debug_.tensors.clear();
  std::vector<torch::Tensor> losses, gradients;  // of this rank's parts
  for (const BatchPart& part : parts_.own()) {
    // One process adds gradients up in the order of parts; several keep them apart for that.
    if (losses.empty() || !ranks().alone()) adam_.zero_gradients();
    losses.push_back(compute_part(part));
    if (!ranks().alone()) gradients.push_back(adam_.gradients().clone());
  }
  torch::NoGradGuard no_gradient;
  if (!ranks().alone())
    ranks().sum_rows(torch::stack(gradients), parts_.one_per_part(), adam_.gradients());
  const torch::Tensor total = parts_.sum(losses);
  const torch::Tensor norm = adam_.gradient_norm();
  adam_.begin_step();
  adam_.update(adam_.range_of(refiner_->parameters()), plans_.slots().learning_rate, norm);
  sums_ += torch::stack({total.to(kFloat64), norm.to(kFloat64)});
  debug_.loss = total;
  debug_.finite = norm + debug_.loss;
  debug_.tensors.emplace_back("the loss", debug_.loss);
}

void RefineLearner::update_average(int64_t step) {
  if ((step + 1) % average_stride != 0) return;
  torch::NoGradGuard no_gradient;
  // Less of the past at first: the average must not remember the weights of the start for long.
  const auto taken = static_cast<double>(step);
  const double decay = std::min(config_.average_decay, (1 + taken) / (10 + taken));
  average_.lerp_(adam_.parameters(), 1 - std::pow(decay, average_stride));
}

std::optional<std::string> RefineLearner::find_not_finite() const {
  if (!debug_.finite.defined() || is_finite(debug_)) return std::nullopt;
  // All ranks come here. The tensor is one of the first rank that has any such.
  const std::string own = first_not_finite(debug_.tensors);
  for (int64_t rank = 0; rank < ranks().size(); ++rank)
    if (std::string name = ranks().broadcast(own, rank); !name.empty()) return name;
  if (std::string name = first_not_finite(gradients_and_parameters(refiner_->parameters()));
      !name.empty())
    return name;
  return "the gradient's norm";
}

void RefineLearner::swap_average() {
  torch::NoGradGuard no_gradient;
  const torch::Tensor live = adam_.parameters().clone();
  adam_.parameters().copy_(average_);
  average_.copy_(live);
}

}  // namespace facet
