#include "facet/train/step_plan.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "facet/core/torch.h"

namespace facet {

namespace {

/// A row has five float64, two int64, and the indices, eight bytes each.
constexpr int64_t floats = 5, first_integer = floats, first_index = floats + 2;

void write_row(int64_t* row, const StepPlan& plan) {
  const double numbers[floats] = {plan.learning_rate, plan.named_rate, plan.kl_weight,
                                  plan.label_weight, plan.step_size};
  std::memcpy(row, numbers, sizeof numbers);
  row[first_integer] = plan.step;
  row[first_integer + 1] = plan.gradient_step;
  row += first_index;
  for (const torch::Tensor& indices : {plan.images, plan.labelled}) {
    if (!indices.defined()) continue;
    row = std::copy_n(indices.data_ptr<int64_t>(), indices.numel(), row);
  }
}

constexpr int64_t most_encoding_bytes = 4'000'000'000;

/// The bytes of an image's encoding: a mean and a variance per dimension, float64.
int64_t encoding_bytes(const Config& config) {
  int64_t dimensions = 0;
  for (const FactorOptions& factor : config.model.factors) dimensions += factor.dimensions;
  return 2 * 8 * dimensions;
}

int64_t wanted_encodings(const Config& config, int64_t images) {
  const int64_t asked = config.train.initialise.images;
  return asked == 0 ? images : std::min(asked, images);
}

}  // namespace

PlanTable::PlanTable(int64_t batch, int64_t labelled, torch::Device device) {
  const auto integers = torch::TensorOptions().dtype(kInt64).device(device);
  const int64_t words = first_index + batch + labelled;
  rows_ = torch::zeros({capacity, words}, integers);
  position_ = torch::zeros({1}, integers);
  current_ = torch::zeros({1, words}, integers);
  const torch::Tensor row = current_.select(0, 0);
  const torch::Tensor numbers = row.narrow(0, 0, floats).view(kFloat64);
  slots_.learning_rate = numbers[0];
  slots_.named_rate = numbers[1];
  slots_.kl_weight = numbers[2];
  slots_.label_weight = numbers[3];
  slots_.step_size = numbers[4];
  slots_.step = row[first_integer];
  slots_.gradient_step = row[first_integer + 1];
  slots_.images = row.narrow(0, first_index, batch);
  slots_.labelled = row.narrow(0, first_index + batch, labelled);
}

void PlanTable::fill(const std::vector<StepPlan>& plans) {
  const auto count = static_cast<int64_t>(plans.size());
  if (count > capacity) throw std::logic_error("more plans than the table has rows");
  const int64_t words = rows_.size(1);
  // Pinned, so that the copy is asynchronous; LibTorch keeps the memory until it is done.
  const torch::Tensor host = torch::zeros(
      {count, words}, torch::TensorOptions().dtype(kInt64).pinned_memory(rows_.is_cuda()));
  for (int64_t i = 0; i < count; ++i)
    write_row(host.data_ptr<int64_t>() + i * words, plans[static_cast<size_t>(i)]);
  rows_.narrow(0, 0, count).copy_(host, /*non_blocking=*/true);
  position_.zero_();
}

void PlanTable::advance() {
  torch::NoGradGuard no_gradient;
  torch::index_select_out(current_, rows_, 0, position_);
  position_ += 1;
}

StepPlanner::StepPlanner(const Config& config, const Key& key, Batches& batches, Batches* labelled,
                         const torch::Tensor& labels)
    : options_(config.train),
      encoded_images_(encoded_images(config, batches.count())),
      key_(key),
      batches_(batches),
      labelled_(labelled) {
  if (labels.defined()) has_label_ = labels.ge(0).any(1).to(torch::kCPU);
}

bool StepPlanner::any_label(const torch::Tensor& images) const {
  const bool* const known = has_label_.data_ptr<bool>();
  const int64_t* const first = images.data_ptr<int64_t>();
  return std::any_of(first, first + images.numel(), [&](int64_t image) { return known[image]; });
}

StepPlan StepPlanner::plan(Phase phase, int64_t step) {
  const int64_t pretrain = options_.pretrain.steps, joint = options_.joint.steps;
  StepPlan plan;
  plan.step = step;
  plan.gradient_step = phase == Phase::pretrain ? step : pretrain + step;
  plan.learning_rate = options_.learning_rate.at(plan.gradient_step, pretrain + joint);
  plan.named_rate = options_.joint.named_rate * plan.learning_rate;
  plan.step_size = natural_step_size(options_, phase, step);
  if (phase == Phase::initialise) {
    const Key key = key_.fold(phase_name(phase)).fold(static_cast<uint64_t>(step));
    plan.images = torch::randint(encoded_images_, {options_.batch_size}, key.generator(), kInt64);
    return plan;
  }
  plan.images = batches_.indices(plan.gradient_step);
  if (phase == Phase::pretrain) {
    plan.kl_weight = options_.pretrain.kl_weight.at(step, pretrain);
    return plan;
  }
  plan.kl_weight = options_.joint.kl_weight.at(step, joint);
  plan.label_weight = options_.joint.label_weight.at(step, joint);
  plan.supervised = plan.label_weight > 0 && has_label_.defined() &&
                    (labelled_ != nullptr || any_label(plan.images));
  if (plan.supervised && labelled_ != nullptr) plan.labelled = labelled_->indices(step);
  return plan;
}

StepPlans::StepPlans(const Config& config, const Key& key, Batches& batches, TrainingLabels& labels,
                     torch::Device device)
    : options_(config.train),
      planner_(config, key, batches, labels.labelled_batches ? &*labels.labelled_batches : nullptr,
               labels.of_factors),
      table_(options_.batch_size, labels.labelled_batches ? options_.joint.labelled_batch : 0,
             device) {}

const StepPlan& StepPlans::next(Phase phase, int64_t step) {
  const bool planned = phase_ == phase && next_ < plans_.size() && plans_[next_].step == step;
  if (!planned) {
    const int64_t left = phase_steps(options_, phase) - step;
    const int64_t count = std::clamp<int64_t>(left, 1, PlanTable::capacity);
    plans_.clear();
    for (int64_t i = 0; i < count; ++i) plans_.push_back(planner_.plan(phase, step + i));
    table_.fill(plans_);
    phase_ = phase;
    next_ = 0;
  }
  return plans_[next_++];
}

int64_t encoded_images(const Config& config, int64_t images) {
  return std::min(wanted_encodings(config, images), most_encoding_bytes / encoding_bytes(config));
}

std::optional<std::string> too_many_encodings(const Config& config, int64_t images) {
  const int64_t wanted = wanted_encodings(config, images), count = encoded_images(config, images);
  if (count == wanted) return std::nullopt;
  return fmt::format(
      "the encodings of {} images need {:.1f} GB, more than {:.1f}: the mixtures are fitted to {} "
      "of them, chosen anew for every fit",
      wanted, 1e-9 * static_cast<double>(wanted * encoding_bytes(config)),
      1e-9 * static_cast<double>(most_encoding_bytes), count);
}

double natural_step_size(const TrainOptions& options, Phase phase, int64_t step) {
  const bool frozen = phase == Phase::joint && step < options.joint.freeze_prior_steps;
  return frozen ? 0.0 : options.step_size.at(step);
}

const char* phase_name(Phase phase) {
  constexpr const char* names[] = {"pretrain", "initialise", "joint", "done"};
  return names[static_cast<size_t>(phase)];
}

int64_t phase_steps(const TrainOptions& options, Phase phase) {
  return phase == Phase::pretrain     ? options.pretrain.steps
         : phase == Phase::initialise ? options.initialise.steps
         : phase == Phase::joint      ? options.joint.steps
                                      : 0;
}

}  // namespace facet
