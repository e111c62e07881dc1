#include <cmath>
#include <cuda_bf16.h>

#include "bench/convolution_lab/plain.cuh"
#include "bench/lab.cuh"

namespace facet::lab {

using cuda::ConvolutionSizes;

namespace {

__device__ double read(const Numbers& numbers, size_t i) {
  return numbers.storage == Storage::bf16
             ? __bfloat162float(static_cast<const __nv_bfloat16*>(numbers.data)[i])
             : static_cast<const float*>(numbers.data)[i];
}

/// Hashes the index (splitmix64).
__global__ void fill_numbers(void* data, size_t count, unsigned seed, Storage precision,
                             Storage storage) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    unsigned long long x = (i + 1) * 0x9e3779b97f4a7c15ull + seed * 0xbf58476d1ce4e5b9ull;
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    x ^= x >> 31;
    const float uniform = static_cast<float>(x >> 40) / 8388608.0f - 1.0f;
    const __nv_bfloat16 narrow = __float2bfloat16_rn(uniform);
    if (storage == Storage::bf16)
      static_cast<__nv_bfloat16*>(data)[i] = narrow;
    else
      static_cast<float*>(data)[i] = precision == Storage::bf16
                                         ? __bfloat162float(narrow)
                                         : __uint_as_float(__float_as_uint(uniform) & 0xffffe000u);
  }
}

__global__ void forward(ConvolutionSizes s, Numbers x, Numbers w, const float* bias, bool relu,
                        double* y) {
  const size_t count = size_t(s.batch) * s.height_out * s.width_out * s.channels_out;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int n = i % s.channels_out;
    const int ow = i / s.channels_out % s.width_out;
    const int oh = i / s.channels_out / s.width_out % s.height_out;
    const int b = i / s.channels_out / s.width_out / s.height_out;
    double sum = bias[n];
    for (int r = 0; r < s.kernel; ++r)
      for (int q = 0; q < s.kernel; ++q) {
        const int h = oh * s.stride - s.padding + r, v = ow * s.stride - s.padding + q;
        if (h < 0 || h >= s.height_in || v < 0 || v >= s.width_in) continue;
        const size_t pixel = (size_t(b) * s.height_in + h) * s.width_in + v;
        const size_t tap = (size_t(n) * s.kernel + r) * s.kernel + q;
        for (int c = 0; c < s.channels_in; ++c)
          sum += read(x, pixel * s.channels_in + c) * read(w, tap * s.channels_in + c);
      }
    y[i] = sum > 0 || !relu ? sum : 0;
  }
}

__global__ void transposed(ConvolutionSizes s, Numbers y, Numbers w, Numbers mask, double* x) {
  const size_t count = size_t(s.batch) * s.height_in * s.width_in * s.channels_in;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int c = i % s.channels_in;
    const int v = i / s.channels_in % s.width_in;
    const int h = i / s.channels_in / s.width_in % s.height_in;
    const int b = i / s.channels_in / s.width_in / s.height_in;
    double sum = 0;
    for (int r = 0; r < s.kernel; ++r)
      for (int q = 0; q < s.kernel; ++q) {
        const int down = h + s.padding - r, across = v + s.padding - q;
        if (down < 0 || across < 0 || down % s.stride || across % s.stride) continue;
        const int oh = down / s.stride, ow = across / s.stride;
        if (oh >= s.height_out || ow >= s.width_out) continue;
        const size_t pixel = (size_t(b) * s.height_out + oh) * s.width_out + ow;
        for (int n = 0; n < s.channels_out; ++n)
          sum += read(y, pixel * s.channels_out + n) *
                 read(w, ((size_t(n) * s.kernel + r) * s.kernel + q) * s.channels_in + c);
      }
    x[i] = !mask.data || read(mask, i) > 0 ? sum : 0;
  }
}

/// The sum over a block of 128 threads, in thread 0.
__device__ double block_total(double value) {
  __shared__ double parts[128];
  parts[threadIdx.x] = value;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  return parts[0];
}

/// One block per entry.
__global__ void weights(ConvolutionSizes s, Numbers x, Numbers y, double* out) {
  const int columns = s.kernel * s.kernel * s.channels_in + 1;
  const int n = blockIdx.x / columns, column = blockIdx.x % columns;
  const int tap = column / s.channels_in, c = column % s.channels_in;
  double sum = 0;
  const int pixels = s.batch * s.height_out * s.width_out;
  for (int p = threadIdx.x; p < pixels; p += blockDim.x) {
    const int ow = p % s.width_out, oh = p / s.width_out % s.height_out;
    const int b = p / s.width_out / s.height_out;
    const double gradient = read(y, size_t(p) * s.channels_out + n);
    if (column == columns - 1) {
      sum += gradient;
      continue;
    }
    const int h = oh * s.stride - s.padding + tap / s.kernel;
    const int v = ow * s.stride - s.padding + tap % s.kernel;
    if (h < 0 || h >= s.height_in || v < 0 || v >= s.width_in) continue;
    const size_t pixel = (size_t(b) * s.height_in + h) * s.width_in + v;
    sum += gradient * read(x, pixel * s.channels_in + c);
  }
  sum = block_total(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

/// Adds (found - expected)^2 and expected^2 to sums.
__global__ void add_squares(Numbers found, size_t count, const double* expected,
                            ReferenceLayout layout, double* sums) {
  double difference = 0, norm = 0;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const double reference = expected[layout.first + i + i / layout.group * layout.skip];
    const double value = read(found, i);
    difference += isfinite(value) ? (value - reference) * (value - reference) : INFINITY;
    norm += reference * reference;
  }
  atomicAdd(sums, difference);
  atomicAdd(sums + 1, norm);
}

}  // namespace

void fill(void* data, size_t count, unsigned seed, Storage precision, Storage storage) {
  fill_numbers<<<264, 256>>>(data, count, seed, precision, storage);
}

void plain_forward(const ConvolutionSizes& sizes, Numbers x, Numbers w, const float* bias,
                   bool relu, double* y) {
  forward<<<1056, 128>>>(sizes, x, w, bias, relu, y);
  require(cudaDeviceSynchronize(), "forward");
}

void plain_transposed(const ConvolutionSizes& sizes, Numbers y, Numbers w, Numbers mask,
                      double* x) {
  transposed<<<1056, 128>>>(sizes, y, w, mask, x);
  require(cudaDeviceSynchronize(), "transposed");
}

void plain_weights(const ConvolutionSizes& sizes, Numbers x, Numbers y_gradient,
                   double* gradients) {
  const int columns = sizes.kernel * sizes.kernel * sizes.channels_in + 1;
  weights<<<sizes.channels_out * columns, 128>>>(sizes, x, y_gradient, gradients);
  require(cudaDeviceSynchronize(), "weights");
}

double relative_error(Numbers found, size_t count, const double* expected,
                      const ReferenceLayout& layout) {
  const Buffer<double> sums(std::vector<double>{0, 0});
  add_squares<<<264, 256>>>(found, count, expected, layout, sums);
  const std::vector<double> values = sums.host();
  return std::sqrt(values[0] / values[1]);
}

}  // namespace facet::lab
