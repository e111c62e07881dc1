// The functions of convolution.h: convolutions by the templates of convolution_launch.cuh, which
// are compiled in files of their own, and here the small kernels around them: sums over pixels,
// patches of images with few channels, and the way back from products of patches to images.
#include "facet/cuda/convolution.h"
#include "facet/cuda/convolution_launch.cuh"

namespace facet::cuda {

extern template void gather<__nv_bfloat16, false>(const ConvolutionSizes&, const View&, const void*,
                                                  const Finish&, const Workspace&, cudaStream_t);
extern template void gather<__nv_bfloat16, true>(const ConvolutionSizes&, const View&, const void*,
                                                 const Finish&, const Workspace&, cudaStream_t);
extern template void gather<float, false>(const ConvolutionSizes&, const View&, const void*,
                                          const Finish&, const Workspace&, cudaStream_t);
extern template void gather<float, true>(const ConvolutionSizes&, const View&, const void*,
                                         const Finish&, const Workspace&, cudaStream_t);
extern template void weights<__nv_bfloat16>(const ConvolutionSizes&, const View&, const View&,
                                            float*, float*, const Workspace&, cudaStream_t);
extern template void weights<float>(const ConvolutionSizes&, const View&, const View&, float*,
                                    float*, const Workspace&, cudaStream_t);

void convolve(Operand operand, const ConvolutionSizes& sizes, const View& x, const void* weights,
              const Finish& finish, const Workspace& workspace, cudaStream_t stream) {
  (operand == Operand::bf16 ? gather<__nv_bfloat16, false>
                            : gather<float, false>)(sizes, x, weights, finish, workspace, stream);
}

void convolve_transposed(Operand operand, const ConvolutionSizes& sizes, const View& y,
                         const void* weights, const Finish& finish, const Workspace& workspace,
                         cudaStream_t stream) {
  (operand == Operand::bf16 ? gather<__nv_bfloat16, true>
                            : gather<float, true>)(sizes, y, weights, finish, workspace, stream);
}

void weight_gradient(Operand operand, const ConvolutionSizes& sizes, const View& x,
                     const View& y_gradient, float* weights_gradient, float* bias_gradient,
                     const Workspace& workspace, cudaStream_t stream) {
  (operand == Operand::bf16
       ? weights<__nv_bfloat16>
       : weights<float>)(sizes, x, y_gradient, weights_gradient, bias_gradient, workspace, stream);
}

namespace {

constexpr int threads = 256;

/// The sums over all pixels of an image batch, per channel.
struct ChannelSums {
  DeviceView x;
  int pixels, channels;
  bool contiguous;  ///< pixels follow each other at one distance
  Divider by_image, by_width;
  float* sums;
  Workspace workspace;

  __device__ int offset(int number) const {
    if (contiguous) return number * x.view.column;
    const Pixel pixel = pixel_of(number, by_image, by_width);
    return x.pixel(pixel.image, pixel.row, pixel.column);
  }
};

/// Sums of a block's 32 channels over its share of the pixels; the last block of a group of
/// channels adds the shares in their order.
template <class T>
__global__ void __launch_bounds__(threads) sum_pixels(const ChannelSums p) {
  __shared__ float parts[8][33];
  __shared__ int arrived;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, channel = blockIdx.x * 32 + lane;
  const int blocks = static_cast<int>(gridDim.y), share = (p.pixels + blocks - 1) / blocks;
  const int end = min(p.pixels, static_cast<int>(blockIdx.y + 1) * share);
  float sum = 0.0f;
  if (channel < p.channels) {
    const int offset = p.x.channel(channel);
#pragma unroll 8
    for (int i = blockIdx.y * share + warp; i < end; i += 8) sum += p.x.at<T>(p.offset(i) + offset);
  }
  parts[warp][lane] = sum;
  __syncthreads();
  float* shares = p.workspace.sums + static_cast<size_t>(blockIdx.x) * blocks * 32;
  if (warp == 0) {
    float total = 0.0f;
    for (int i = 0; i < 8; ++i) total += parts[i][lane];
    __stcg(shares + blockIdx.y * 32 + lane, total);
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0) arrived = atomicAdd(p.workspace.counters + blockIdx.x, 1);
  __syncthreads();
  if (arrived != blocks - 1) return;
  __threadfence();
  float total = 0.0f;
  for (int i = warp; i < blocks; i += 8) total += __ldcg(shares + i * 32 + lane);
  __syncthreads();
  parts[warp][lane] = total;
  __syncthreads();
  if (warp == 0 && channel < p.channels) {
    float all = 0.0f;
    for (int i = 0; i < 8; ++i) all += parts[i][lane];
    p.sums[channel] = all;
  }
  if (threadIdx.x == 0) p.workspace.counters[blockIdx.x] = 0;
}

/// Patches of images (im2col): a row per pixel of the result.
struct PatchLayout {
  int pitch, pieces_in_all;
  Divider by_pieces, by_image, by_width, by_inner, by_kernel;
};

/// Number `at` of the patch of a pixel; 0 outside of the image.
template <class T, bool Transposed>
__device__ __forceinline__ float patch_value(const ConvolutionSizes& s, const DeviceView& image,
                                             const PatchLayout& layout, const Pixel& pixel,
                                             int at) {
  const int outer = layout.by_inner(at), inside_outer = at - outer * layout.by_inner.divisor;
  const int channel = Transposed ? outer : inside_outer;
  const int tap = Transposed ? inside_outer : outer;
  int row = layout.by_kernel(tap), column = tap - row * s.kernel;
  bool inside;
  if constexpr (Transposed) {
    row = pixel.row + s.padding - row;
    column = pixel.column + s.padding - column;
    inside = row >= 0 && column >= 0 && row % s.stride == 0 && column % s.stride == 0;
    row /= s.stride;
    column /= s.stride;
    inside = inside && row < s.height_out && column < s.width_out;
  } else {
    row += pixel.row * s.stride - s.padding;
    column += pixel.column * s.stride - s.padding;
    inside = row >= 0 && column >= 0 && row < s.height_in && column < s.width_in;
  }
  if (!inside) return 0.0f;
  return image.at<T>(image.pixel(pixel.image, row, column) + image.channel(channel));
}

/// One thread per 16 bytes of a row.
template <class T, bool Transposed>
__global__ void __launch_bounds__(threads)
    write_patches(const ConvolutionSizes s, const DeviceView image, const PatchLayout layout,
                  T* patches) {
  constexpr int vector = OperandTraits<T>::vector;
  const int index = blockIdx.x * threads + threadIdx.x;
  if (index >= layout.pieces_in_all) return;
  const int number = layout.by_pieces(index),
            piece = (index - number * layout.by_pieces.divisor) * vector;
  const Pixel pixel = pixel_of(number, layout.by_image, layout.by_width);
  const int taps = s.kernel * s.kernel;
  const int known = taps * (Transposed ? s.channels_out : s.channels_in);
  T values[vector];
#pragma unroll
  for (int j = 0; j < vector; ++j) {
    const int at = piece + j;
    float value = at == known ? 1.0f : 0.0f;
    if (at < known) value = patch_value<T, Transposed>(s, image, layout, pixel, at);
    values[j] = OperandTraits<T>::from(value);
  }
  *reinterpret_cast<uint4*>(patches + static_cast<size_t>(number) * layout.pitch + piece) =
      *reinterpret_cast<const uint4*>(values);
}

template <class T, bool Transposed>
void launch_patches(const ConvolutionSizes& s, const View& image, void* patches, int pitch,
                    cudaStream_t stream) {
  const int height = Transposed ? s.height_in : s.height_out;
  const int width = Transposed ? s.width_in : s.width_out;
  const int pieces = pitch / OperandTraits<T>::vector, in_all = s.batch * height * width * pieces;
  const PatchLayout layout{pitch,
                           in_all,
                           Divider(pieces),
                           Divider(height * width),
                           Divider(width),
                           Divider(Transposed ? s.kernel * s.kernel : s.channels_in),
                           Divider(s.kernel)};
  launch(write_patches<T, Transposed>, dim3(divide_up(in_all, threads)), threads, 0, 1, stream, s,
         image, layout, static_cast<T*>(patches));
}

/// Images from the products of their patches (col2im); one thread per number of the image.
template <bool Transposed>
__global__ void __launch_bounds__(threads)
    add_products(const ConvolutionSizes s, const float* products, const float* bias,
                 const DeviceView image, int pitch, int count, Divider by_channels,
                 Divider by_image, Divider by_width, Divider by_stride) {
  const int index = blockIdx.x * threads + threadIdx.x;
  if (index >= count) return;
  const int number = by_channels(index);
  const int channel = index - number * static_cast<int>(by_channels.divisor);
  const Pixel pixel = pixel_of(number, by_image, by_width);
  const int taps = s.kernel * s.kernel;
  float sum = bias ? bias[channel] : 0.0f;
  // A transposed convolution's pixel sees every stride-th tap.
  const int step = Transposed ? s.stride : 1;
  const int from_row =
      Transposed ? by_stride(pixel.row + s.padding) : pixel.row * s.stride - s.padding;
  const int from_column =
      Transposed ? by_stride(pixel.column + s.padding) : pixel.column * s.stride - s.padding;
  const int first_row = Transposed ? pixel.row + s.padding - from_row * step : 0;
  const int first_column = Transposed ? pixel.column + s.padding - from_column * step : 0;
  const int height = Transposed ? s.height_out : s.height_in;
  const int width = Transposed ? s.width_out : s.width_in;
  const int direction = Transposed ? -1 : 1;
  for (int i = 0; first_row + i * step < s.kernel; ++i)
    for (int j = 0; first_column + j * step < s.kernel; ++j) {
      const int r = from_row + direction * i, c = from_column + direction * j;
      if (r < 0 || c < 0 || r >= height || c >= width) continue;
      const int tap = (first_row + i * step) * s.kernel + first_column + j * step;
      const size_t at = static_cast<size_t>((pixel.image * height + r) * width + c) * pitch;
      sum += products[at + (Transposed ? tap * s.channels_in + channel : channel * taps + tap)];
    }
  const int to = image.pixel(pixel.image, pixel.row, pixel.column) + image.channel(channel);
  static_cast<float*>(image.view.data)[to] = sum;
}

template <bool Transposed>
void launch_products(const ConvolutionSizes& s, const float* products, int pitch, const float* bias,
                     const View& image, cudaStream_t stream) {
  const int height = Transposed ? s.height_in : s.height_out;
  const int width = Transposed ? s.width_in : s.width_out;
  const int channels = Transposed ? s.channels_in : s.channels_out;
  const int count = s.batch * height * width * channels;
  launch(add_products<Transposed>, dim3(divide_up(count, threads)), threads, 0, 1, stream, s,
         products, bias, image, pitch, count, Divider(channels), Divider(height * width),
         Divider(width), Divider(s.stride));
}

template <class T>
__global__ void __launch_bounds__(threads)
    round_numbers(const float* vectors, int stride, int length, Divider by_length, int count,
                  T* rounded) {
  const int index = blockIdx.x * threads + threadIdx.x;
  if (index >= count) return;
  const int row = by_length(index);
  rounded[index] = OperandTraits<T>::from(vectors[row * stride + index - row * length]);
}

template <class T>
__global__ void __launch_bounds__(threads)
    copy_corner(const T* matrix, int rows, int columns, T* larger, Divider by_columns, int count) {
  const int index = blockIdx.x * threads + threadIdx.x;
  if (index >= count) return;
  const int row = by_columns(index), column = index - row * static_cast<int>(by_columns.divisor);
  larger[index] = row < rows && column < columns ? matrix[row * columns + column]
                                                 : OperandTraits<T>::from(0.0f);
}

}  // namespace

void channel_sums(Operand operand, const View& x, int batch, int height, int width, int channels,
                  float* sums, const Workspace& workspace, cudaStream_t stream) {
  const int pixels = batch * height * width;
  const dim3 grid(divide_up(channels, 32), std::clamp(pixels / 128, 1, 128));
  const bool contiguous = x.row == x.column * width && x.batch == x.row * height;
  const ChannelSums problem{
      x, pixels, channels, contiguous, Divider(height * width), Divider(width), sums, workspace};
  launch(operand == Operand::bf16 ? sum_pixels<__nv_bfloat16> : sum_pixels<float>, grid, threads, 0,
         1, stream, problem);
}

void fill_up(Operand operand, const void* matrix, int rows, int columns, void* larger,
             int larger_rows, int larger_columns, cudaStream_t stream) {
  const int count = larger_rows * larger_columns;
  const dim3 grid(divide_up(count, threads));
  if (operand == Operand::bf16)
    launch(copy_corner<__nv_bfloat16>, grid, threads, 0, 1, stream,
           static_cast<const __nv_bfloat16*>(matrix), rows, columns,
           static_cast<__nv_bfloat16*>(larger), Divider(larger_columns), count);
  else
    launch(copy_corner<float>, grid, threads, 0, 1, stream, static_cast<const float*>(matrix), rows,
           columns, static_cast<float*>(larger), Divider(larger_columns), count);
}

void round_to_operand(Operand operand, const float* vectors, int count, int length, int stride,
                      void* rounded, cudaStream_t stream) {
  const dim3 grid(divide_up(count * length, threads));
  if (operand == Operand::bf16)
    launch(round_numbers<__nv_bfloat16>, grid, threads, 0, 1, stream, vectors, stride, length,
           Divider(length), count * length, static_cast<__nv_bfloat16*>(rounded));
  else
    launch(round_numbers<float>, grid, threads, 0, 1, stream, vectors, stride, length,
           Divider(length), count * length, static_cast<float*>(rounded));
}

void unfold(Operand operand, const ConvolutionSizes& sizes, const View& x, void* patches, int pitch,
            cudaStream_t stream) {
  (operand == Operand::bf16 ? launch_patches<__nv_bfloat16, false>
                            : launch_patches<float, false>)(sizes, x, patches, pitch, stream);
}

void unfold_transposed(Operand operand, const ConvolutionSizes& sizes, const View& y, void* patches,
                       int pitch, cudaStream_t stream) {
  (operand == Operand::bf16 ? launch_patches<__nv_bfloat16, true>
                            : launch_patches<float, true>)(sizes, y, patches, pitch, stream);
}

void fold(const ConvolutionSizes& sizes, const float* products, int pitch, const float* bias,
          const View& y, cudaStream_t stream) {
  launch_products<false>(sizes, products, pitch, bias, y, stream);
}

void fold_transposed(const ConvolutionSizes& sizes, const float* products, int pitch,
                     const float* bias, const View& x, cudaStream_t stream) {
  launch_products<true>(sizes, products, pitch, bias, x, stream);
}

}  // namespace facet::cuda
