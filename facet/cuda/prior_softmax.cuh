// The softmax over the components of a factor. Its normaliser is kept per tile of 8 components, as
// the highest score and the sum of exp(score - highest); whoever needs the whole joins the tiles,
// and beyond 512 components a kernel of its own has joined them before.
#pragma once

#include "facet/cuda/prior_tile.cuh"

namespace facet::cuda::prior_kernels {

/// More tiles than this are joined by combine().
constexpr int most_tiles = 64;

/// How many normalisers terms() and update() find: one per tile, or one after combine().
__device__ __forceinline__ int64_t normalisers_of(int64_t components) {
  const int64_t tiles = tiles_of(components);
  return tiles > most_tiles ? 1 : tiles;
}

/// factor.tile_sums holds the normalisers [tiles, images], and then the tiles' sums of
/// pseudo-counts.
__device__ __forceinline__ double2* normaliser_at(const PriorFactor& factor, int64_t images,
                                                  int64_t tile, int64_t image) {
  return reinterpret_cast<double2*>(factor.tile_sums) + tile * images + image;
}
__device__ __forceinline__ double* tile_counts(const PriorFactor& factor, int64_t images) {
  return factor.tile_sums + 2 * tiles_of(factor.components) * images;
}

/// Per image, joins the normalisers of all tiles into that of the first; likewise the sums of
/// pseudo-counts.
static __global__ void __launch_bounds__(threads)
    combine(const __grid_constant__ PriorBatch batch) {
  __shared__ double shared[32];
  const PriorFactor& factor = batch.factor[blockIdx.y];
  const int64_t tiles = tiles_of(factor.components), image = blockIdx.x;
  if (tiles <= most_tiles) return;
  double highest = -INFINITY, sum = 0;
  for (int64_t tile = threadIdx.x; tile < tiles; tile += threads)
    highest = max(highest, normaliser_at(factor, batch.images, tile, image)->x);
  highest = block_max(highest, shared);
  for (int64_t tile = threadIdx.x; tile < tiles; tile += threads) {
    const double2 own = *normaliser_at(factor, batch.images, tile, image);
    sum += own.y * exp(own.x - highest);
  }
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) *normaliser_at(factor, batch.images, 0, image) = {highest, sum};
  if (image != 0) return;
  double* counts = tile_counts(factor, batch.images);
  double total = 0;
  for (int64_t tile = threadIdx.x; tile < tiles; tile += threads) total += counts[tile];
  total = block_sum(total, shared);
  if (threadIdx.x == 0) counts[0] = total;
}

/// The logarithm of an image's normaliser, computed by `width` neighbouring threads of which this
/// one is number `index`; at most eight normalisers per thread.
template <int width>
__device__ __forceinline__ double log_normaliser(const PriorFactor& factor, int64_t images,
                                                 int64_t image, int index) {
  constexpr int each = most_tiles / width;
  const int count = static_cast<int>(normalisers_of(factor.components));
  double2 own[each];
  double highest = -INFINITY, sum = 0;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const int tile = index + i * width;
    own[i] = tile < count && image < images ? *normaliser_at(factor, images, tile, image)
                                            : double2{-INFINITY, 0};
    highest = max(highest, own[i].x);
  }
#pragma unroll
  for (int offset = width / 2; offset > 0; offset /= 2)
    highest = max(highest, __shfl_xor_sync(whole_warp, highest, offset));
#pragma unroll
  for (int i = 0; i < each; ++i)
    if (own[i].y > 0) sum += own[i].y * exp(own[i].x - highest);
#pragma unroll
  for (int offset = width / 2; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(whole_warp, sum, offset);
  return highest + log(sum);
}

}  // namespace facet::cuda::prior_kernels
