#include "facet/train/part_gradients.h"

#include <algorithm>

#include "facet/core/torch.h"

namespace facet {

PartGradients::PartGradients(const TrainOptions& options, Vae& model, Adam& adam,
                             std::shared_ptr<Ranks> ranks)
    : model_(model),
      adam_(adam),
      parts_(options.batch_size, options.batch_parts, std::move(ranks), "train."),
      exact_(options.reduce == "exact") {}

torch::Tensor PartGradients::gather_images(const std::vector<torch::Tensor>& of_parts) const {
  return ranks().gather(torch::cat(of_parts),
                        parts_.per_rank([](const BatchPart& part) { return part.count(); }));
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
  if (!ranks().alone())
    for (torch::Tensor* gradient : posterior_gradients()) gradient->reset();
}

void PartGradients::keep_part(torch::Tensor& of_parts, int64_t index, int64_t own) {
  if (model_.accelerated()) model_.finish_gradients();
  const torch::Tensor gradients = adam_.gradients().unsqueeze(0);
  if (own == 1) {
    of_parts = gradients;
  } else if (ranks().alone()) {  // a sum needs less memory
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
  if (!ranks().alone())
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
  if (!ranks().alone()) sum_posterior_gradients(records);

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
  if (!parts_apart())
    ranks().sum(adam_.gradients());
  else if (ranks().alone())
    adam_.gradients().copy_(of_parts[0]);
  else
    ranks().sum_rows(of_parts, parts_.one_per_part(), adam_.gradients());
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
  if (ranks().alone()) return own;
  torch::NoGradGuard no_gradient;
  PartRecord& like = own.front();  // for shapes and types
  std::vector<torch::Tensor> packed;
  for (PartRecord& record : own) packed.push_back(pack_record(record));
  const torch::Tensor all = ranks().gather(
      packed.size() == 1 ? packed[0] : torch::cat(packed),
      parts_.per_rank([&](const BatchPart& part) { return packed_bytes(like, part.count()); }));
  std::vector<PartRecord> records;
  int64_t begin = 0;
  for (const BatchPart& part : parts_.all()) {
    const int64_t bytes = packed_bytes(like, part.count());
    records.push_back(unpack_record(like, all.narrow(0, begin, bytes), part.count()));
    begin += bytes;
  }
  return records;
}

}  // namespace facet
