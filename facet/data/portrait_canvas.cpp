#include "facet/data/portrait_canvas.h"

namespace facet::drawing {

Brush::Brush(Canvas& canvas, const Placement& placement, Point light, float roundness)
    : canvas_(canvas), placement_(placement), light_(light), roundness_(roundness) {
  const float pixel = 2 / static_cast<float>(canvas.side);
  column_step_ = {pixel * placement.cosine / placement.scale.x,
                  -pixel * placement.sine / placement.scale.y};
  row_step_ = {pixel * placement.sine / placement.scale.x,
               pixel * placement.cosine / placement.scale.y};
  const Point corner = Point{pixel / 2 - 1, pixel / 2 - 1} - placement.center;
  first_ = (column_step_ * corner.x + row_step_ * corner.y) * (1 / pixel);
  pixel_ = length(row_step_);
}

Brush::Pixels Brush::pixels(const Box& box, float margin) const {
  const Point middle = (box.low + box.high) * 0.5f;
  const float half_x = ((box.high.x - box.low.x) / 2 + margin) * placement_.scale.x;
  const float half_y = ((box.high.y - box.low.y) / 2 + margin) * placement_.scale.y;
  const Point scaled = {middle.x * placement_.scale.x, middle.y * placement_.scale.y};
  const float cosine = placement_.cosine, sine = placement_.sine;
  const float x = placement_.center.x + cosine * scaled.x - sine * scaled.y;
  const float y = placement_.center.y + sine * scaled.x + cosine * scaled.y;
  const float reach_x = cosine * half_x + std::abs(sine) * half_y;
  const float reach_y = std::abs(sine) * half_x + cosine * half_y;
  return {pixel_at(x - reach_x), pixel_at(x + reach_x) + 1, pixel_at(y - reach_y),
          pixel_at(y + reach_y) + 1};
}

int64_t Brush::pixel_at(float coordinate) const {
  const float pixel = (coordinate + 1) / 2 * static_cast<float>(canvas_.side);
  return static_cast<int64_t>(std::clamp(pixel, 0.0f, static_cast<float>(canvas_.side - 1)));
}

namespace {

uint8_t to_byte(float value) {
  return static_cast<uint8_t>(std::clamp(value, 0.0f, 1.0f) * 255 + 0.5f);
}

}  // namespace

Image average_down(const Canvas& canvas) {
  const int64_t step = canvas.oversampling;
  const int64_t size = canvas.side / step;
  Image image = Image::filled(3, size, size);
  for (int64_t row = 0; row < size; ++row) {
    for (int64_t column = 0; column < size; ++column) {
      Color sum;
      for (int64_t i = 0; i < step * step; ++i) {
        const int64_t at = (row * step + i / step) * canvas.side + column * step + i % step;
        const Color& color = canvas.colors[static_cast<size_t>(at)];
        sum = {sum.red + color.red, sum.green + color.green, sum.blue + color.blue};
      }
      const Color mean = sum * (1 / static_cast<float>(step * step));
      image.at(0, row, column) = to_byte(mean.red);
      image.at(1, row, column) = to_byte(mean.green);
      image.at(2, row, column) = to_byte(mean.blue);
    }
  }
  return image;
}

}  // namespace facet::drawing
