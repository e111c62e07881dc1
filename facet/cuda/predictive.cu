// The predictive log density of rows of z. A block has 32 rows and 16 components at a time: a warp
// has one component of all rows, so that its numbers are read once for them. Every thread keeps the
// largest of its components' densities and the sum of the others relative to it; the 16 of a row
// are put together at the end, in one order.
#include "facet/cuda/predictive.h"

namespace facet::cuda {

namespace {

constexpr int block_rows = 32, block_components = 16;
/// Dimensions in shared memory at a time.
constexpr int block_dimensions = 32;
constexpr int threads = block_rows * block_components;

/// exp(largest) * sum is what was added up.
struct LogSum {
  double largest, sum;

  __device__ void add(double value, double times) {
    if (times == 0 || value == -INFINITY) return;
    if (value > largest) {
      sum = sum * exp(largest - value) + times;
      largest = value;
    } else {
      sum += times * exp(value - largest);
    }
  }
};

__global__ void __launch_bounds__(threads)
    predictive(const float* z, int64_t rows, int64_t stride,
               const __grid_constant__ PredictiveMixture mixture, bool add, double* density) {
  __shared__ float block[block_dimensions][block_rows + 1];
  __shared__ double centre[block_components][block_dimensions],
      inverse[block_components][block_dimensions], power[block_components][block_dimensions];
  __shared__ LogSum sums[block_components][block_rows];
  // As a loader, a thread has dimension `lane` of row or component `warp`; as a computer, row
  // `lane` of component `warp`.
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int64_t first_row = static_cast<int64_t>(blockIdx.x) * block_rows;
  LogSum own = {-INFINITY, 0};
  for (int64_t first = 0; first < mixture.components; first += block_components) {
    const int64_t k = first + warp;
    const bool exists = k < mixture.components;
    double value = exists ? mixture.constant[k] : 0;
    for (int64_t begin = 0; begin < mixture.dimensions; begin += block_dimensions) {
      const int64_t d = begin + lane;
      const bool inside = d < mixture.dimensions;
      __syncthreads();
      for (int row = warp; row < block_rows; row += block_components)
        block[lane][row] = inside && first_row + row < rows ? z[(first_row + row) * stride + d] : 0;
      const int64_t at = k * mixture.dimensions + d;
      centre[warp][lane] = inside && exists ? mixture.centre[at] : 0;
      inverse[warp][lane] = inside && exists ? mixture.inverse[at] : 0;
      power[warp][lane] = inside && exists ? mixture.power[at] : 0;
      __syncthreads();
#pragma unroll 4
      for (int i = 0; i < block_dimensions; ++i) {
        const double offset = block[i][lane] - centre[warp][i];
        value -= power[warp][i] * log(1 + offset * offset * inverse[warp][i]);
      }
    }
    if (exists) own.add(value, 1);
  }
  sums[warp][lane] = own;
  __syncthreads();
  if (warp != 0 || first_row + lane >= rows) return;
  for (int other = 1; other < block_components; ++other)
    own.add(sums[other][lane].largest, sums[other][lane].sum);
  const double result = own.largest + log(own.sum);
  density[first_row + lane] = add ? density[first_row + lane] + result : result;
}

}  // namespace

void predictive_log_density(const float* z, int64_t rows, int64_t stride,
                            const PredictiveMixture& mixture, bool add, double* density,
                            cudaStream_t stream) {
  if (rows == 0) return;
  const auto blocks = static_cast<unsigned>((rows + block_rows - 1) / block_rows);
  predictive<<<blocks, threads, 0, stream>>>(z, rows, stride, mixture, add, density);
}

}  // namespace facet::cuda
