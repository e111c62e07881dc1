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

void PartGradients::begin_part(bool first) {
  if (first || parts_apart()) {
    if (model_.accelerated())
      model_.begin_gradients();
    else
      adam_.zero_gradients();
  }
  if (!ranks_->alone())
    for (torch::Tensor* gradient : posterior_gradients()) gradient->reset();
}

void PartGradients::keep_part(torch::Tensor& of_parts, int64_t index, int64_t own) {
  if (model_.accelerated()) model_.finish_gradients();
  const torch::Tensor gradients = adam_.gradients().unsqueeze(0);
  if (own == 1) {
    of_parts = gradients;
  } else if (ranks_->alone()) {  // a sum needs less memory
    if (index == 0)
      of_parts = gradients.clone();
    else
      of_parts.add_(gradients);
  } else {
    if (index == 0) of_parts = torch::empty({own, gradients.size(1)}, gradients.options());
    of_parts[index].copy_(gradients[0]);
  }
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
  for (const BatchPart& part : own) {
    const bool last = part.index == own.back().index;
    begin_part(part.index == own.front().index);
    PartTerms terms = part_terms(part);
    // Parts share the graph of the prior's parameters.
    terms.loss.backward({}, /*retain_graph=*/!last);
    for (const auto& [name, tensor] : terms.tensors)
      debug.tensors.emplace_back(name, tensor.detach());
    records.push_back(record_of(std::move(terms)));
    if (parts_apart())
      keep_part(network_gradients, part.index - own.front().index,
                static_cast<int64_t>(own.size()));
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
  torch::NoGradGuard no_gradient;
  if (parts_apart())
    adam_.gradients().copy_(
        ranks_->alone() ? of_parts[0]
                        : ranks_->sum_rows(of_parts, per_rank([](const BatchPart&) { return 1; })));
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

// A record is packed as bytes, so that numbers of several types are exchanged at once and come back
// as views, without a kernel for each of them on a GPU.

/// Wider types first, so that every number is aligned.
std::vector<PartGradients::Piece> PartGradients::pieces_of(PartRecord& record) {
  std::vector<Piece> pieces = {{&record.loss, false}};
  for (torch::Tensor* term : image_terms(record.step)) pieces.push_back({term, true});
  for (torch::Tensor& gradient : record.posterior_gradients) pieces.push_back({&gradient, false});
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& one, const Piece& other) {
    return one.tensor->element_size() > other.tensor->element_size();
  });
  return pieces;
}

/// Whole words of eight bytes, for the record that follows.
int64_t PartGradients::packed_bytes(PartRecord& like, int64_t images) {
  int64_t bytes = 0;
  for (const Piece& piece : pieces_of(like))
    bytes += piece.count(images) * static_cast<int64_t>(piece.tensor->element_size());
  return (bytes + 7) / 8 * 8;
}

torch::Tensor PartGradients::pack_record(PartRecord& record) {
  std::vector<torch::Tensor> all;
  int64_t bytes = 0;
  for (const Piece& piece : pieces_of(record)) {
    all.push_back(piece.tensor->reshape({-1}).contiguous().view(kUInt8));
    bytes += all.back().size(0);
  }
  if (bytes % 8 > 0) all.push_back(all.front().narrow(0, 0, 8 - bytes % 8));  // fills the word
  return torch::cat(all);
}

PartGradients::PartRecord PartGradients::unpack_record(PartRecord like, const torch::Tensor& bytes,
                                                       int64_t images) {
  int64_t begin = 0;
  for (const Piece& piece : pieces_of(like)) {
    const int64_t length = piece.count(images) * static_cast<int64_t>(piece.tensor->element_size());
    const torch::Tensor numbers = bytes.narrow(0, begin, length).view(piece.tensor->scalar_type());
    *piece.tensor = piece.per_image ? numbers : numbers.view(piece.tensor->sizes());
    begin += length;
  }
  return like;
}

/// The records of all ranks' parts, in the order of parts.
std::vector<PartGradients::PartRecord> PartGradients::all_records(
    std::vector<PartRecord> own) const {
  if (ranks_->alone()) return own;
  torch::NoGradGuard no_gradient;
  PartRecord& like = own.front();  // for shapes and types
  std::vector<torch::Tensor> packed;
  for (PartRecord& record : own) packed.push_back(pack_record(record));
  const torch::Tensor all = ranks_->gather(
      packed.size() == 1 ? packed[0] : torch::cat(packed),
      per_rank([&](const BatchPart& part) { return packed_bytes(like, part.count()); }));
  std::vector<PartRecord> records;
  int64_t begin = 0;
  for (const BatchPart& part : parts_of_batch(batch_size_, parts_)) {
    const int64_t bytes = packed_bytes(like, part.count());
    records.push_back(unpack_record(like, all.narrow(0, begin, bytes), part.count()));
    begin += bytes;
  }
  return records;
}

}  // namespace facet
