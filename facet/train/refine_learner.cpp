#include "facet/train/refine_learner.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "facet/core/torch.h"
#include "facet/prior/sampling.h"
#include "facet/train/training_data.h"

namespace facet {

namespace {

/// Draws of the latent flow per image: its network is small, and sees much at once.
constexpr int64_t latent_draws = 8;
/// Steps between updates of the average.
constexpr int64_t average_stride = 4;

std::shared_ptr<Refiner> new_refiner(const RefineConfig& config, const Vae& model, const Key& key) {
  auto refiner = std::make_shared<Refiner>(config.network, model, key.fold("network"),
                                           config.mean_dropout > 0 ? config.guidance : 0);
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
      images_(training_images(run, pack, model_->device(), options.stream_images, notice)),
      labels_(usable_labels(run.model.factors, pack, images_)),
      batches_(images_, key_.fold("batches"), config.batch_size),
      plans_(config.batch_size, 0, model_->device()),
      sums_(torch::zeros({3}, torch::TensorOptions().dtype(kFloat64).device(model_->device()))),
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
  torch::Tensor seen = means + config_.mean_noise * amounts *
                                   standard_normal(key.fold("mean noise"), means.sizes(), options);
  if (config_.mean_dropout > 0)
    seen = hide_means(
        seen,
        uniform(key.fold("hidden means"), {count, 1, 1, 1}, options).lt(config_.mean_dropout));
  const torch::Tensor velocity = refiner_->velocity(mix_noise(images, noise, times), seen, times);
  return torch::mse_loss(velocity, images - noise);
}

torch::Tensor RefineLearner::latent_loss(const Encoding& encoding, const torch::Tensor& labels,
                                         const Key& key) {
  const auto repeated = [](const torch::Tensor& rows) { return rows.repeat({latent_draws, 1}); };
  // Row by row as for the images, so that a part of a batch draws what the batch draws for it.
  const auto normal_rows = [&](const Key& own) {
    std::vector<torch::Tensor> draws;
    for (int64_t n = 0; n < latent_draws; ++n)
      draws.push_back(standard_normal(own.fold(static_cast<uint64_t>(n)), encoding.mean.sizes(),
                                      encoding.mean.options()));
    return torch::cat(draws);
  };
  torch::Tensor places, conditions, times;
  {
    torch::NoGradGuard no_gradient;
    const FactorialMixture& prior = model_->prior;
    const torch::Tensor z =
        repeated(encoding.mean) +
        repeated(torch::exp(0.5 * encoding.log_variance)) * normal_rows(key.fold("draws"));
    const GaussianRows components = gaussian_rows(
        prior, with_probable_components(prior, z, labels.defined() ? repeated(labels) : labels)
                   .components);
    conditions = latent_conditions(prior, z, components);
    places = ((z - components.centre) / components.scale).to(kFloat32);
    times = torch::sigmoid(normal_rows(key.fold("times")).select(1, 0));
  }
  const torch::Tensor noise = normal_rows(key.fold("noise"));
  const torch::Tensor velocity =
      refiner_->latent_velocity(torch::lerp(noise, places, times.unsqueeze(1)), conditions, times);
  return torch::mse_loss(velocity, places - noise);
}

torch::Tensor RefineLearner::compute_part(const BatchPart& part) {
  const StepSlots& slots = plans_.slots();
  const Key key = part.rows(key_.fold("steps").at(slots.step));
  torch::Tensor images, means;
  Encoding encoding;
  {
    torch::NoGradGuard no_gradient;
    const torch::Tensor pixels = batches_.draw(slots.images, slots.step, part);
    images = to_unit_range(pixels);
    torch::Tensor z;
    std::tie(encoding, z) =
        model_->encode_and_sample(model_->likelihood().from_pixels(pixels), key.fold("latents"));
    means = unit_means(*model_, z);
  }
  const torch::Tensor labels =
      labels_.defined() ? part.rows(labels_.index_select(0, slots.images)) : labels_;
  const torch::Tensor share = part.share(torch::stack(
      {loss(images, means, key), latent_loss(encoding, labels, key.fold("latent flow"))}));
  share.sum().backward();
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
  sums_ += torch::cat({total.to(kFloat64), norm.to(kFloat64).view({1})});
  debug_.loss = total.sum();
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
