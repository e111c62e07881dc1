// A block has a row of threads per pixel, each with eight channels, whose numbers it keeps in
// registers while it goes over the pixels of its part of an image.
#include <algorithm>
#include <cuda_bf16.h>

#include "facet/cuda/group_norm.h"

namespace facet::cuda {

namespace {

constexpr int width = 8;  // channels of a thread: 16 bytes
constexpr int block_threads = 256;
constexpr int64_t fewest_pixels = 64;    // of a part
constexpr int64_t wanted_blocks = 1056;  // eight per multiprocessor of an H200

struct Eight {
  float value[width];
};

__device__ Eight load(const uint16_t* from) {
  const uint4 bits = *reinterpret_cast<const uint4*>(from);
  const uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
  Eight result;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    result.value[2 * i] = __uint_as_float(words[i] << 16);
    result.value[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
  return result;
}

__device__ Eight load(const float* from) {
  const float4 low = reinterpret_cast<const float4*>(from)[0],
               high = reinterpret_cast<const float4*>(from)[1];
  return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

__device__ void store(uint16_t* to, const Eight& numbers) {
  uint32_t words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const __nv_bfloat162 pair =
        __floats2bfloat162_rn(numbers.value[2 * i], numbers.value[2 * i + 1]);
    words[i] = *reinterpret_cast<const uint32_t*>(&pair);
  }
  *reinterpret_cast<uint4*>(to) = {words[0], words[1], words[2], words[3]};
}

__device__ float sigmoid(float value) { return 1.0f / (1.0f + __expf(-value)); }

/// The place of a thread: its channels, and its pixels from `first` on in steps of `stride`.
struct Place {
  int64_t image, first, end, stride;
  int channel;

  __device__ Place(int64_t pixels, int channels) {
    const int columns = channels / width;
    const int64_t part = (pixels + gridDim.x - 1) / gridDim.x;
    image = blockIdx.y;
    channel = static_cast<int>(threadIdx.x) % columns * width;
    stride = blockDim.x / columns;
    first = blockIdx.x * part + threadIdx.x / columns;
    end = min(pixels, (blockIdx.x + 1) * part);
  }
};

/// Adds up what the rows of a block have, in their order, and writes the sums of its part.
__device__ void write_sums(const Eight& one, const Eight& other, const Place& place, int channels,
                           float* partials) {
  extern __shared__ float shared[];  // [2, channels]
  const int columns = channels / width, rows = static_cast<int>(blockDim.x) / columns;
  for (int row = 0; row < rows; ++row) {
    if (static_cast<int>(threadIdx.x) / columns == row) {
#pragma unroll
      for (int i = 0; i < width; ++i) {
        float* sums = shared + place.channel + i;
        sums[0] = row == 0 ? one.value[i] : sums[0] + one.value[i];
        sums[channels] = row == 0 ? other.value[i] : sums[channels] + other.value[i];
      }
    }
    __syncthreads();
  }
  float* out = partials + (place.image * gridDim.x + blockIdx.x) * 2 * channels;
  for (int i = static_cast<int>(threadIdx.x); i < 2 * channels; i += static_cast<int>(blockDim.x))
    out[i] = shared[i];
}

/// Sums of x and of its squares.
__global__ void __launch_bounds__(block_threads)
    image_moments(const uint16_t* x, float* partials, int64_t pixels, int channels) {
  const Place place(pixels, channels);
  const uint16_t* image = x + place.image * pixels * channels + place.channel;
  Eight sums{}, squares{};
  for (int64_t p = place.first; p < place.end; p += place.stride) {
    const Eight numbers = load(image + p * channels);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      sums.value[i] += numbers.value[i];
      squares.value[i] += numbers.value[i] * numbers.value[i];
    }
  }
  write_sums(sums, squares, place, channels, partials);
}

/// The sums of a channel over the parts of an image, in `totals` [2, channels].
__device__ void add_parts(const float* partials, int parts, int channels, double* totals) {
  const float* own = partials + static_cast<int64_t>(blockIdx.x) * parts * 2 * channels;
  for (int i = static_cast<int>(threadIdx.x); i < 2 * channels; i += static_cast<int>(blockDim.x)) {
    double sum = 0;
    for (int part = 0; part < parts; ++part) sum += own[part * 2 * channels + i];
    totals[i] = sum;
  }
  __syncthreads();
}

/// One block per image.
__global__ void __launch_bounds__(block_threads)
    find_scales(const float* partials, int parts, const float* weight, const float* bias,
                const float* modulation, GroupNormState state, GroupNormShape shape) {
  extern __shared__ double totals[];  // [2, channels]
  const int channels = static_cast<int>(shape.channels), groups = static_cast<int>(shape.groups),
            size = channels / groups;
  const int64_t image = blockIdx.x;
  add_parts(partials, parts, channels, totals);
  for (int group = static_cast<int>(threadIdx.x); group < groups;
       group += static_cast<int>(blockDim.x)) {
    double sum = 0, squares = 0;
    for (int c = group * size; c < (group + 1) * size; ++c) {
      sum += totals[c];
      squares += totals[channels + c];
    }
    const double count = static_cast<double>(shape.pixels) * size, mean = sum / count;
    const double variance = fmax(squares / count - mean * mean, 0.0);
    state.mean[image * groups + group] = static_cast<float>(mean);
    state.inverse[image * groups + group] =
        static_cast<float>(1.0 / sqrt(variance + static_cast<double>(shape.epsilon)));
  }
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < channels; c += static_cast<int>(blockDim.x)) {
    const float mean = state.mean[image * groups + c / size],
                inverse = state.inverse[image * groups + c / size];
    const float* own = modulation ? modulation + image * 2 * channels : nullptr;
    const float more = own ? 1.0f + own[c] : 1.0f, shift = own ? own[channels + c] : 0.0f;
    const float scale = inverse * weight[c] * more;
    state.scale[image * channels + c] = scale;
    state.shift[image * channels + c] = bias[c] * more + shift - mean * scale;
  }
}

template <bool Silu>
__global__ void __launch_bounds__(block_threads)
    apply(const uint16_t* x, uint16_t* y, const float* scales, const float* shifts, int64_t pixels,
          int channels) {
  const Place place(pixels, channels);
  const int64_t start = place.image * pixels * channels + place.channel;
  const Eight scale = load(scales + place.image * channels + place.channel),
              shift = load(shifts + place.image * channels + place.channel);
  for (int64_t p = place.first; p < place.end; p += place.stride) {
    Eight numbers = load(x + start + p * channels);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const float u = numbers.value[i] * scale.value[i] + shift.value[i];
      numbers.value[i] = Silu ? u * sigmoid(u) : u;
    }
    store(y + start + p * channels, numbers);
  }
}

/// The gradient of u, where y = silu(u) or u.
template <bool Silu>
__device__ float gradient_of_u(float y_gradient, float u) {
  if (!Silu) return y_gradient;
  const float s = sigmoid(u);
  return y_gradient * s * (1.0f + u * (1.0f - s));
}

/// Sums of the gradient of u, and of its products with x.
template <bool Silu>
__global__ void __launch_bounds__(block_threads)
    gradient_moments(const uint16_t* x, const uint16_t* y_gradient, const float* scales,
                     const float* shifts, float* partials, int64_t pixels, int channels) {
  const Place place(pixels, channels);
  const int64_t start = place.image * pixels * channels + place.channel;
  const Eight scale = load(scales + place.image * channels + place.channel),
              shift = load(shifts + place.image * channels + place.channel);
  Eight sums{}, products{};
  for (int64_t p = place.first; p < place.end; p += place.stride) {
    const Eight numbers = load(x + start + p * channels),
                gradients = load(y_gradient + start + p * channels);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const float gradient = gradient_of_u<Silu>(
          gradients.value[i], numbers.value[i] * scale.value[i] + shift.value[i]);
      sums.value[i] += gradient;
      products.value[i] += gradient * numbers.value[i];
    }
  }
  write_sums(sums, products, place, channels, partials);
}

struct ParameterGradients {
  float *weight, *bias, *modulation;
};

/// One block per image. With x' the normed x and w' its factor, the gradient of x is
/// (g w' - mean(g w') - x' mean(g w' x')) / stddev, where means are over a group; `coefficients`
/// [images, groups, 2] has what x is multiplied with and what is added.
__global__ void __launch_bounds__(block_threads)
    find_gradients(const float* partials, int parts, const float* weight, const float* bias,
                   const float* modulation, GroupNormState state, ParameterGradients gradients,
                   float* coefficients, GroupNormShape shape) {
  extern __shared__ double totals[];  // [2, channels]
  const int channels = static_cast<int>(shape.channels), groups = static_cast<int>(shape.groups),
            size = channels / groups;
  const int64_t image = blockIdx.x;
  add_parts(partials, parts, channels, totals);
  for (int c = static_cast<int>(threadIdx.x); c < channels; c += static_cast<int>(blockDim.x)) {
    const double mean = state.mean[image * groups + c / size],
                 inverse = state.inverse[image * groups + c / size];
    const float* own = modulation ? modulation + image * 2 * channels : nullptr;
    const double more = own ? 1.0 + static_cast<double>(own[c]) : 1.0;
    const double sum = totals[c], product = (totals[channels + c] - mean * sum) * inverse;
    gradients.weight[image * channels + c] = static_cast<float>(product * more);
    gradients.bias[image * channels + c] = static_cast<float>(sum * more);
    if (gradients.modulation) {
      float* to = gradients.modulation + image * 2 * channels;
      to[c] = static_cast<float>(product * static_cast<double>(weight[c]) +
                                 sum * static_cast<double>(bias[c]));
      to[channels + c] = static_cast<float>(sum);
    }
    totals[c] = sum * static_cast<double>(weight[c]) * more;
    totals[channels + c] = product * static_cast<double>(weight[c]) * more;
  }
  __syncthreads();
  for (int group = static_cast<int>(threadIdx.x); group < groups;
       group += static_cast<int>(blockDim.x)) {
    double sum = 0, product = 0;
    for (int c = group * size; c < (group + 1) * size; ++c) {
      sum += totals[c];
      product += totals[channels + c];
    }
    const double count = static_cast<double>(shape.pixels) * size;
    const double mean = state.mean[image * groups + group],
                 inverse = state.inverse[image * groups + group];
    const double factor = -inverse * inverse * product / count;
    float* out = coefficients + (image * groups + group) * 2;
    out[0] = static_cast<float>(factor);
    out[1] = static_cast<float>(-inverse * sum / count - factor * mean);
  }
}

template <bool Silu>
__global__ void __launch_bounds__(block_threads)
    apply_gradients(const uint16_t* x, const uint16_t* y_gradient, uint16_t* x_gradient,
                    const float* scales, const float* shifts, const float* coefficients,
                    int64_t pixels, int channels, int groups) {
  const Place place(pixels, channels);
  const int64_t start = place.image * pixels * channels + place.channel;
  const Eight scale = load(scales + place.image * channels + place.channel),
              shift = load(shifts + place.image * channels + place.channel);
  Eight factor, rest;
#pragma unroll
  for (int i = 0; i < width; ++i) {
    const int group = (place.channel + i) / (channels / groups);
    factor.value[i] = coefficients[(place.image * groups + group) * 2];
    rest.value[i] = coefficients[(place.image * groups + group) * 2 + 1];
  }
  for (int64_t p = place.first; p < place.end; p += place.stride) {
    const Eight numbers = load(x + start + p * channels);
    Eight gradients = load(y_gradient + start + p * channels);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const float gradient = gradient_of_u<Silu>(
          gradients.value[i], numbers.value[i] * scale.value[i] + shift.value[i]);
      gradients.value[i] =
          gradient * scale.value[i] + numbers.value[i] * factor.value[i] + rest.value[i];
    }
    store(x_gradient + start + p * channels, gradients);
  }
}

/// How a shape is launched.
struct Launch {
  dim3 blocks;
  unsigned threads;
  size_t sums, totals;  // bytes of shared memory

  explicit Launch(const GroupNormShape& shape) {
    const auto columns = static_cast<unsigned>(shape.channels / width);
    threads = std::max(1u, block_threads / columns) * columns;
    blocks = dim3(static_cast<unsigned>(shape.parts()), static_cast<unsigned>(shape.images));
    sums = static_cast<size_t>(shape.channels) * 2 * sizeof(float);
    totals = static_cast<size_t>(shape.channels) * 2 * sizeof(double);
  }
};

}  // namespace

int64_t GroupNormShape::parts() const {
  const int64_t wanted = (wanted_blocks + images - 1) / std::max<int64_t>(1, images);
  return std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, pixels / fewest_pixels));
}

void group_norm(const uint16_t* x, const float* weight, const float* bias, const float* modulation,
                uint16_t* y, const GroupNormState& state, float* partials,
                const GroupNormShape& shape, cudaStream_t stream) {
  if (shape.images * shape.pixels == 0) return;
  const Launch grid(shape);
  const int channels = static_cast<int>(shape.channels), parts = static_cast<int>(shape.parts());
  image_moments<<<grid.blocks, grid.threads, grid.sums, stream>>>(x, partials, shape.pixels,
                                                                  channels);
  find_scales<<<static_cast<unsigned>(shape.images), block_threads, grid.totals, stream>>>(
      partials, parts, weight, bias, modulation, state, shape);
  const auto kernel = shape.silu ? apply<true> : apply<false>;
  kernel<<<grid.blocks, grid.threads, 0, stream>>>(x, y, state.scale, state.shift, shape.pixels,
                                                   channels);
}

void group_norm_backward(const uint16_t* x, const uint16_t* y_gradient, const float* weight,
                         const float* bias, const float* modulation, const GroupNormState& state,
                         uint16_t* x_gradient, float* weight_gradients, float* bias_gradients,
                         float* modulation_gradient, float* partials, float* coefficients,
                         const GroupNormShape& shape, cudaStream_t stream) {
  if (shape.images * shape.pixels == 0) return;
  const Launch grid(shape);
  const int channels = static_cast<int>(shape.channels), parts = static_cast<int>(shape.parts());
  const auto moments = shape.silu ? gradient_moments<true> : gradient_moments<false>;
  moments<<<grid.blocks, grid.threads, grid.sums, stream>>>(x, y_gradient, state.scale, state.shift,
                                                            partials, shape.pixels, channels);
  find_gradients<<<static_cast<unsigned>(shape.images), block_threads, grid.totals, stream>>>(
      partials, parts, weight, bias, modulation, state,
      {weight_gradients, bias_gradients, modulation_gradient}, coefficients, shape);
  const auto kernel = shape.silu ? apply_gradients<true> : apply_gradients<false>;
  kernel<<<grid.blocks, grid.threads, 0, stream>>>(x, y_gradient, x_gradient, state.scale,
                                                   state.shift, coefficients, shape.pixels,
                                                   channels, static_cast<int>(shape.groups));
}

}  // namespace facet::cuda
