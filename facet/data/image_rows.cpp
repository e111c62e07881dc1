#include "facet/data/image_rows.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "facet/core/file.h"
#include "facet/core/parallel.h"
#include "facet/core/torch.h"

namespace facet {

namespace {

/// Images of fewer bytes may stay in memory.
constexpr size_t many_bytes = size_t{1} << 30;
/// A random image of a mapped file brings its neighbours into memory, with large pages 2 MiB of
/// them: so often they are given back.
constexpr int64_t gathered_before_release = 128;

}  // namespace

ImageRows::ImageRows(std::vector<torch::Tensor> shards) : shards_(std::move(shards)) {
  for (torch::Tensor& shard : shards_) {
    if (shards_.size() > 1) shard = shard.contiguous();  // rows are copied as bytes
    starts_.push_back(starts_.back() + shard.size(0));
  }
  size_t bytes = 0;
  for (const torch::Tensor& shard : shards_) bytes += shard.nbytes();
  if (bytes > many_bytes && device().is_cpu())
    gathered_ = std::make_shared<std::atomic<int64_t>>(0);
}

ImageShape ImageRows::shape() const {
  const torch::Tensor& first = shards_.front();
  return {first.size(1), first.size(2), first.size(3)};
}

int64_t ImageRows::image_bytes() const {
  const ImageShape own = shape();
  return own.channels * own.height * own.width;
}

int64_t ImageRows::source(int64_t index) const {
  return chosen_.defined() ? chosen_.data_ptr<int64_t>()[index] : index;
}

ImageRows::Place ImageRows::place_of(int64_t source) const {
  assert(source >= 0 && source < starts_.back());
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), source);
  const auto shard = static_cast<size_t>(next - starts_.begin()) - 1;
  return {shard, source - starts_[shard]};
}

ImageRows ImageRows::select(const torch::Tensor& chosen) const {
  if (!device().is_cpu()) return gather(chosen);
  ImageRows result = *this;
  const torch::Tensor own = chosen.to(torch::kCPU);
  result.chosen_ = chosen_.defined() ? chosen_.index_select(0, own) : own.contiguous();
  return result;
}

torch::Tensor ImageRows::gather(const torch::Tensor& chosen) const {
  if (plain() && !gathered_) return shards_.front().index_select(0, chosen.to(device()));
  const ImageShape own = shape();
  torch::Tensor result =
      torch::empty({chosen.size(0), own.channels, own.height, own.width}, kUInt8);
  gather_into(result, chosen);
  return result;
}

void ImageRows::gather_into(torch::Tensor& result, const torch::Tensor& chosen) const {
  torch::Tensor sources = chosen.to(torch::kCPU).contiguous();
  if (chosen_.defined()) sources = chosen_.index_select(0, sources);
  const int64_t at_once =
      gathered_ ? gathered_before_release : std::max<int64_t>(1, sources.numel());
  for (int64_t begin = 0; begin < sources.numel(); begin += at_once) {
    const int64_t images = std::min(at_once, sources.numel() - begin);
    torch::Tensor part = result.narrow(0, begin, images);
    gather_sources(part, sources.narrow(0, begin, images));
    release_gathered(images);
  }
}

void ImageRows::gather_sources(torch::Tensor& result, const torch::Tensor& sources) const {
  if (shards_.size() == 1) {
    torch::index_select_out(result, shards_.front(), 0, sources);
    return;
  }
  const int64_t* source = sources.data_ptr<int64_t>();
  auto* const first = result.data_ptr<uint8_t>();
  const auto bytes = static_cast<size_t>(image_bytes());
  parallel_for(sources.numel(), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const Place place = place_of(source[n]);
      std::memcpy(first + static_cast<size_t>(n) * bytes,
                  shards_[place.shard].data_ptr<uint8_t>() + static_cast<size_t>(place.row) * bytes,
                  bytes);
    }
  });
}

void ImageRows::release_gathered(int64_t images) const {
  if (!gathered_ || (*gathered_ += images) < gathered_before_release) return;
  *gathered_ = 0;
  for (const torch::Tensor& shard : shards_)
    if (shard.is_contiguous()) release_pages(shard.data_ptr(), shard.nbytes());
}

torch::Tensor ImageRows::slice(int64_t begin, int64_t count) const {
  if (plain() || count == 0) return shards_.front().narrow(0, plain() ? begin : 0, count);
  const Place first = place_of(source(begin)), last = place_of(source(begin + count - 1));
  bool together = first.shard == last.shard && last.row - first.row == count - 1;
  for (int64_t n = 1; together && chosen_.defined() && n < count; ++n)
    together = source(begin + n) == source(begin) + n;
  if (together) return shards_[first.shard].narrow(0, first.row, count);
  return gather(torch::arange(begin, begin + count, kInt64));
}

void ImageRows::for_each_slice(int64_t size,
                               const std::function<void(const torch::Tensor&)>& work) const {
  for (int64_t begin = 0; begin < count(); begin += size) {
    const int64_t images = std::min(size, count() - begin);
    work(slice(begin, images));
    release(begin, images);
  }
}

void ImageRows::release(int64_t begin, int64_t count) const {
  if (count == 0 || !device().is_cpu()) return;
  int64_t lowest = source(begin), highest = lowest;
  for (int64_t n = begin; n < begin + count; ++n) {
    lowest = std::min(lowest, source(n));
    highest = std::max(highest, source(n));
  }
  for (Place place = place_of(lowest); place.shard < shards_.size(); ++place.shard, place.row = 0) {
    const int64_t start = starts_[place.shard];
    const int64_t end = std::min(highest + 1, starts_[place.shard + 1]) - start;
    if (end <= place.row) return;
    const torch::Tensor rows = shards_[place.shard].narrow(0, place.row, end - place.row);
    if (rows.is_contiguous()) release_pages(rows.data_ptr(), rows.nbytes());
  }
}

torch::Tensor ImageRows::shard_numbers() const {
  torch::Tensor numbers = torch::empty({count()}, kInt64);
  int64_t* const number = numbers.data_ptr<int64_t>();
  for (int64_t n = 0; n < count(); ++n) number[n] = static_cast<int64_t>(place_of(source(n)).shard);
  return numbers;
}

}  // namespace facet
