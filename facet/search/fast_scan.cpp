#include "facet/search/fast_scan.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "facet/core/torch.h"

namespace facet {

namespace {

constexpr int64_t kHalf = kBlockImages / 2;

int64_t block_count(int64_t images) { return (images + kBlockImages - 1) / kBlockImages; }

}  // namespace

torch::Tensor arrange_blocks(const torch::Tensor& numbers) {
  assert(numbers.size(1) % 2 == 0);
  const int64_t images = numbers.size(0), parts = numbers.size(1);
  torch::Tensor padded = torch::zeros({block_count(images) * kBlockImages, parts}, kUInt8);
  padded.narrow(0, 0, images).copy_(numbers);
  const torch::Tensor halves = padded.view({-1, 2, kHalf, parts});  // [blocks, 2, 16, M]
  const torch::Tensor bytes = halves.select(1, 0) + halves.select(1, 1) * 16;
  return bytes.transpose(1, 2).contiguous();
}

ScanTables round_tables(const torch::Tensor& tables, const std::vector<bool>& counts,
                        float farthest) {
  const int64_t parts = tables.size(0);
  const auto table = tables.accessor<float, 2>();
  ScanTables result;
  result.entries.assign(static_cast<size_t>(parts * kCentres), 0);
  std::vector<float> least(static_cast<size_t>(parts), 0);
  float widest = 0;
  for (int64_t m = 0; m < parts; ++m) {
    if (!counts[static_cast<size_t>(m)]) continue;
    const auto [low, high] = std::minmax_element(table[m].data(), table[m].data() + kCentres);
    least[static_cast<size_t>(m)] = *low;
    widest = std::max(widest, *high - *low);
    result.offset += *low;
  }
  widest = std::max(std::min(widest, farthest), std::numeric_limits<float>::min());
  result.step = widest / 255;
  for (int64_t m = 0; m < parts; ++m) {
    if (!counts[static_cast<size_t>(m)]) continue;
    for (int64_t c = 0; c < kCentres; ++c) {
      const float excess = table[m][c] - least[static_cast<size_t>(m)];
      result.entries[static_cast<size_t>(m * kCentres + c)] =
          static_cast<uint8_t>(std::min(255.0F, std::round(excess / result.step)));
    }
    const auto pair = static_cast<int32_t>(m / 2);
    if (result.pairs.empty() || result.pairs.back() != pair) result.pairs.push_back(pair);
  }
  return result;
}

float table_sum(const uint8_t* blocks, int64_t parts, int64_t row, const float* tables) {
  const int64_t place = row % kBlockImages;
  const uint8_t* bytes = blocks + row / kBlockImages * parts * kHalf + place % kHalf;
  float sum = 0;
  for (int64_t m = 0; m < parts; ++m, bytes += kHalf, tables += kCentres)
    sum += tables[place < kHalf ? *bytes & 15 : *bytes >> 4];
  return sum;
}

void Shortlist::shrink() {
  if (found_.size() <= count_) return;
  std::nth_element(found_.begin(), found_.begin() + static_cast<long>(count_) - 1, found_.end());
  found_.resize(count_);
  // Rows ascend: a later one with the same sum as the last would only be dropped again.
  limit_ = static_cast<uint16_t>(std::max(1, int{found_.back().first}) - 1);
}

std::vector<std::pair<uint16_t, int64_t>> Shortlist::take() {
  shrink();
  return std::move(found_);
}

int64_t find_block_plain(const ScanBlocks& blocks, const ScanTables& tables, int64_t begin,
                         uint16_t limit, uint16_t* sums) {
  const int64_t end = block_count(blocks.images);
  for (int64_t b = begin; b < end; ++b) {
    const uint8_t* const block = blocks.bytes + b * blocks.parts * kHalf;
    std::fill(sums, sums + kBlockImages, uint16_t{0});
    for (const int32_t pair : tables.pairs)
      for (int64_t m = 2 * pair; m < 2 * pair + 2; ++m)
        for (int64_t j = 0; j < kHalf; ++j) {
          const uint8_t* const table = tables.entries.data() + m * kCentres;
          const uint8_t both = block[m * kHalf + j];
          sums[j] = static_cast<uint16_t>(sums[j] + table[both & 15]);
          sums[j + kHalf] = static_cast<uint16_t>(sums[j + kHalf] + table[both >> 4]);
        }
    if (std::any_of(sums, sums + kBlockImages, [&](uint16_t sum) { return sum <= limit; }))
      return b;
  }
  return end;
}

void scan_blocks(const ScanBlocks& blocks, const ScanTables& tables, int64_t first_row,
                 Shortlist& list) {
  static const BlockSearch fast = find_block_avx2();
  const BlockSearch find = fast == nullptr ? find_block_plain : fast;
  const int64_t end = block_count(blocks.images);
  uint16_t sums[kBlockImages];
  for (int64_t b = 0; (b = find(blocks, tables, b, list.limit(), sums)) < end; ++b) {
    const uint32_t allowed = blocks.allowed == nullptr ? ~uint32_t{0} : blocks.allowed[b];
    const int64_t row = b * kBlockImages, count = std::min(kBlockImages, blocks.images - row);
    for (int64_t j = 0; j < count; ++j)
      if ((allowed >> j & 1) != 0 && sums[j] <= list.limit())
        list.add(sums[j], first_row + row + j);
  }
}

}  // namespace facet
