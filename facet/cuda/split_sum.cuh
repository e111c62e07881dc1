// The end of a tile whose sum several blocks share (split-K): their parts are added in a fixed
// order, so that equal inputs give equal bits, and each block stores its share of the tile.
#pragma once

#include <cooperative_groups.h>

#include "facet/cuda/convolution.h"

namespace facet::cuda {

/// How many blocks share a sum: clusters of up to eight neighbours in the grid's z, which read each
/// other's shared memory, and several clusters, which meet in global memory.
struct SplitSum {
  int splits = 1, cluster = 1;
};

/// The blocks of a cluster. Code for GPUs before compute capability 9.0 knows none, and the host
/// starts none there (KernelTarget::clusters).
struct Cluster {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  __device__ __forceinline__ static void sync() {}
  __device__ __forceinline__ static const float* shared_of(const float* own, int) { return own; }
#else
  __device__ __forceinline__ static void sync() { cooperative_groups::this_cluster().sync(); }
  /// Where block number `other` has what this block has at `own`.
  __device__ __forceinline__ static const float* shared_of(const float* own, int other) {
    return cooperative_groups::this_cluster().map_shared_rank(const_cast<float*>(own), other);
  }
#endif
};

__device__ __forceinline__ float4 add_quads(const float4& a, const float4& b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/// Sums of four neighbours in a row over the blocks of a cluster, from their shared memory.
template <class Shape>
struct ClusterSums {
  const float* result;
  int blocks;

  __device__ __forceinline__ float4 operator()(int quad) const {
    constexpr int row_quads = Shape::columns / 4;
    const int at = quad / row_quads * Shape::result_pitch + quad % row_quads * 4;
    float4 sum = make_float4(0, 0, 0, 0);
    if (blocks == 1) return *reinterpret_cast<const float4*>(result + at);
    for (int other = 0; other < blocks; ++other)
      sum =
          add_quads(sum, *reinterpret_cast<const float4*>(Cluster::shared_of(result, other) + at));
    return sum;
  }
};

/// The same over clusters, from the workspace.
template <class Shape>
struct WorkspaceSums {
  const float4* parts;
  int clusters;

  __device__ __forceinline__ float4 operator()(int quad) const {
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 4
    for (int part = 0; part < clusters; ++part)
      sum = add_quads(sum, __ldcg(parts + static_cast<size_t>(part) * Shape::quads + quad));
    return sum;
  }
};

/// Stores quads [begin, end) of a tile. What `output` fetches from memory besides takes long to
/// arrive: of a large tile several are fetched at once.
template <class Shape, class Sums, class Output>
__device__ __forceinline__ void store_quads(int begin, int end, const Sums& sums_of,
                                            const Output& output) {
  constexpr int row_quads = Shape::columns / 4;
  constexpr int together = Shape::quads / Shape::threads < 16 ? 1 : Shape::blocks > 0 ? 8 : 4;
  for (int first = begin + threadIdx.x; first < end; first += together * Shape::threads) {
    typename Output::Fetched fetched[together];
    float4 sums[together];
#pragma unroll
    for (int i = 0; i < together; ++i) {
      const int quad = first + i * Shape::threads;
      if (quad >= end) break;
      fetched[i] = output.fetch(quad / row_quads, quad % row_quads * 4);
      sums[i] = sums_of(quad);
    }
#pragma unroll
    for (int i = 0; i < together; ++i) {
      const int quad = first + i * Shape::threads;
      if (quad >= end) break;
      output.store(quad / row_quads, quad % row_quads * 4, sums[i], fetched[i]);
    }
  }
}

/// Whether the other `clusters - 1` have arrived at the counter.
__device__ __forceinline__ bool is_last_cluster(int* counter, int clusters) {
  __shared__ int arrived;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) arrived = atomicAdd(counter, 1);
  __syncthreads();
  return arrived == clusters - 1;
}

/// Adds the parts of tile number `tile` and hands the sums to `output`, four neighbours in a row at
/// a time; every block of the last cluster stores its share. `output.fetch(row, column)` reads what
/// `output.store(row, column, sum, fetched)` needs besides.
template <class Shape, class Output>
__device__ __forceinline__ void store_tile(const float* result, const SplitSum& split_sum,
                                           const Workspace& workspace, int tile, int split,
                                           const Output& output) {
  const int rank = split % split_sum.cluster, clusters = split_sum.splits / split_sum.cluster;
  const int share = Shape::quads / split_sum.cluster;
  const int begin = rank * share, end = begin + share;
  const ClusterSums<Shape> cluster_sums{result, split_sum.cluster};
  if (split_sum.cluster > 1) Cluster::sync();
  if (clusters == 1) {
    store_quads<Shape>(begin, end, cluster_sums, output);
  } else {
    float4* parts = reinterpret_cast<float4*>(workspace.sums) +
                    static_cast<size_t>(tile) * clusters * Shape::quads;
    float4* own = parts + static_cast<size_t>(split / split_sum.cluster) * Shape::quads;
    for (int quad = begin + threadIdx.x; quad < end; quad += Shape::threads)
      __stcg(own + quad, cluster_sums(quad));
    int* counter = workspace.counters + tile * split_sum.cluster + rank;
    if (is_last_cluster(counter, clusters)) {
      __threadfence();
      store_quads<Shape>(begin, end, WorkspaceSums<Shape>{parts, clusters}, output);
      if (threadIdx.x == 0) *counter = 0;
    }
  }
  if (split_sum.cluster > 1) Cluster::sync();  // nobody leaves while others read its memory
}

}  // namespace facet::cuda
