#include "facet/data/batches.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "facet/core/torch.h"
#include "facet/data/augment.h"
#include "facet/data/image_slices.h"

namespace facet {

void DataOptions::visit(OptionVisitor& visitor) {
  visitor.option(
      "pack", pack,
      "A pack made by 'facet import'; one in several files by a name with a '*'; empty: the "
      "built-in portraits.");
  visitor.option("portraits", portraits, "The built-in portraits, used if 'pack' is empty.");
  visitor.option("train_splits", train_splits, "Splits to train on.", one_of(split_names));
  visitor.option("binarize", binarize,
                 "Binarize pixels to 0 and 1: never, once ('fixed'), or, in training, each time an "
                 "image is drawn ('draw'); the grey value is the probability of a 1.",
                 one_of({"none", "fixed", "draw"}));
  visitor.option("binarize_seed", binarize_seed, "Seed for images that are binarized once.",
                 at_least(0));
  visitor.option("mirror", mirror,
                 "Swap left and right with probability 1/2 each time a training image is drawn: "
                 "for faces and objects, not for digits and letters.");
  visitor.option("label_fraction", label_fraction,
                 "Fraction of the training images whose labels are used; the others are hidden.",
                 between(0, 1));
  visitor.option(
      "labels_per_value", labels_per_value,
      "Number of training images that keep their label, for each value of each property; "
      "the others are hidden. 0: all of the label_fraction.",
      at_least(0));
  visitor.option("label_seed", label_seed, "Seed that selects the images that keep their labels.",
                 at_least(0));
}

Pack load_data(const DataOptions& options) {
  return options.pack.empty() ? make_portraits(options.portraits) : read_pack(options.pack);
}

namespace {

/// Pixels of the chosen images on the device `place`, binarized if `seed` is given.
torch::Tensor make_pixels(const Pack& pack, const torch::Tensor& chosen,
                          std::optional<int64_t> seed, torch::Device place) {
  const ImageShape shape = pack.shape();
  torch::Tensor pixels = torch::empty({chosen.size(0), shape.channels, shape.height, shape.width},
                                      torch::TensorOptions().dtype(kUInt8).device(place));
  // In slices, so that a large set and its random numbers are never all in the host's memory.
  int64_t slice = 0;
  pack.images.select(chosen).for_each_slice(kImagesPerSlice, [&](const torch::Tensor& part) {
    pixels.narrow(0, slice * kImagesPerSlice, part.size(0))
        .copy_(seed ? binarize_slice(part, *seed, slice) : part);
    ++slice;
  });
  return pixels;
}

/// An order by groups of shards, as batches.h describes it.
torch::Tensor order_by_shards(const std::vector<torch::Tensor>& by_shard, const Key& key) {
  const torch::Tensor shards = permutation(key, static_cast<int64_t>(by_shard.size()));
  std::vector<torch::Tensor> groups;
  for (const torch::Tensor& some : shards.split(static_cast<int64_t>(kShardsAtOnce))) {
    std::vector<torch::Tensor> parts;
    for (int64_t n = 0; n < some.size(0); ++n)
      parts.push_back(by_shard[static_cast<size_t>(some[n].item<int64_t>())]);
    const torch::Tensor images = torch::cat(parts);
    const Key own = key.fold("shards").fold(static_cast<uint64_t>(groups.size()));
    groups.push_back(images.index_select(0, permutation(own, images.size(0))));
  }
  return torch::cat(groups);
}

/// Hides the labels [N, P] of all images but a random label_fraction.
void hide_images(torch::Tensor& labels, double fraction, const Key& key) {
  const int64_t count = labels.size(0);
  const auto kept = static_cast<int64_t>(std::llround(fraction * static_cast<double>(count)));
  const torch::Tensor hidden = permutation(key, count).narrow(0, kept, count - kept);
  labels.index_fill_(0, hidden.to(labels.device()), -1);
}

/// Hides all labels of a property, [N], but those of the first images in a random order of every
/// value, `kept` of each.
void keep_of_each_value(torch::Tensor labels, int64_t kept, const Key& key) {
  const torch::Tensor order = permutation(key, labels.size(0)), all = labels.cpu();
  const torch::Tensor shuffled = all.index_select(0, order);
  torch::Tensor result = torch::full_like(all, -1);
  for (int64_t value = 0; value <= all.max().item<int64_t>(); ++value) {
    const torch::Tensor places = shuffled.eq(value).nonzero().squeeze(1);
    const torch::Tensor first = places.narrow(0, 0, std::min(kept, places.size(0)));
    result.index_fill_(0, order.index_select(0, first), value);
  }
  labels.copy_(result);
}

/// Hides the labels that training may not use.
void hide_labels(torch::Tensor& labels, const DataOptions& options) {
  const Key key = Key(static_cast<uint64_t>(options.label_seed)).fold("labels");
  if (options.label_fraction < 1.0) hide_images(labels, options.label_fraction, key);
  if (options.labels_per_value == 0 || labels.size(0) == 0) return;
  for (int64_t property = 0; property < labels.size(1); ++property)
    keep_of_each_value(labels.select(1, property), options.labels_per_value,
                       key.fold(static_cast<uint64_t>(property)));
}

}  // namespace

ImageSet ImageSet::select(const torch::Tensor& chosen) const {
  ImageSet result = *this;
  result.pixels = pixels.select(chosen);
  result.labels = labels.index_select(0, chosen.to(labels.device()));
  if (shards.defined()) result.shards = shards.index_select(0, chosen.to(torch::kCPU));
  return result;
}

torch::Tensor ImageSet::draw(const torch::Tensor& chosen, const Key& key) const {
  return transform(pixels.gather(chosen).to(labels.device()), key);
}

torch::Tensor ImageSet::transform(const torch::Tensor& chosen_pixels, const Key& key) const {
  torch::Tensor result = chosen_pixels;
  if (mirror) result = mirror_half(result, key.fold("mirror"));
  if (augment) result = facet::augment(result, key.fold("augment"));
  return binarize_by_draw ? binarize(result, key) : result;
}

ImageSet select_images(const Pack& pack, const std::vector<Split>& splits,
                       const DataOptions& options, bool training, torch::Device device,
                       bool streamed) {
  const torch::Tensor chosen = pack.indices(splits);
  ImageSet set;
  set.binarize_by_draw = training && options.binarize == "draw";
  set.mirror = training && options.mirror;
  set.streamed = streamed;
  const torch::Device place = streamed ? torch::Device(torch::kCPU) : device;
  std::optional<int64_t> seed;
  if (options.binarize != "none" && !set.binarize_by_draw) seed = options.binarize_seed;
  const auto make = [&] { return make_pixels(pack, chosen, seed, place); };
  const bool as_they_are = place.is_cpu() && !seed;  // mapped files stay files
  std::string name = fmt::format("{} {}", place.str(), seed ? fmt::format("{}", *seed) : "grey");
  for (const Split split : splits) name += fmt::format(" {}", static_cast<int>(split));
  if (as_they_are)
    set.pixels = pack.images.select(chosen);
  else
    set.pixels = pack.shared ? pack.shared->get(name, make) : make();
  if (pack.images.shards() > kShardsAtOnce)
    set.shards = pack.images.shard_numbers().index_select(0, chosen);
  set.labels = pack.labels.index_select(0, chosen).to(kInt64).to(device);
  if (training) hide_labels(set.labels, options);
  return set;
}

Batches::Batches(ImageSet images, const Key& key, int64_t batch_size)
    : images_(std::move(images)), key_(key), batch_size_(batch_size) {
  if (!images_.shards.defined()) return;
  const auto shards = images_.shards.max().item<int64_t>() + 1;
  for (int64_t shard = 0; shard < shards; ++shard) {
    const torch::Tensor own = images_.shards.eq(shard).nonzero().squeeze(1);
    if (own.numel() > 0) by_shard_.push_back(own);  // a shard may be all of another split
  }
}

const torch::Tensor& Batches::order(int64_t epoch) {
  if (epoch != epoch_) {
    const Key key = key_.fold("order").fold(static_cast<uint64_t>(epoch));
    order_ = by_shard_.empty() ? permutation(key, count()) : order_by_shards(by_shard_, key);
    epoch_ = epoch;
  }
  return order_;
}

torch::Tensor Batches::indices(int64_t step) {
  std::vector<torch::Tensor> pieces;
  int64_t position = step * batch_size_;
  for (int64_t missing = batch_size_; missing > 0;) {
    const int64_t offset = position % count();
    const int64_t piece = std::min(missing, count() - offset);
    pieces.push_back(order(position / count()).narrow(0, offset, piece));
    position += piece;
    missing -= piece;
  }
  return torch::cat(pieces);
}

torch::Tensor Batches::labels(int64_t step) {
  return images_.labels.index_select(0, indices(step).to(images_.labels.device()));
}

torch::Tensor Batches::pixels(int64_t step) {
  return images_.draw(indices(step), key_.fold("binarize").fold(static_cast<uint64_t>(step)));
}

void Batches::upload(const torch::Tensor& batch) {
  if (!images_.streamed) return;
  const torch::Device device = images_.labels.device();
  const ImageShape own = images_.pixels.shape();
  const std::vector<int64_t> shape = {batch.size(0), own.channels, own.height, own.width};
  const auto options = torch::TensorOptions().dtype(kUInt8);
  if (!uploaded_.defined()) uploaded_ = torch::empty(shape, options.device(device));
  // Pinned memory, allocated for each batch: LibTorch reuses it once the copy is done.
  torch::Tensor gathered = torch::empty(shape, options.pinned_memory(device.is_cuda()));
  images_.pixels.gather_into(gathered, batch);
  uploaded_.copy_(gathered, /*non_blocking=*/true);
}

torch::Tensor Batches::plain(const torch::Tensor& chosen, const BatchPart& part) const {
  if (images_.streamed) return part.rows(uploaded_);
  return images_.pixels.gather(part.rows(chosen)).to(images_.labels.device());
}

torch::Tensor Batches::draw_distorted(const torch::Tensor& chosen, const torch::Tensor& step,
                                      const BatchPart& part) const {
  const Key key = part.rows(key_.fold("distort").at(step));
  torch::Tensor pixels = plain(chosen, part);
  if (images_.mirror) pixels = mirror_half(pixels, key.fold("mirror"));
  pixels = augment_strongly(pixels, key);
  return images_.binarize_by_draw ? binarize(pixels, key.fold("binarize")) : pixels;
}

torch::Tensor Batches::draw(const torch::Tensor& chosen, const torch::Tensor& step,
                            const BatchPart& part) const {
  return images_.transform(plain(chosen, part), part.rows(key_.fold("binarize").at(step)));
}

}  // namespace facet
