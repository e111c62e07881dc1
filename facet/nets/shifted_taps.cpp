#include "facet/nets/shifted_taps.h"

#include <algorithm>

#include "facet/core/parallel.h"

namespace facet {

namespace {

/// Adds `from` [H, W], shifted by (down, right), to `to` [H, W]; pixels shifted out are dropped.
template <class Number>
void add_shifted(const Number* from, Number* to, int64_t height, int64_t width, int64_t down,
                 int64_t right) {
  const int64_t first = std::max<int64_t>(right, 0), last = width + std::min<int64_t>(right, 0);
  for (int64_t row = std::max<int64_t>(down, 0); row < height + std::min<int64_t>(down, 0); ++row) {
    const Number* source = from + (row - down) * width - right;
    Number* target = to + row * width;
    for (int64_t column = first; column < last; ++column) target[column] += source[column];
  }
}

template <class Number>
void add_all(const TapShape& shape, const Number* taps, Number* output) {
  const int64_t kernel = shape.kernel, pixels = shape.height * shape.width;
  parallel_for(shape.batch, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image)
      for (int64_t channel = 0; channel < shape.channels; ++channel)
        for (int64_t tap = 0; tap < kernel * kernel; ++tap)
          add_shifted(taps + ((channel * kernel * kernel + tap) * shape.batch + image) * pixels,
                      output + (image * shape.channels + channel) * pixels, shape.height,
                      shape.width, kernel / 2 - tap / kernel, kernel / 2 - tap % kernel);
  });
}

}  // namespace

void add_taps(const TapShape& shape, const float* taps, float* output) {
  add_all(shape, taps, output);
}

void add_taps(const TapShape& shape, const double* taps, double* output) {
  add_all(shape, taps, output);
}

}  // namespace facet
