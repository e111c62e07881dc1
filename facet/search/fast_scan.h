// The scan over quantized latent vectors: every part of a vector is a number of 4 bits, and the
// distance of an image from the query is the sum of one table entry per part. The tables have 16
// entries of 8 bits, so that one instruction looks up 32 of them. The layout is that of faiss's
// fast scan (Andre, Kermarrec, Le Scouarnec 2017). All images are looked at; what comes out is a
// short list to be compared exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace facet {

/// Images whose numbers lie together; a byte has the numbers of two.
inline constexpr int64_t kBlockImages = 32, kHalfBlock = kBlockImages / 2;
inline constexpr int64_t kCentres = 16;
/// Parts that fit into sums of 16 bits.
inline constexpr int64_t kMostParts = 256;

inline int64_t block_count(int64_t images) { return (images + kBlockImages - 1) / kBlockImages; }

/// Tables of 8 bits: the distance is about `offset` + `step` times the sum of a table entry per
/// part. Parts come in pairs; pairs that do not count are left out of the scan.
struct ScanTables {
  std::vector<uint8_t> entries;  ///< [M, 16]
  std::vector<int32_t> pairs;    ///< pair p is parts 2p and 2p + 1
  float offset = 0, step = 1;
};

/// The sum of an image's entries in tables of floats, [M, 16].
float table_sum(const uint8_t* blocks, int64_t parts, int64_t row, const float* tables);

/// The images with the smallest sums so far.
class Shortlist {
 public:
  explicit Shortlist(size_t count) : count_(count) {}

  /// Sums above it are not added.
  uint16_t limit() const { return limit_; }
  void add(uint16_t sum, int64_t row) {
    found_.emplace_back(sum, row);
    if (found_.size() >= 2 * count_ + 64) shrink();
  }
  /// The smallest sums with their rows, at most `count` of them, in no order; ties at the end by
  /// row.
  std::vector<std::pair<uint16_t, int64_t>> take();

 private:
  void shrink();

  size_t count_;
  uint16_t limit_ = 0xFFFF;
  std::vector<std::pair<uint16_t, int64_t>> found_;
};

/// Blocks to scan, as arrange_blocks() gives them.
struct ScanBlocks {
  const uint8_t* bytes = nullptr;
  int64_t parts = 0;
  int64_t images = 0;
  const uint32_t* allowed = nullptr;  ///< one bit per image and word per block; null: all
};

/// Adds the images of `blocks` to the list, by rows that begin at `first_row`.
void scan_blocks(const ScanBlocks& blocks, const ScanTables& tables, int64_t first_row,
                 Shortlist& list);

/// How blocks are looked through: the first block from `begin` on with a sum of at most `limit`,
/// whose 32 sums are written to `sums`; the number of blocks if there is none. There are a plain
/// function and one for processors with AVX2.
using BlockSearch = int64_t (*)(const ScanBlocks& blocks, const ScanTables& tables, int64_t begin,
                                uint16_t limit, uint16_t* sums);
int64_t find_block_plain(const ScanBlocks& blocks, const ScanTables& tables, int64_t begin,
                         uint16_t limit, uint16_t* sums);
/// Null where the processor or the build does not have it.
BlockSearch find_block_avx2();

}  // namespace facet
