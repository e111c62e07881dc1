// The scan against a plain sum over the parts of every image.
#include "facet/search/fast_scan.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "facet/core/random.h"
#include "facet/core/torch.h"
#include "facet/search/scan_tables.h"

namespace facet {
namespace {

torch::Tensor random_numbers(int64_t images, int64_t parts) {
  return (uniform(Key(1), {images, parts}, {}) * 16).to(kUInt8);
}
torch::Tensor random_tables(int64_t parts) { return uniform(Key(2), {parts, 16}, {}) * 9 + 1; }

/// Table entries of every image, added up one by one, [N].
std::vector<int64_t> slow_sums(const torch::Tensor& numbers, const ScanTables& tables) {
  std::vector<int64_t> sums;
  for (int64_t n = 0; n < numbers.size(0); ++n) {
    int64_t sum = 0;
    for (int64_t m = 0; m < numbers.size(1); ++m)
      sum += tables.entries[static_cast<size_t>(m * 16 + numbers[n][m].item<int64_t>())];
    sums.push_back(sum);
  }
  return sums;
}

std::vector<bool> all_parts(int64_t parts) {
  return std::vector<bool>(static_cast<size_t>(parts), true);
}

TEST(FastScan, RoundedTablesAreTheDistancesWithinAStep) {
  const torch::Tensor tables = random_tables(6);
  const ScanTables rounded = round_tables(tables, all_parts(6), 1e9F);
  for (int64_t m = 0; m < 6; ++m) {
    const double least = tables[m].min().item<double>();
    for (int64_t c = 0; c < 16; ++c)
      EXPECT_NEAR(rounded.entries[static_cast<size_t>(m * 16 + c)] * rounded.step,
                  tables[m][c].item<double>() - least, 0.501 * rounded.step);
  }
  EXPECT_NEAR(rounded.offset, tables.amin(1).sum().item<double>(), 1e-4);
  EXPECT_EQ(rounded.pairs, (std::vector<int32_t>{0, 1, 2}));
}

TEST(FastScan, EntriesBeyondTheFarthestAreCutAndTheOthersFiner) {
  const torch::Tensor tables = random_tables(4);
  const ScanTables all = round_tables(tables, all_parts(4), 1e9F);
  const ScanTables near = round_tables(tables, all_parts(4), 2.0F);
  EXPECT_LT(near.step, all.step / 3);
  EXPECT_FLOAT_EQ(near.step, 2.0F / 255);
  EXPECT_GT(std::count(near.entries.begin(), near.entries.end(), 255), 4);
}

TEST(FastScan, PlainAndFastFindTheSameBlocksAndSums) {
  for (const int64_t parts : {2, 10, 64})
    for (const int64_t images : {1, 31, 32, 333}) {
      const torch::Tensor numbers = random_numbers(images, parts);
      const torch::Tensor blocks = arrange_blocks(numbers);
      const ScanTables tables = round_tables(random_tables(parts), all_parts(parts), 1e9F);
      const ScanBlocks view{blocks.data_ptr<uint8_t>(), parts, images};
      const std::vector<int64_t> expected = slow_sums(numbers, tables);
      for (const BlockSearch find : {BlockSearch{find_block_plain}, find_block_avx2()}) {
        if (find == nullptr) continue;  // another processor
        uint16_t sums[kBlockImages];
        int64_t seen = 0;
        for (int64_t b = 0; (b = find(view, tables, b, 0xFFFF, sums)) < blocks.size(0); ++b)
          for (int64_t j = 0; j < kBlockImages && b * 32 + j < images; ++j, ++seen)
            ASSERT_EQ(sums[j], expected[static_cast<size_t>(b * 32 + j)]) << parts << " " << images;
        EXPECT_EQ(seen, images);
        // Above the smallest sum of the first block nothing is passed over; below it, it is.
        const auto least = static_cast<uint16_t>(
            *std::min_element(expected.begin(), expected.begin() + std::min<int64_t>(32, images)));
        EXPECT_EQ(find(view, tables, 0, least, sums), 0);
        if (images <= 31 || least == 0) continue;
        EXPECT_NE(find(view, tables, 0, static_cast<uint16_t>(least - 1), sums), 0);
      }
    }
}

TEST(FastScan, TheShortListHasTheSmallestSumsThatAreAllowed) {
  const int64_t images = 5000, parts = 8;
  const torch::Tensor numbers = random_numbers(images, parts);
  const torch::Tensor blocks = arrange_blocks(numbers);
  std::vector<bool> counts = all_parts(parts);
  counts[2] = counts[3] = counts[5] = false;
  const ScanTables tables = round_tables(random_tables(parts), counts, 1e9F);
  EXPECT_EQ(tables.pairs, (std::vector<int32_t>{0, 2, 3}));
  std::vector<uint32_t> allowed(static_cast<size_t>(blocks.size(0)), 0x55555555);  // every other
  const std::vector<int64_t> sums = slow_sums(numbers, tables);
  std::vector<std::pair<uint16_t, int64_t>> expected;
  for (int64_t n = 0; n < images; n += 2)
    expected.emplace_back(static_cast<uint16_t>(sums[static_cast<size_t>(n)]), n + 100);
  std::sort(expected.begin(), expected.end());
  for (const size_t wanted : {1, 50, 2000, 9999}) {
    Shortlist list(wanted);
    scan_blocks({blocks.data_ptr<uint8_t>(), parts, images, allowed.data()}, tables, 100, list);
    auto found = list.take();
    std::sort(found.begin(), found.end());
    const size_t count = std::min(wanted, expected.size());
    ASSERT_EQ(found.size(), count);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(found[i].first, expected[i].first) << i;
    for (const auto& [sum, row] : found) EXPECT_EQ(sums[static_cast<size_t>(row - 100)], sum);
  }
}

}  // namespace
}  // namespace facet
