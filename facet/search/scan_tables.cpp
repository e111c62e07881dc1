#include "facet/search/scan_tables.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "facet/core/torch.h"

namespace facet {

torch::Tensor arrange_blocks(const torch::Tensor& numbers) {
  assert(numbers.size(1) % 2 == 0);
  const int64_t images = numbers.size(0), parts = numbers.size(1);
  torch::Tensor padded = torch::zeros({block_count(images) * kBlockImages, parts}, kUInt8);
  padded.narrow(0, 0, images).copy_(numbers);
  const torch::Tensor halves = padded.view({-1, 2, kHalfBlock, parts});  // [blocks, 2, 16, M]
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

}  // namespace facet
