// Products of very many rows with few columns on both sides, as patches of images give them: the
// weights fit into a block's shared memory, and each warp multiplies rows straight from global
// memory. The weights are permuted within groups of 32 along the inner side, and among neighbouring
// columns of the result, so that a thread's fragments are 16 contiguous bytes in memory.
#include "facet/cuda/convolution_launch.cuh"

namespace facet::cuda {

namespace {

using T = __nv_bfloat16;

struct RowProblem {
  const T *source, *weights, *mask;
  const float* bias;
  void* out;
  bool relu;
  int rows, inner, columns;  ///< that the weights know
  int source_pitch, mask_pitch, out_pitch;
};

/// Where number `index` of the inner side stands among the weights: a thread's 8 contiguous numbers
/// are the halves of its fragments in two steps.
__device__ int inner_place(int index) {
  const int group = index / 32, lane = index % 32 / 8, step = index % 8 / 4, half = index % 4 / 2;
  return (2 * group + step) * 16 + half * 8 + 2 * lane + index % 2;
}
/// The same for the result's columns, of which a thread has two in each of `pieces` neighbours.
template <int Pieces>
__device__ int column_place(int index) {
  constexpr int width = 8 * Pieces;
  const int group = index / width, lane = index % width / (2 * Pieces);
  const int piece = index % (2 * Pieces) / 2;
  return (Pieces * group + piece) * 8 + 2 * lane + index % 2;
}

/// A warp's 16 rows of the source: a thread holds 16 bytes of every 32 numbers of two of them.
template <int Groups>
struct Rows {
  uint4 words[Groups][2];

  __device__ void load(const RowProblem& p, int row0) {
    const int lane = threadIdx.x & 31, at = lane % 4 * 8;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const T* from = p.source + static_cast<size_t>(row0 + lane / 4 + 8 * half) * p.source_pitch;
#pragma unroll
      for (int group = 0; group < Groups; ++group)
        words[group][half] = group * 32 + at < p.source_pitch
                                 ? *reinterpret_cast<const uint4*>(from + group * 32 + at)
                                 : make_uint4(0, 0, 0, 0);
    }
  }
  __device__ LeftFragment<T> fragment(int step) const {
    const uint4 &low = words[step / 2][0], &high = words[step / 2][1];
    return step % 2 == 0 ? LeftFragment<T>{low.x, high.x, low.y, high.y}
                         : LeftFragment<T>{low.z, high.z, low.w, high.w};
  }
};

/// Stores a warp's 16 rows of 64 columns.
template <bool Single>
__device__ void store(const RowProblem& p, const float (&sums)[8][4], const float* bias, int row0,
                      int column0) {
  struct alignas(16) Eight {
    T values[8];
  };
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const size_t row = row0 + lane / 4 + 8 * half;
    if constexpr (Single) {
#pragma unroll
      for (int i = 0; i < 8; i += 2) {
        const int n = column0 + i * 8 + lane % 4 * 4;
        if (n < p.columns)
          *reinterpret_cast<float4*>(static_cast<float*>(p.out) + row * p.out_pitch + n) =
              make_float4(sums[i][2 * half] + bias[n], sums[i][2 * half + 1] + bias[n + 1],
                          sums[i + 1][2 * half] + bias[n + 2],
                          sums[i + 1][2 * half + 1] + bias[n + 3]);
      }
    } else {
      const int n0 = column0 + lane % 4 * 8;
      Eight mask[2];
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (p.mask)
          mask[i] = *reinterpret_cast<const Eight*>(p.mask + row * p.mask_pitch + n0 + 32 * i);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        Eight out;
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          float value = sums[4 * i + j / 2][2 * half + j % 2] + bias[n0 + 32 * i + j];
          if (p.relu) value = fmaxf(value, 0.0f);
          if (p.mask && !(__bfloat162float(mask[i].values[j]) > 0.0f)) value = 0.0f;
          out.values[j] = __float2bfloat16_rn(value);
        }
        *reinterpret_cast<Eight*>(static_cast<T*>(p.out) + row * p.out_pitch + n0 + 32 * i) = out;
      }
    }
  }
}

/// out[row][n] = sum over the inner side of source[row] * weights, [columns][inner] or, transposed,
/// [inner][columns]. Groups of 32 of the inner side; out is float32 if Single.
template <int Groups, int Columns, bool Transposed, bool Single>
__global__ void __launch_bounds__(256, 2) row_product(const RowProblem p) {
  constexpr int inner = 32 * Groups, pitch = inner + 8;
  constexpr int together = Single ? 2 : 4;  // pieces of which a thread's Columns are neighbours
  __shared__ __align__(16) T weights[Columns * pitch];
  __shared__ __align__(16) float bias[Columns];
#pragma unroll 8
  for (int i = 0; i < Columns * inner / 256; ++i) {
    const int index = threadIdx.x + 256 * i;
    const int n = Transposed ? index % Columns : index / inner;
    const int k = Transposed ? index / Columns : index % inner;
    const bool known = n < p.columns && k < p.inner;
    const T value = known ? p.weights[Transposed ? k * p.columns + n : n * p.inner + k]
                          : OperandTraits<T>::from(0.0f);
    weights[column_place<together>(n) * pitch + inner_place(k)] = value;
  }
  if (threadIdx.x < Columns)
    bias[threadIdx.x] = p.bias && threadIdx.x < p.columns ? p.bias[threadIdx.x] : 0.0f;
  __syncthreads();

  const int stride = gridDim.x * 8 * 16;
  int row0 = (blockIdx.x * 8 + threadIdx.x / 32) * 16;
  if (row0 >= p.rows) return;
  Rows<Groups> next;
  next.load(p, row0);
  for (; row0 < p.rows; row0 += stride) {
    const Rows<Groups> rows = next;
    if (row0 + stride < p.rows) next.load(p, row0 + stride);
#pragma unroll
    for (int column0 = 0; column0 < Columns; column0 += 64) {
      float sums[8][4] = {};
#pragma unroll
      for (int step = 0; step < 2 * Groups; ++step) {
        const LeftFragment<T> left = rows.fragment(step);
#pragma unroll
        for (int piece = 0; piece < 8; piece += 2) {
          RightFragment<T> right[2];
          load_right<false, pitch>(right, weights, column0 + 8 * piece, 16 * step);
          multiply_add(sums[piece], left, right[0]);
          multiply_add(sums[piece + 1], left, right[1]);
        }
      }
      store<Single>(p, sums, bias, row0, column0);
    }
  }
}

/// Whether pixels follow each other at one distance.
bool contiguous(const View& view, int height, int width) {
  return view.channel == 1 && view.channel_group == 1 && view.row == view.column * width &&
         view.batch == view.row * height;
}

}  // namespace

bool try_row_product(const GatherProblem& g, bool transposed, cudaStream_t stream) {
  const View &source = g.source.view, &out = g.out.view, &mask = g.mask.view;
  const int rows = g.batch * g.out_height * g.out_width;
  if (g.kernel != 1 || g.stride != 1 || g.padding != 0 || rows < 1 << 13 || rows % 16 != 0 ||
      !g.vector_source || !g.vector_out || (mask.data && !g.vector_mask) ||
      !contiguous(source, g.source_height, g.source_width) ||
      !contiguous(out, g.out_height, g.out_width) ||
      (mask.data && !contiguous(mask, g.out_height, g.out_width)))
    return false;
  const int inner = g.known_channels > 0 ? g.known_channels : g.channels;
  const RowProblem p{static_cast<const T*>(source.data),
                     static_cast<const T*>(g.weights),
                     static_cast<const T*>(mask.data),
                     g.bias,
                     out.data,
                     g.relu,
                     rows,
                     inner,
                     g.columns,
                     source.column,
                     mask.column,
                     out.column};
  const dim3 grid(std::min(divide_up(rows, 8 * 16), 2 * 132));
  if (!transposed && g.columns == 128 && !out.single && out.column % 8 == 0 && g.channels <= 64) {
    launch(g.channels <= 32 ? row_product<1, 128, false, false> : row_product<2, 128, false, false>,
           grid, 256, 0, 1, stream, p);
    return true;
  }
  if (transposed && g.columns > 32 && g.columns <= 64 && out.single && !mask.data && !g.relu &&
      g.channels == 128 && out.column >= divide_up(g.columns, 4) * 4) {
    launch(row_product<4, 64, true, true>, grid, 256, 0, 1, stream, p);
    return true;
  }
  return false;
}

}  // namespace facet::cuda
