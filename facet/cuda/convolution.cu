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

void channel_sums(Operand operand, const View& x, int batch, int height, int width, int channels,
                  float* sums, const Workspace& workspace, cudaStream_t stream) {
  const int pixels = batch * height * width;
  const dim3 grid(divide_up(channels, 32), std::clamp(pixels / 128, 1, 128));
  const bool contiguous = x.row == x.column * width && x.batch == x.row * height;
  launch(operand == Operand::bf16 ? sum_pixels<__nv_bfloat16> : sum_pixels<float>, grid, 256, 0, 1,
         stream, DeviceView(x), pixels, channels, Divider(height * width), Divider(width), width,
         contiguous, sums, workspace);
}

namespace {

/// One thread writes 16 bytes of a row.
template <class T, bool Transposed>
__global__ void __launch_bounds__(256)
    write_patches(const ConvolutionSizes s, const DeviceView image, T* patches, int pitch,
                  int pieces_in_all, Divider by_pieces, Divider by_image, Divider by_width,
                  Divider by_inner, Divider by_kernel) {
  constexpr int vector = OperandTraits<T>::vector;
  const int index = blockIdx.x * 256 + threadIdx.x;
  if (index >= pieces_in_all) return;
  const int number = by_pieces(index), piece = (index - number * by_pieces.divisor) * vector;
  const int image_number = by_image(number), rest = number - image_number * by_image.divisor;
  const int row = by_width(rest), column = rest - row * static_cast<int>(by_width.divisor);
  const int taps = s.kernel * s.kernel;
  const int known = taps * (Transposed ? s.channels_out : s.channels_in);
  T values[vector];
#pragma unroll
  for (int j = 0; j < vector; ++j) {
    const int at = piece + j;
    float value = at == known ? 1.0f : 0.0f;
    if (at < known) {
      const int outer = by_inner(at), inside_outer = at - outer * by_inner.divisor;
      const int channel = Transposed ? outer : inside_outer;
      const int tap = Transposed ? inside_outer : outer;
      int r = by_kernel(tap), c = tap - r * s.kernel;
      bool inside;
      if constexpr (Transposed) {
        r = row + s.padding - r;
        c = column + s.padding - c;
        inside = r >= 0 && c >= 0 && r % s.stride == 0 && c % s.stride == 0;
        r /= s.stride;
        c /= s.stride;
        inside = inside && r < s.height_out && c < s.width_out;
      } else {
        r += row * s.stride - s.padding;
        c += column * s.stride - s.padding;
        inside = r >= 0 && c >= 0 && r < s.height_in && c < s.width_in;
      }
      if (inside) value = image.at<T>(image.pixel(image_number, r, c) + image.channel(channel));
    }
    values[j] = OperandTraits<T>::from(value);
  }
  *reinterpret_cast<uint4*>(patches + static_cast<size_t>(number) * pitch + piece) =
      *reinterpret_cast<const uint4*>(values);
}

template <class T, bool Transposed>
void launch_patches(const ConvolutionSizes& s, const View& image, void* patches, int pitch,
                    cudaStream_t stream) {
  const int height = Transposed ? s.height_in : s.height_out;
  const int width = Transposed ? s.width_in : s.width_out;
  const int pieces = pitch / OperandTraits<T>::vector, in_all = s.batch * height * width * pieces;
  launch(write_patches<T, Transposed>, dim3(divide_up(in_all, 256)), 256, 0, 1, stream, s, image,
         static_cast<T*>(patches), pitch, in_all, Divider(pieces), Divider(height * width),
         Divider(width), Divider(Transposed ? s.kernel * s.kernel : s.channels_in),
         Divider(s.kernel));
}

/// One thread a number of the image.
template <bool Transposed>
__global__ void __launch_bounds__(256)
    add_products(const ConvolutionSizes s, const float* products, int pitch, const float* bias,
                 const DeviceView image, int count, Divider by_channels, Divider by_image,
                 Divider by_width, Divider by_stride) {
  const int index = blockIdx.x * 256 + threadIdx.x;
  if (index >= count) return;
  const int number = by_channels(index), channel = index - number * by_channels.divisor;
  const int image_number = by_image(number), rest = number - image_number * by_image.divisor;
  const int row = by_width(rest), column = rest - row * static_cast<int>(by_width.divisor);
  const int taps = s.kernel * s.kernel;
  float sum = bias ? bias[channel] : 0.0f;
  // A transposed convolution's pixel hears every stride-th tap.
  const int step = Transposed ? s.stride : 1;
  const int from_row = Transposed ? by_stride(row + s.padding) : row * s.stride - s.padding;
  const int from_column =
      Transposed ? by_stride(column + s.padding) : column * s.stride - s.padding;
  const int first_row = Transposed ? row + s.padding - from_row * step : 0;
  const int first_column = Transposed ? column + s.padding - from_column * step : 0;
  const int height = Transposed ? s.height_out : s.height_in;
  const int width = Transposed ? s.width_out : s.width_in;
  const int direction = Transposed ? -1 : 1;
  for (int i = 0; first_row + i * step < s.kernel; ++i)
    for (int j = 0; first_column + j * step < s.kernel; ++j) {
      const int r = from_row + direction * i, c = from_column + direction * j;
      if (r < 0 || c < 0 || r >= height || c >= width) continue;
      const int tap = (first_row + i * step) * s.kernel + first_column + j * step;
      const size_t at = static_cast<size_t>((image_number * height + r) * width + c) * pitch;
      sum += products[at + (Transposed ? tap * s.channels_in + channel : channel * taps + tap)];
    }
  static_cast<float*>(
      image.view.data)[image.pixel(image_number, row, column) + image.channel(channel)] = sum;
}

template <bool Transposed>
void launch_products(const ConvolutionSizes& s, const float* products, int pitch, const float* bias,
                     const View& image, cudaStream_t stream) {
  const int height = Transposed ? s.height_in : s.height_out;
  const int width = Transposed ? s.width_in : s.width_out;
  const int channels = Transposed ? s.channels_in : s.channels_out;
  const int count = s.batch * height * width * channels;
  launch(add_products<Transposed>, dim3(divide_up(count, 256)), 256, 0, 1, stream, s, products,
         pitch, bias, image, count, Divider(channels), Divider(height * width), Divider(width),
         Divider(s.stride));
}

template <class T>
__global__ void __launch_bounds__(256) round_numbers(const float* vectors, int stride, int length,
                                                     Divider by_length, int count, T* rounded) {
  const int index = blockIdx.x * 256 + threadIdx.x;
  if (index >= count) return;
  const int row = by_length(index);
  rounded[index] = OperandTraits<T>::from(vectors[row * stride + index - row * length]);
}

template <class T>
__global__ void __launch_bounds__(256)
    copy_corner(const T* matrix, int rows, int columns, T* larger, Divider by_columns, int count) {
  const int index = blockIdx.x * 256 + threadIdx.x;
  if (index >= count) return;
  const int row = by_columns(index), column = index - row * static_cast<int>(by_columns.divisor);
  larger[index] = row < rows && column < columns ? matrix[row * columns + column]
                                                 : OperandTraits<T>::from(0.0f);
}

}  // namespace

void fill_up(Operand operand, const void* matrix, int rows, int columns, void* larger,
             int larger_rows, int larger_columns, cudaStream_t stream) {
  const int count = larger_rows * larger_columns;
  const dim3 grid(divide_up(count, 256));
  if (operand == Operand::bf16)
    launch(copy_corner<__nv_bfloat16>, grid, 256, 0, 1, stream,
           static_cast<const __nv_bfloat16*>(matrix), rows, columns,
           static_cast<__nv_bfloat16*>(larger), Divider(larger_columns), count);
  else
    launch(copy_corner<float>, grid, 256, 0, 1, stream, static_cast<const float*>(matrix), rows,
           columns, static_cast<float*>(larger), Divider(larger_columns), count);
}

void round_to_operand(Operand operand, const float* vectors, int count, int length, int stride,
                      void* rounded, cudaStream_t stream) {
  const dim3 grid(divide_up(count * length, 256));
  if (operand == Operand::bf16)
    launch(round_numbers<__nv_bfloat16>, grid, 256, 0, 1, stream, vectors, stride, length,
           Divider(length), count * length, static_cast<__nv_bfloat16*>(rounded));
  else
    launch(round_numbers<float>, grid, 256, 0, 1, stream, vectors, stride, length, Divider(length),
           count * length, static_cast<float*>(rounded));
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
