// Philox4x32-10 (Salmon et al. 2011): random words as a pure function of a key, of a number that is
// read from GPU memory (the step) and of a place. There is no state, so a captured step draws anew
// at each replay, and any thread can draw any element.
#pragma once

#include <cstdint>

namespace facet::cuda {

struct Draws {
  uint64_t key;
  uint64_t step;
};

__device__ inline Draws draws_of(uint64_t key, const int64_t* step) {
  return {key, step ? static_cast<uint64_t>(*step) : 0};
}

/// Four random words for a place.
__device__ inline uint4 random_words(const Draws& draws, uint64_t place) {
  uint4 c = {static_cast<uint32_t>(place), static_cast<uint32_t>(place >> 32),
             static_cast<uint32_t>(draws.step), static_cast<uint32_t>(draws.step >> 32)};
  uint32_t k0 = static_cast<uint32_t>(draws.key), k1 = static_cast<uint32_t>(draws.key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint32_t high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
    const uint32_t high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
    c = {high1 ^ c.y ^ k0, low1, high0 ^ c.w ^ k1, low0};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

/// Two normals of two words (Box and Muller); the first word's uniform is never 0.
__device__ inline float2 two_normals(uint32_t radius_word, uint32_t angle_word) {
  const float u = fmaf(static_cast<float>(radius_word), 0x1p-32f, 0x1p-33f);
  const float radius = sqrtf(-2.0f * logf(u));
  float sine, cosine;
  sincospif(static_cast<float>(angle_word) * 0x1p-31f, &sine, &cosine);
  return {radius * cosine, radius * sine};
}

/// Element i of a float tensor of normals is number i % 4 of place i / 4.
__device__ inline float4 four_normals(const Draws& draws, uint64_t place) {
  const uint4 words = random_words(draws, place);
  const float2 a = two_normals(words.x, words.y), b = two_normals(words.z, words.w);
  return {a.x, a.y, b.x, b.y};
}

/// A uniform of 53 bits, in [0, 1).
__device__ inline double uniform_double(uint32_t high, uint32_t low) {
  const uint64_t bits = (static_cast<uint64_t>(high) << 32) | low;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace facet::cuda
