#include "facet/train/trainer.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/eval/clusters.h"
#include "facet/model/model_file.h"
#include "facet/prior/initialise.h"
#include "facet/prior/revive.h"
#include "facet/prior/untangle.h"

namespace facet {

namespace {

std::optional<ImageSet> valid_images(const Pack& pack, const Config& config, torch::Device device) {
  const auto& trained = config.data.train_splits;
  const bool trained_on = std::find(trained.begin(), trained.end(), "valid") != trained.end();
  if (trained_on || !pack.split.eq(static_cast<int64_t>(Split::valid)).any().item<bool>())
    return std::nullopt;
  return select_images(pack, {Split::valid}, config.data, false, device);
}

std::shared_ptr<Vae> make_model(const Config& config, const Pack& pack, const Key& key,
                                torch::Device device) {
  auto model = std::make_shared<Vae>(config.model, pack.shape(), key.fold("model"));
  model->move_to(device);
  return model;
}

/// Where the sums of a metrics line are: the count of steps, the reconstruction, the gradient's
/// norm, the labels' log likelihood and number, and then KL[z] and KL[r] of every factor.
constexpr int64_t count_at = 0, reconstruction_at = 1, norm_at = 2, label_at = 3,
                  label_count_at = 4, first_kl_at = 5;

/// The column of each factor's property in the data, -1 for free factors.
std::vector<int64_t> find_label_columns(const std::vector<FactorOptions>& factors,
                                        const Pack& pack) {
  std::vector<std::string> names;
  for (const Property& property : pack.properties) names.push_back(property.name);
  std::vector<int64_t> columns;
  for (const FactorOptions& factor : factors) {
    const auto found = std::find(names.begin(), names.end(), factor.property);
    if (factor.named() && found == names.end())
      throw Error({.doing = fmt::format("naming factor '{}' by property", factor.name),
                   .object = factor.property,
                   .found = "no such property in the data",
                   .expected = "one of its properties",
                   .cause = suggest(factor.property, names)});
    columns.push_back(factor.named() ? found - names.begin() : -1);
  }
  return columns;
}

/// The config with the names of values filled in from the data.
Config with_value_names(Config config, const Pack& pack) {
  const auto columns = find_label_columns(config.model.factors, pack);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] < 0) continue;
    FactorOptions& factor = config.model.factors[i];
    const std::vector<std::string>& values =
        pack.properties[static_cast<size_t>(columns[i])].values;
    if (!factor.values.empty() && factor.values != values)
      throw Error({.doing = fmt::format("naming factor '{}' by property", factor.name),
                   .object = factor.property,
                   .found = fmt::format("values {} in the data", fmt::join(values, ", ")),
                   .expected = fmt::format("{}", fmt::join(factor.values, ", ")),
                   .cause = "was the pack imported anew?"});
    factor.values = values;
    if (static_cast<int64_t>(factor.values.size()) > factor.components)
      throw Error({.doing = fmt::format("naming factor '{}' by property", factor.name),
                   .object = factor.property,
                   .found = fmt::format("{} values for {} components", factor.values.size(),
                                        factor.components),
                   .expected = "at least as many components as values"});
  }
  return config;
}

/// frequency^-balance of each value among the known labels, with a mean of one over them, [K].
torch::Tensor value_weights(const torch::Tensor& labels, int64_t components, double balance) {
  const torch::Tensor known = labels.index_select(0, labels.ge(0).nonzero().squeeze(1));
  const torch::Tensor counts = torch::bincount(known, {}, components).to(torch::kFloat64);
  const torch::Tensor weights = counts.clamp_min(1.0).pow(-balance);
  return weights / ((weights * counts).sum() / counts.sum().clamp_min(1.0)).clamp_min(1e-12);
}

}  // namespace

Trainer::Trainer(const Config& config, const Pack& pack, const RunFolder& folder,
                 torch::Device device, bool resume, TrainingCallbacks callbacks)
    : config_(with_value_names(config, pack)),
      folder_(folder),
      callbacks_(std::move(callbacks)),
      device_(device),
      key_(static_cast<uint64_t>(config.seed)),
      model_(make_model(config_, pack, key_, device)),
      adam_(*model_, config.train.adam),
      images_(
          select_images(pack, parse_splits(config.data.train_splits), config.data, true, device)),
      batches_(images_, key_.fold("batches"), config.train.batch_size),
      valid_(valid_images(pack, config, device)),
      properties_(pack.properties) {
  label_columns_ = find_label_columns(config_.model.factors, pack);
  for (size_t i = 0; i < label_columns_.size(); ++i) {
    value_weights_.emplace_back();
    if (label_columns_[i] < 0) continue;
    const FactorOptions& factor = config_.model.factors[i];
    value_weights_[i] = value_weights(images_.labels.select(1, label_columns_[i]),
                                      factor.components, config_.train.joint.balance);
    named_.try_emplace(factor.name, model_->prior.posteriors[i], config_.train.adam);
  }
  if (config_.train.joint.labelled_batch > 0 && !named_.empty()) labelled_ = labelled_batches();
  const auto sums = first_kl_at + 2 * static_cast<int64_t>(model_->prior.size());
  if (resume) {
    progress_ = read_checkpoint(folder_.state(), *model_, adam_, named_);
    if (progress_.sums.numel() != sums)
      throw Error({.doing = "reading tensor 'metrics.sums' of",
                   .object = folder_.state().string(),
                   .found = fmt::format("{} numbers", progress_.sums.numel()),
                   .expected = fmt::format("{}", sums),
                   .cause = "is the file damaged?"});
    progress_.sums = progress_.sums.to(device_);
  } else {
    progress_.sums =
        torch::zeros({sums}, torch::TensorOptions().dtype(torch::kFloat64).device(device_));
    RunFolder::create(folder_.path);  // now that nothing about the config can be wrong
    write_text(folder_.config(), write_options(config_).dump(2) + "\n", "saving the config");
  }
  metrics_ = std::make_unique<MetricsFile>(folder_.metrics(), progress_.metrics_lines);
  events_ = std::make_unique<EventFile>(folder_.events());
  last_checkpoint_ = position_text();
  if (!resume) save();  // a run that is killed at once, or whose first step fails, has a state too
}

std::optional<Batches> Trainer::labelled_batches() const {
  const torch::Tensor known = factor_labels(images_.labels).ge(0).any(1).nonzero().squeeze(1);
  if (known.numel() == 0) return {};
  ImageSet labelled = images_;
  labelled.pixels = images_.pixels.index_select(0, known);
  labelled.labels = images_.labels.index_select(0, known);
  labelled.augment = config_.train.joint.augment_labelled;
  // Softened images are grey; the encoder knows black and white.
  if (labelled.augment) labelled.binarize_by_draw = config_.data.binarize != "none";
  return Batches(labelled, key_.fold("labelled batches"), config_.train.joint.labelled_batch);
}

int64_t Trainer::phase_steps(Phase phase) const {
  const TrainOptions& train = config_.train;
  return phase == Phase::pretrain     ? train.pretrain.steps
         : phase == Phase::initialise ? train.initialise.steps
         : phase == Phase::joint      ? train.joint.steps
                                      : 0;
}

int64_t Trainer::gradient_step() const {
  return progress_.phase == Phase::pretrain ? progress_.step
                                            : config_.train.pretrain.steps + progress_.step;
}

double Trainer::learning_rate() const {
  const TrainOptions& train = config_.train;
  return train.learning_rate.at(gradient_step(), train.pretrain.steps + train.joint.steps);
}

std::string Trainer::position_text() const {
  return fmt::format("step {} of phase {}", progress_.step, phase_name(progress_.phase));
}

Key Trainer::step_key() const {
  return key_.fold(phase_name(progress_.phase)).fold(static_cast<uint64_t>(progress_.step));
}

void Trainer::require_finite(const torch::Tensor& number, const NamedTensors& trail) {
  // Looking at a number waits for the card, so there only the steps that end a metrics line look.
  const bool look = device_.is_cpu() || (progress_.step + 1) % config_.train.log_every == 0;
  if (!look || std::isfinite(number.item<double>())) return;
  NamedTensors tensors = trail;
  for (auto& entry : gradients_and_parameters(*model_)) tensors.push_back(entry);
  const std::string name = first_not_finite(tensors);
  throw Error(
      {.doing = fmt::format("training, step {} of phase {}, run", progress_.step + 1,
                            phase_name(progress_.phase)),
       .object = folder_.path.string(),
       .found = fmt::format("NaN or infinity in {}", name.empty() ? "the gradient's norm" : name),
       .expected = "finite numbers",
       .cause = fmt::format(
           "is the learning rate too high? The last good checkpoint, at {}, is untouched",
           last_checkpoint_)});
}

void Trainer::optimise(const torch::Tensor& loss, const NamedTensors& trail) {
  adam_.zero_gradients();
  loss.backward();
  gradient_norm_ = adam_.gradient_norm();
  require_finite(gradient_norm_ + loss.detach(), trail);
  adam_.step(learning_rate(), gradient_norm_);
}

void Trainer::accumulate(const torch::Tensor& reconstruction,
                         const std::vector<torch::Tensor>& kl_z,
                         const std::vector<torch::Tensor>& kl_r) {
  torch::NoGradGuard no_gradient;
  const auto options = progress_.sums.options();
  const auto factors = static_cast<int64_t>(model_->prior.size());
  torch::Tensor& sums = progress_.sums;
  sums[count_at] += 1;
  if (reconstruction.defined()) {
    sums[reconstruction_at] += reconstruction.mean().to(options);
    sums[norm_at] += gradient_norm_.to(options);
  }
  for (size_t i = 0; i < kl_z.size(); ++i)
    sums[first_kl_at + static_cast<int64_t>(i)] += kl_z[i].mean().to(options);
  for (size_t i = 0; i < kl_r.size(); ++i)
    sums[first_kl_at + factors + static_cast<int64_t>(i)] += kl_r[i].mean().to(options);
}

void Trainer::accumulate_labels(const BoundTerms& terms, const torch::Tensor& labels) {
  torch::NoGradGuard no_gradient;
  for (const FactorTerms& factor : terms.factors)
    progress_.sums[label_at] += factor.label_log_likelihood.sum();
  progress_.sums[label_count_at] += labels.ge(0).sum();
}

void Trainer::pretrain_step() {
  const torch::Tensor x = model_->likelihood().from_pixels(batches_.pixels(gradient_step()));
  const Encoding encoding = model_->encode(x);
  const torch::Tensor output = model_->decode(encoding.sample(step_key()));
  const torch::Tensor reconstruction = model_->likelihood().log_density(x, output);
  const torch::Tensor kl = standard_normal_kl(encoding);
  const double weight =
      config_.train.pretrain.kl_weight.at(progress_.step, config_.train.pretrain.steps);
  optimise(-(reconstruction.mean() - weight * kl.mean()),
           {{"the encoder's mean", encoding.mean},
            {"the encoder's log variance", encoding.log_variance},
            {"the decoder's output", output},
            {"the reconstruction term", reconstruction},
            {"KL[z]", kl}});
  accumulate(reconstruction, {kl}, {});
  ++progress_.step;
}

torch::Tensor Trainer::factor_labels(const torch::Tensor& labels) const {
  if (named_.empty()) return {};
  std::vector<torch::Tensor> columns;
  for (const int64_t column : label_columns_)
    columns.push_back(column < 0 ? torch::full({labels.size(0)}, -1, labels.options())
                                 : labels.select(1, column));
  return torch::stack(columns, 1);
}

void Trainer::natural_gradient_step(const std::vector<BlockEncoding>& blocks,
                                    const torch::Tensor& labels, double rho, bool named_too) {
  torch::NoGradGuard no_gradient;
  const double scale =
      static_cast<double>(images_.count()) / static_cast<double>(blocks.front().mean.size(0));
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!named_too && label_columns_[i] >= 0) continue;
    FactorPosterior& posterior = model_->prior.posteriors[i];
    const torch::Tensor responsibilities =
        e_step(blocks[i], posterior, labels_of_factor(labels, i));
    natural_step(posterior,
                 conjugate_posterior(statistics(blocks[i], responsibilities), scale,
                                     model_->prior.hyperprior),
                 torch::full({}, rho, posterior.counts.options()));
  }
}

torch::Tensor Trainer::labelled_batch_loss(const std::vector<FactorParameters>& parameters) {
  const torch::Tensor x = model_->likelihood().from_pixels(labelled_->pixels(progress_.step));
  const torch::Tensor labels = factor_labels(labelled_->labels(progress_.step));
  const Encoding encoding = model_->encode(x);
  const auto blocks = model_->prior.split(encoding.mean, encoding.variance());
  std::vector<FactorTerms> factors(blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i)
    if (label_columns_[i] >= 0)
      factors[i] = factor_terms(blocks[i], parameters[i], labels_of_factor(labels, i));
  return label_loss(factors, labels, value_weights_);
}

void Trainer::revive_components() {
  const JointOptions& joint = config_.train.joint;
  if (joint.revive_every == 0 || progress_.step == 0 || progress_.step % joint.revive_every != 0 ||
      4 * progress_.step > 3 * joint.steps)
    return;
  for (size_t i = 0; i < model_->prior.size(); ++i)
    if (label_columns_[i] < 0)
      revive_dead_components(step_key().fold("revive").fold(i), model_->prior.posteriors[i],
                             model_->prior.hyperprior);
}

void Trainer::joint_step() {
  revive_components();
  const JointOptions& joint = config_.train.joint;
  const torch::Tensor x = model_->likelihood().from_pixels(batches_.pixels(gradient_step()));
  const torch::Tensor labels = factor_labels(batches_.labels(gradient_step()));
  const double label_weight = joint.label_weight.at(progress_.step, joint.steps);
  // A batch without labels takes exactly the unsupervised step.
  const bool supervised =
      label_weight > 0 && labels.defined() && (labelled_ || labels.ge(0).any().item<bool>());
  std::vector<FactorParameters> parameters;
  for (size_t i = 0; i < model_->prior.size(); ++i) {
    const FactorPosterior& posterior = model_->prior.posteriors[i];
    parameters.push_back(supervised && label_columns_[i] >= 0
                             ? named_.at(model_->prior.factors[i].name).track(posterior)
                             : posterior.parameters());
  }
  const BoundTerms terms = bound_terms(*model_, parameters, x, labels, step_key());
  const torch::Tensor kl_z = terms.kl_z(), kl_r = terms.kl_r();
  const auto number = [&](double value) {
    return torch::full({}, value, progress_.sums.options());
  };
  torch::Tensor loss = batch_loss(
      terms, labels,
      {number(joint.kl_weight.at(progress_.step, joint.steps)),
       supervised && !labelled_ ? number(label_weight) : torch::Tensor(), value_weights_});
  if (supervised && labelled_) loss = loss + label_weight * labelled_batch_loss(parameters);
  // The hyperprior's lines matter for parameters that move by first-order gradients.
  for (size_t i = 0; supervised && i < parameters.size(); ++i) {
    if (label_columns_[i] < 0) continue;
    const HyperpriorKl kl = hyperprior_kl(parameters[i], model_->prior.hyperprior);
    loss = loss + (kl.components.sum() + kl.weights) / static_cast<double>(images_.count());
  }
  optimise(loss, {{"the encoder's mean", terms.encoding.mean},
                  {"the encoder's log variance", terms.encoding.log_variance},
                  {"the reconstruction term", terms.reconstruction},
                  {"KL[z]", kl_z},
                  {"KL[r]", kl_r}});
  std::vector<torch::Tensor> factor_kl_z, factor_kl_r;
  for (const FactorTerms& factor : terms.factors) {
    factor_kl_z.push_back(factor.kl_z);
    factor_kl_r.push_back(factor.kl_r);
  }
  accumulate(terms.reconstruction, factor_kl_z, factor_kl_r);
  if (labels.defined()) accumulate_labels(terms, labels);

  torch::NoGradGuard no_gradient;
  if (supervised)
    for (size_t i = 0; i < parameters.size(); ++i)
      if (label_columns_[i] >= 0)
        named_.at(model_->prior.factors[i].name)
            .step(model_->prior.posteriors[i], joint.named_rate * learning_rate());
  const Encoding moved = model_->encode(x);
  natural_gradient_step(model_->prior.split(moved.mean, moved.variance()), labels,
                        config_.train.step_size.at(progress_.step), !supervised);
  ++progress_.step;
}

const std::vector<BlockEncoding>& Trainer::cached_encodings() {
  if (!encodings_.empty()) return encodings_;
  torch::NoGradGuard no_gradient;
  const int64_t wanted = config_.train.initialise.images;
  const int64_t count = wanted == 0 ? images_.count() : std::min(wanted, images_.count());
  const Key key = key_.fold("initialise");
  const torch::Tensor chosen = permutation(key, images_.count()).narrow(0, 0, count).to(device_);
  std::vector<torch::Tensor> means, variances;
  for (const torch::Tensor& slice : chosen.split(500)) {
    const torch::Tensor pixels = images_.draw(slice, key.fold(means.size()));
    const Encoding encoding = model_->encode(model_->likelihood().from_pixels(pixels));
    means.push_back(encoding.mean);
    variances.push_back(encoding.variance());
  }
  encodings_ = model_->prior.split(torch::cat(means), torch::cat(variances));
  encoding_labels_ = factor_labels(images_.labels.index_select(0, chosen));
  return encodings_;
}

torch::Tensor Trainer::known_labels(size_t factor) const {
  const torch::Tensor labels = labels_of_factor(encoding_labels_, factor);
  return labels.defined() && labels.ge(0).any().item<bool>() ? labels : torch::Tensor();
}

void Trainer::untangle_factors() {
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
  encodings_.clear();  // they are of the old coordinates
}

void Trainer::place_components() {
  if (config_.train.initialise.untangle && model_->prior.size() > 1) untangle_factors();
  const auto& encodings = cached_encodings();
  for (size_t i = 0; i < encodings.size(); ++i) {
    const int64_t components = model_->prior.factors[i].components;
    const torch::Tensor labels = known_labels(i);
    model_->prior.posteriors[i] =
        labels.defined()
            ? labelled_posterior(encodings[i], labels, components, images_.count(),
                                 model_->prior.hyperprior)
            : initial_posterior(key_.fold("components").fold(i), encodings[i], components,
                                images_.count(), config_.train.initialise.kmeans_iterations,
                                model_->prior.hyperprior);
  }
}

void Trainer::initialise_step() {
  const auto& encodings = cached_encodings();
  const torch::Tensor chosen =
      torch::randint(encodings.front().mean.size(0), {config_.train.batch_size},
                     step_key().generator(), torch::kInt64)
          .to(device_);
  const torch::Tensor labels =
      encoding_labels_.defined() ? encoding_labels_.index_select(0, chosen) : torch::Tensor();
  std::vector<BlockEncoding> blocks;
  std::vector<torch::Tensor> kl_z, kl_r;
  for (size_t i = 0; i < encodings.size(); ++i) {
    blocks.push_back(
        {encodings[i].mean.index_select(0, chosen), encodings[i].variance.index_select(0, chosen)});
    const FactorTerms terms = factor_terms(blocks[i], model_->prior.posteriors[i].parameters(),
                                           labels_of_factor(labels, i));
    kl_z.push_back(terms.kl_z);
    kl_r.push_back(terms.kl_r);
  }
  accumulate({}, kl_z, kl_r);
  natural_gradient_step(blocks, labels, config_.train.step_size.at(progress_.step), true);
  ++progress_.step;
}

StepReport Trainer::take_report() {
  torch::NoGradGuard no_gradient;
  const TrainOptions& train = config_.train;
  const torch::Tensor sums = progress_.sums.to(torch::kCPU, torch::kFloat64, false, /*copy=*/true);
  progress_.sums.zero_();
  const double steps = std::max(1.0, sums[count_at].item<double>());
  const auto average = [&](int64_t at) { return sums[at].item<double>() / steps; };

  StepReport report;
  report.phase = progress_.phase;
  report.step = progress_.step;
  report.phase_steps = phase_steps(progress_.phase);
  for (const Phase phase : {Phase::pretrain, Phase::initialise, Phase::joint}) {
    report.total_step += phase < progress_.phase    ? phase_steps(phase)
                         : phase == progress_.phase ? progress_.step
                                                    : 0;
  }
  report.reconstruction = average(reconstruction_at);
  report.gradient_norm = average(norm_at);
  const int64_t last = progress_.step - 1;
  const int64_t gradient_steps = train.pretrain.steps + train.joint.steps;
  report.learning_rate = train.learning_rate.at(gradient_step() - 1, gradient_steps);
  if (progress_.phase == Phase::pretrain) {
    report.kl_weight = train.pretrain.kl_weight.at(last, train.pretrain.steps);
    report.kl_z = average(first_kl_at);
  } else {
    report.kl_weight = train.joint.kl_weight.at(last, train.joint.steps);
    report.step_size = train.step_size.at(last);
    if (progress_.phase == Phase::joint && !named_.empty()) {
      report.label_weight = train.joint.label_weight.at(last, train.joint.steps);
      report.label_log_likelihood =
          sums[label_at].item<double>() / std::max(1.0, sums[label_count_at].item<double>());
    }
    const auto count = static_cast<int64_t>(model_->prior.size());
    for (int64_t i = 0; i < count; ++i) {
      const FactorPosterior& posterior = model_->prior.posteriors[static_cast<size_t>(i)];
      const torch::Tensor held = model_->prior.held_images(static_cast<size_t>(i));
      const std::vector<double> weights(held.data_ptr<double>(),
                                        held.data_ptr<double>() + held.numel());
      const FactorOptions& factor = model_->prior.factors[static_cast<size_t>(i)];
      report.factors.push_back({factor.name, average(first_kl_at + i),
                                average(first_kl_at + count + i), factor.components,
                                std::count_if(weights.begin(), weights.end(),
                                              [](double weight) { return weight > 1.0; }),
                                perplexity(weights)});
      report.kl_z += report.factors.back().kl_z;
      report.kl_r += report.factors.back().kl_r;
      const HyperpriorKl kl = hyperprior_kl(posterior.parameters(), model_->prior.hyperprior);
      report.hyperprior +=
          (kl.components.sum() + kl.weights).item<double>() / static_cast<double>(images_.count());
    }
  }
  report.elbo = report.reconstruction - report.kl_z - report.kl_r;
  return report;
}

void Trainer::log(const StepReport& report) {
  Json record = {{"phase", phase_name(report.phase)}, {"step", report.step}};
  if (report.phase != Phase::initialise) {
    record["elbo"] = report.elbo;
    record["reconstruction"] = report.reconstruction;
  }
  record["kl_z"] = report.kl_z;
  record["kl_r"] = report.kl_r;
  if (report.phase != Phase::initialise) {
    record["kl_weight"] = report.kl_weight;
    record["learning_rate"] = report.learning_rate;
    record["gradient_norm"] = report.gradient_norm;
  }
  if (report.phase != Phase::pretrain) {
    record["step_size"] = report.step_size;
    record["hyperprior"] = report.hyperprior;
    if (report.phase == Phase::joint && !named_.empty()) {
      record["label_weight"] = report.label_weight;
      record["label_log_likelihood"] = report.label_log_likelihood;
    }
    for (const StepReport::Factor& factor : report.factors)
      record["factors"].push_back({{"name", factor.name},
                                   {"living", factor.living},
                                   {"perplexity", factor.perplexity},
                                   {"kl_z", factor.kl_z},
                                   {"kl_r", factor.kl_r}});
  }
  metrics_->write(record);
  for (const auto& [name, value] : record.items())
    if (value.is_number() && name != "step")
      events_->scalar("train/" + name, report.total_step, value.get<double>());
  for (const StepReport::Factor& factor : report.factors)
    events_->scalar("living/" + factor.name, report.total_step, static_cast<double>(factor.living));
  events_->flush();
  if (callbacks_.report) callbacks_.report(report);
}

void Trainer::evaluate_valid(const StepReport& report) {
  const Evaluation evaluation = evaluate(*model_, *valid_, properties_, "valid", {});
  metrics_->write(
      {{"phase", phase_name(report.phase)}, {"step", report.step}, {"valid", to_json(evaluation)}});
  events_->scalar("valid/elbo", report.total_step, evaluation.elbo);
  events_->flush();
  if (callbacks_.evaluated) callbacks_.evaluated(evaluation, report);
}

void Trainer::save() {
  // A state that holds a NaN must not take the place of a good one.
  NamedTensors tensors = gradients_and_parameters(*model_);
  for (size_t i = 0; i < model_->prior.size(); ++i) {
    // Logarithms, because s, a, b and c must be positive too.
    const FactorParameters prior = model_->prior.posteriors[i].parameters();
    const std::string name = fmt::format("the prior of factor '{}'", model_->prior.factors[i].name);
    tensors.emplace_back(name, prior.components.m);
    for (const torch::Tensor& positive :
         {prior.components.s, prior.components.a, prior.components.b, prior.counts})
      tensors.emplace_back(name, torch::log(positive));
  }
  if (const std::string name = first_not_finite(tensors); !name.empty())
    throw Error({.doing = "saving a checkpoint of",
                 .object = folder_.path.string(),
                 .found = fmt::format("NaN or infinity in {}", name),
                 .expected = "finite numbers",
                 .cause = "the last good checkpoint is untouched"});
  metrics_->sync();
  progress_.metrics_lines = metrics_->lines();
  write_checkpoint(folder_.state(), *model_, adam_, named_, progress_);
  write_model(folder_.model(), *model_);
  last_checkpoint_ = position_text();
}

void Trainer::advance() {
  progress_.phase = static_cast<Phase>(static_cast<int64_t>(progress_.phase) + 1);
  progress_.step = 0;
  progress_.sums.zero_();
  if (progress_.phase != Phase::initialise) encodings_.clear();
}

bool Trainer::run() {
  const TrainOptions& train = config_.train;
  for (; progress_.phase != Phase::done; advance()) {
    const int64_t steps = phase_steps(progress_.phase);
    const auto stopped = [&] {
      if (!callbacks_.stop || !callbacks_.stop()) return false;
      save();
      return true;
    };
    if (progress_.phase == Phase::initialise && progress_.step == 0) {
      if (stopped()) return false;
      if (callbacks_.notice) callbacks_.notice("placing the components at k-means centres");
      place_components();
    }
    while (progress_.step < steps) {
      // Not between the placing and the first step: a resumed run would place them twice.
      const bool just_placed = progress_.phase == Phase::initialise && progress_.step == 0;
      if (!just_placed && stopped()) return false;
      if (progress_.phase == Phase::pretrain) pretrain_step();
      if (progress_.phase == Phase::initialise) initialise_step();
      if (progress_.phase == Phase::joint) joint_step();
      const auto due = [&](int64_t every) {
        return every > 0 && (progress_.step % every == 0 || progress_.step == steps);
      };
      const bool evaluation_due =
          valid_ && progress_.phase == Phase::joint && due(train.evaluate_every);
      if (due(train.log_every) || evaluation_due) {
        const StepReport report = take_report();
        log(report);
        if (evaluation_due) evaluate_valid(report);
      }
      if (due(train.checkpoint_every)) save();
    }
  }
  save();
  return true;
}

}  // namespace facet
