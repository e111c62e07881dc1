#include "facet/search/fast_scan.h"

#include <algorithm>

namespace facet {

float table_sum(const uint8_t* blocks, int64_t parts, int64_t row, const float* tables) {
  const int64_t place = row % kBlockImages;
  const uint8_t* bytes = blocks + row / kBlockImages * parts * kHalfBlock + place % kHalfBlock;
  float sum = 0;
  for (int64_t m = 0; m < parts; ++m, bytes += kHalfBlock, tables += kCentres)
    sum += tables[place < kHalfBlock ? *bytes & 15 : *bytes >> 4];
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
    const uint8_t* const block = blocks.bytes + b * blocks.parts * kHalfBlock;
    std::fill(sums, sums + kBlockImages, uint16_t{0});
    for (const int32_t pair : tables.pairs)
      for (int64_t m = 2 * pair; m < 2 * pair + 2; ++m)
        for (int64_t j = 0; j < kHalfBlock; ++j) {
          const uint8_t* const table = tables.entries.data() + m * kCentres;
          const uint8_t both = block[m * kHalfBlock + j];
          sums[j] = static_cast<uint16_t>(sums[j] + table[both & 15]);
          sums[j + kHalfBlock] = static_cast<uint16_t>(sums[j + kHalfBlock] + table[both >> 4]);
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
