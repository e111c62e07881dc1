// The scan for processors with AVX2: a register holds two parts of 16 images, one shuffle looks all
// of them up. Only the functions marked so are compiled for AVX2, and the program asks the
// processor before it calls them.
#include <immintrin.h>

#include "facet/search/fast_scan.h"

namespace facet {

namespace {

/// Compiled for AVX2, whatever the rest of the program is compiled for.
#define FACET_AVX2 __attribute__((target("avx2")))

constexpr int64_t kPairBytes = 32;

/// Sums of 16 images: bytes are added as 16-bit numbers, so that those at even places have those at
/// odd places in their upper half, which is taken off at the end.
struct Sums {
  __m256i both, odd;
};

FACET_AVX2 Sums add(const Sums& sums, __m256i entries) {
  return {_mm256_add_epi16(sums.both, entries),
          _mm256_add_epi16(sums.odd, _mm256_srli_epi16(entries, 8))};
}

/// Adds the two parts of every pair, which lie in the two halves.
FACET_AVX2 __m128i add_halves(__m256i sums) {
  return _mm_add_epi16(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
}

/// The 16 sums in order.
FACET_AVX2 __m256i total(const Sums& sums) {
  const __m128i even = add_halves(_mm256_sub_epi16(sums.both, _mm256_slli_epi16(sums.odd, 8)));
  const __m128i odd = add_halves(sums.odd);
  return _mm256_set_m128i(_mm_unpackhi_epi16(even, odd), _mm_unpacklo_epi16(even, odd));
}

FACET_AVX2 int64_t find_block(const ScanBlocks& blocks, const ScanTables& tables, int64_t begin,
                              uint16_t limit, uint16_t* sums) {
  const int64_t end = block_count(blocks.images);
  const int64_t block_bytes = blocks.parts * kHalfBlock;
  const int32_t* const pairs = tables.pairs.data();
  const size_t pair_count = tables.pairs.size();
  const uint8_t* const entries = tables.entries.data();
  const __m256i low = _mm256_set1_epi8(0x0F), most = _mm256_set1_epi16(static_cast<int16_t>(limit));
  for (int64_t b = begin; b < end; ++b) {
    const uint8_t* const block = blocks.bytes + b * block_bytes;
    const __m256i zero = _mm256_setzero_si256();
    Sums first{zero, zero}, second{zero, zero};
    for (size_t p = 0; p < pair_count; ++p) {
      const int64_t at = pairs[p] * kPairBytes;
      const __m256i numbers = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + at));
      const __m256i table = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(entries + at));
      const __m256i high = _mm256_srli_epi16(numbers, 4);
      first = add(first, _mm256_shuffle_epi8(table, _mm256_and_si256(numbers, low)));
      second = add(second, _mm256_shuffle_epi8(table, _mm256_and_si256(high, low)));
    }
    const __m256i one = total(first), two = total(second);
    // A saturated difference of zero is a sum of at most the limit.
    const __m256i near = _mm256_or_si256(_mm256_cmpeq_epi16(_mm256_subs_epu16(one, most), zero),
                                         _mm256_cmpeq_epi16(_mm256_subs_epu16(two, most), zero));
    if (_mm256_movemask_epi8(near) == 0) continue;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums), one);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + kHalfBlock), two);
    return b;
  }
  return end;
}

}  // namespace

BlockSearch find_block_avx2() { return __builtin_cpu_supports("avx2") ? find_block : nullptr; }

}  // namespace facet
