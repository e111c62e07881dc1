// Tensors of images as kernels read them: a View with its offsets, and the division of an index
// into image, row and column without a division instruction.
#pragma once

#include "facet/cuda/convolution.h"
#include "facet/cuda/tensor_core.cuh"

namespace facet::cuda {

/// Division by a number known at launch: a multiplication and a shift.
struct Divider {
  unsigned divisor = 1, multiplier = 0, shift = 0;

  Divider() = default;
  explicit Divider(int value) : divisor(static_cast<unsigned>(value)) {
    while ((1ull << shift) < divisor) ++shift;
    multiplier = static_cast<unsigned>((((1ull << shift) - divisor) << 32) / divisor + 1);
  }
  __device__ int operator()(int number) const {
    const unsigned n = static_cast<unsigned>(number);
    return static_cast<int>((__umulhi(n, multiplier) + n) >> shift);
  }
};

struct Pixel {
  int image, row, column;
};

/// Pixel `number` of a batch, by the pixels of an image and the pixels of a row.
__device__ __forceinline__ Pixel pixel_of(int number, const Divider& by_image,
                                          const Divider& by_row) {
  const int image = by_image(number), rest = number - image * static_cast<int>(by_image.divisor);
  const int row = by_row(rest);
  return {image, row, rest - row * static_cast<int>(by_row.divisor)};
}

/// Whether a position lies between 0 and `size`.
__device__ __forceinline__ bool within(int position, int size) {
  return static_cast<unsigned>(position) < static_cast<unsigned>(size);
}

/// View as the kernels use it.
struct DeviceView {
  View view;
  Divider group;

  DeviceView() = default;
  DeviceView(const View& from) : view(from), group(from.channel_group) {}
  __device__ int pixel(int image, int row, int column) const {
    return image * view.batch + row * view.row + column * view.column;
  }
  __device__ int channel(int n) const {
    if (view.channel_group == 1) return n * view.channel;
    const int outer = group(n);
    return outer * view.channel + (n - outer * view.channel_group) * view.within_group;
  }
  template <class T>
  __device__ float at(int offset) const {
    return view.single ? static_cast<const float*>(view.data)[offset]
                       : OperandTraits<T>::to(static_cast<const T*>(view.data)[offset]);
  }
};

/// How operands come into shared memory.
enum class Loads {
  aligned,  ///< pieces of 16 bytes; a stage never reaches over the end of a tap; at most 32 taps
  any       ///< pieces where the problem says so, else number by number
};

}  // namespace facet::cuda
