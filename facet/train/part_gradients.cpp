#include "facet/train/part_gradients.h"

#include <algorithm>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"

namespace facet {

PartGradients::PartGradients(const TrainOptions& options, Vae& model, Adam& adam,
                             std::shared_ptr<Ranks> ranks)
    : model_(model),
      adam_(adam),
      ranks_(std::move(ranks)),
      batch_size_(options.batch_size),
      parts_(std::min(options.batch_parts, options.batch_size)),
      exact_(options.reduce == "exact") {
  if (parts_ < ranks_->size())
    Attempt{fmt::format("training with {} ranks", ranks_->size())}.fail(
        parts_ < options.batch_parts ? fmt::format("train.batch_size {}", batch_size_)
                                     : fmt::format("train.batch_parts {}", parts_),
        fmt::format("at least {}, one per rank", ranks_->size()),
        "--set changes it, also for a run that is resumed");
}

std::vector<BatchPart> PartGradients::own_parts() const {
  const std::vector<BatchPart> all = parts_of_batch(batch_size_, parts_);
  return {all.begin() + first_part(ranks_->rank()), all.begin() + first_part(ranks_->rank() + 1)};
}

std::vector<int64_t> PartGradients::per_rank(
    const std::function<int64_t(const BatchPart&)>& of_part) const {
  const std::vector<BatchPart> all = parts_of_batch(batch_size_, parts_);
  std::vector<int64_t> counts(static_cast<size_t>(ranks_->size()));
  for (int64_t rank = 0; rank < ranks_->size(); ++rank)
    for (int64_t part = first_part(rank); part < first_part(rank + 1); ++part)
      counts[static_cast<size_t>(rank)] += of_part(all[static_cast<size_t>(part)]);
  return counts;
}

torch::Tensor PartGradients::gather_images(const std::vector<torch::Tensor>& of_parts) const {
  return ranks_->gather(torch::cat(of_parts),
                        per_rank([](const BatchPart& part) { return part.count(); }));
}

torch::Tensor PartGradients::sum_of_parts(const std::vector<torch::Tensor>& of_parts) const {
  const torch::Tensor rows =
      ranks_->gather(torch::stack(of_parts), per_rank([](const BatchPart&) { return 1; }));
  torch::Tensor sum = rows[0].clone();
  for (int64_t part = 1; part < parts_; ++part) sum.add_(rows[part]);
  return sum;
}

std::vector<torch::Tensor*> PartGradients::posterior_gradients() const {
  std::vector<torch::Tensor*> gradients;
  for (auto& [name, optimizer] : model_.strategy().optimizers())
    if (optimizer.tracked()) gradients.push_back(&optimizer.gradient());
  return gradients;
}

/// On one rank gradients accumulate. On several, those of parts are kept apart to be added in
/// order.
void PartGradients::begin_part(bool first) {
  if (first && model_.accelerated()) return model_.begin_gradients();
  if (first || (exact_ && !ranks_->alone())) adam_.zero_gradients();
  if (!ranks_->alone())
    for (torch::Tensor* gradient : posterior_gradients()) gradient->reset();
}

PartGradients::PartRecord PartGradients::record_of(PartTerms terms) const {
  PartRecord record{terms.loss.detach(), std::move(terms.step), {}};
  for (torch::Tensor* term : image_terms(record.step))
    if (term->defined()) *term = term->detach();
  if (!ranks_->alone())
    for (const torch::Tensor* gradient : posterior_gradients())
      record.posterior_gradients.push_back(*gradient);
  return record;
}

StepTerms PartGradients::compute(const std::vector<BatchPart>& own, DebugTensors& debug,
                                 const std::function<PartTerms(const BatchPart&)>& part_terms) {
  debug.tensors.clear();
  std::vector<PartRecord> records;
  torch::Tensor network_gradients;  // of parts, [parts, parameters]
  if (exact_ && !ranks_->alone())
    network_gradients = torch::empty({static_cast<int64_t>(own.size()), adam_.gradients().numel()},
                                     adam_.gradients().options());
  for (const BatchPart& part : own) {
    const bool last = part.index == own.back().index;
    begin_part(part.index == own.front().index);
    PartTerms terms = part_terms(part);
    // Parts share the graph of the prior's parameters.
    terms.loss.backward({}, /*retain_graph=*/!last);
    for (const auto& [name, tensor] : terms.tensors)
      debug.tensors.emplace_back(name, tensor.detach());
    records.push_back(record_of(std::move(terms)));
    if (network_gradients.defined())
      network_gradients[part.index - own.front().index].copy_(adam_.gradients());
  }
  if (model_.accelerated()) model_.finish_gradients();
  sum_network_gradients(network_gradients);
  records = all_records(std::move(records));
  if (!ranks_->alone()) sum_posterior_gradients(records);

  debug.loss = records.front().loss;
  for (size_t i = 1; i < records.size(); ++i) debug.loss = debug.loss + records[i].loss;
  StepTerms step = records.front().step;
  if (records.size() == 1) return step;
  const std::vector<torch::Tensor*> joined = image_terms(step);
  for (size_t term = 0; term < joined.size(); ++term) {
    std::vector<torch::Tensor> of_parts;
    for (PartRecord& record : records) of_parts.push_back(*image_terms(record.step)[term]);
    *joined[term] = torch::cat(of_parts);
  }
  return step;
}

void PartGradients::sum_network_gradients(const torch::Tensor& of_parts) {
  if (ranks_->alone()) return;
  torch::NoGradGuard no_gradient;
  if (exact_)
    adam_.gradients().copy_(
        ranks_->sum_rows(of_parts, per_rank([](const BatchPart&) { return 1; })));
  else
    ranks_->sum(adam_.gradients());
}

void PartGradients::sum_posterior_gradients(const std::vector<PartRecord>& records) {
  torch::NoGradGuard no_gradient;
  const std::vector<torch::Tensor*> gradients = posterior_gradients();
  for (size_t i = 0; i < gradients.size(); ++i) {
    *gradients[i] = records.front().posterior_gradients[i].clone();
    for (size_t part = 1; part < records.size(); ++part)
      gradients[i]->add_(records[part].posterior_gradients[i]);
  }
}

/// The records of all ranks' parts, in the order of parts.
std::vector<PartGradients::PartRecord> PartGradients::all_records(
    std::vector<PartRecord> own) const {
  if (ranks_->alone()) return own;
  torch::NoGradGuard no_gradient;
  PartRecord& like = own.front();  // for shapes and types
  const auto terms = static_cast<int64_t>(image_terms(like.step).size());
  int64_t gradients = 0;
  for (const torch::Tensor& gradient : like.posterior_gradients) gradients += gradient.numel();
  const auto length = [&](const BatchPart& part) { return 1 + terms * part.count() + gradients; };

  std::vector<torch::Tensor> numbers;
  for (PartRecord& record : own) {
    numbers.push_back(record.loss.to(kFloat64).reshape({1}));
    for (const torch::Tensor* term : image_terms(record.step))
      numbers.push_back(term->to(kFloat64));
    for (const torch::Tensor& gradient : record.posterior_gradients) numbers.push_back(gradient);
  }
  const torch::Tensor all = ranks_->gather(torch::cat(numbers), per_rank(length));

  int64_t begin = 0;
  const auto take = [&](int64_t count) {
    begin += count;
    return all.narrow(0, begin - count, count);
  };
  std::vector<PartRecord> records;
  for (const BatchPart& part : parts_of_batch(batch_size_, parts_)) {
    PartRecord record{take(1)[0].to(like.loss.scalar_type()), like.step, {}};
    for (torch::Tensor* term : image_terms(record.step))
      *term = take(part.count()).to(term->scalar_type());
    for (const torch::Tensor& gradient : like.posterior_gradients)
      record.posterior_gradients.push_back(take(gradient.numel()));
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace facet
