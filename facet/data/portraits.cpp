// The renderer of the built-in portraits. Every shape is a signed distance function (negative
// inside), whose value at a pixel's centre tells how much of the pixel is covered: edges are smooth
// at any size. Random draws are hashes of (seed, index, name of the draw), and only correctly
// rounded arithmetic is used (no std:: distributions, no sines), so that a picture is a function of
// its key and not of a standard library. For the same reason this file must be compiled without
// fused multiply-adds (-ffp-contract=off where the processor has them).
#include "facet/data/portraits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

#include "facet/core/error.h"

namespace facet {
namespace {

// The order of portrait_properties() and of Portrait::labels.
enum Property : size_t { kGlasses, kSmile, kBeard, kHairStyle, kHairColor, kSkin, kBackground };
enum HairStyle : int32_t { kBald, kShort, kLong, kCurly };

struct Point {
  float x = 0, y = 0;
};
Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
Point operator*(Point a, float b) { return {a.x * b, a.y * b}; }
float dot(Point a, Point b) { return a.x * b.x + a.y * b.y; }
float length(Point a) { return std::sqrt(dot(a, a)); }

/// Both sides of the face at once: the right half stands for the left.
Point mirrored(Point p) { return {std::abs(p.x), p.y}; }

/// Bends horizontal shapes into parabolas; a positive bend lowers both ends.
Point bent(Point p, float bend) { return {p.x, p.y - bend * p.x * p.x}; }

struct Color {
  float red = 0, green = 0, blue = 0;  // 0 to 1
};
Color operator*(Color a, float b) { return {a.red * b, a.green * b, a.blue * b}; }
Color mix(Color a, Color b, float share) {
  return {a.red + (b.red - a.red) * share, a.green + (b.green - a.green) * share,
          a.blue + (b.blue - a.blue) * share};
}
constexpr Color rgb(uint32_t hex) {
  return {static_cast<float>(hex >> 16 & 255) / 255, static_cast<float>(hex >> 8 & 255) / 255,
          static_cast<float>(hex & 255) / 255};
}

// By label. Shades are chosen so that hair stands out from every skin and every background.
constexpr std::array kHairColors = {rgb(0x221d26), rgb(0x683918), rgb(0xf7d354), rgb(0xd8480f)};
constexpr std::array kSkinColors = {rgb(0xfcd9bf), rgb(0xdca878), rgb(0x93603f)};
constexpr std::array kBackgroundColors = {rgb(0x6fb9ee), rgb(0x86cf8f), rgb(0xf594b3),
                                          rgb(0xa68ae0), rgb(0xf3efe4)};
constexpr Color kBlack = rgb(0x1b1a24);
constexpr Color kWhite = rgb(0xffffff);

// Distances: negative inside, in the units of the coordinates.

float circle(Point p, Point center, float radius) { return length(p - center) - radius; }

/// The implicit equation over the length of its gradient: right to first order near the outline,
/// which is all that smooth edges need.
float ellipse(Point p, Point center, Point radii) {
  const Point inverse = {1 / radii.x, 1 / radii.y};
  const Point once = {(p.x - center.x) * inverse.x, (p.y - center.y) * inverse.y};
  const Point twice = {once.x * inverse.x, once.y * inverse.y};
  return (dot(once, once) - 1) / (2 * length(twice) + 1e-6f);
}

float rounded_box(Point p, Point center, Point half, float corner) {
  const Point q = {std::abs(p.x - center.x) - half.x + corner,
                   std::abs(p.y - center.y) - half.y + corner};
  const Point outside = {std::max(q.x, 0.0f), std::max(q.y, 0.0f)};
  return length(outside) + std::min(std::max(q.x, q.y), 0.0f) - corner;
}

float stroke(Point p, Point from, Point to, float radius) {
  const Point along = to - from;
  const float share = std::clamp(dot(p - from, along) / dot(along, along), 0.0f, 1.0f);
  return length(p - from - along * share) - radius;
}

/// The face without ears and hair, grown on all sides by `margin`.
float face(Point p, float margin = 0) {
  return rounded_box(p, {0, 0.10f}, {0.51f + margin, 0.57f + margin}, 0.46f + margin);
}

/// splitmix64's finalizer: every bit of the result depends on every bit of `x`.
uint64_t scramble(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Random draws by name: adding or reordering draws leaves all others as they were.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t index) : key_(scramble(scramble(seed) ^ index)) {}

  float uniform(std::string_view name, float low, float high) const {
    uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    for (const char letter : name) {
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
    }
    const uint64_t bits = scramble(key_ ^ hash) >> 40;  // 24 bits: exact in a float
    return low + (high - low) * (static_cast<float>(bits) * 0x1p-24f);
  }

  int32_t value(const PortraitProperty& property) const {
    double rest = uniform(property.name, 0, 1);
    int32_t value = 0;
    const auto last = static_cast<int32_t>(property.values.size()) - 1;
    while (value < last && rest >= property.frequencies[static_cast<size_t>(value)]) {
      rest -= property.frequencies[static_cast<size_t>(value)];
      ++value;
    }
    return value;
  }

  /// A shade of a named colour: lighter or darker, and a little to another hue.
  Color shade(std::string_view name, Color color) const {
    const std::string key(name);
    const float light = uniform(key + " shade", 0.93f, 1.05f);
    return {color.red * light + uniform(key + " red", -0.025f, 0.025f),
            color.green * light + uniform(key + " green", -0.025f, 0.025f),
            color.blue * light + uniform(key + " blue", -0.025f, 0.025f)};
  }

 private:
  uint64_t key_;
};

/// A canvas of colours, [side, side], larger than a small picture: averaging it down keeps lines
/// that are thinner than a pixel at their true weight.
struct Canvas {
  explicit Canvas(int64_t picture_size)
      : oversampling((64 + picture_size - 1) / picture_size),
        side(picture_size * oversampling),
        colors(static_cast<size_t>(side * side)) {}

  int64_t oversampling;
  int64_t side;
  std::vector<Color> colors;
};

/// Where a part of the picture sits. The picture itself spans -1 to 1, with y downwards.
struct Placement {
  Point center;
  Point scale = {1, 1};
  float cosine = 1, sine = 0;
};

/// A rectangle that holds a shape: nothing outside is visited.
struct Box {
  Point low, high;
};
Box around(Point center, Point half) { return {center - half, center + half}; }

/// How a shape meets what lies below it.
struct Finish {
  float opacity = 1;
  float blur = 0;  ///< width over which the edge fades, where wider than a pixel
};

/// Paints shapes that are given in the coordinates of one placement, under its light.
class Brush {
 public:
  /// `light` brightens the side it points to; `roundness` darkens the rim, as on a ball.
  Brush(Canvas& canvas, const Placement& placement, Point light, float roundness)
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

  template <typename Distance>
  void paint(const Box& box, Color color, const Distance& distance, Finish finish = {}) const {
    const float width = std::max(finish.blur, pixel_);
    const float sharpness = 1 / width;
    const auto [first_column, last_column, first_row, last_row] = pixels(box, width);
    for (int64_t row = first_row; row < last_row; ++row) {
      const Point start = first_ + row_step_ * static_cast<float>(row);
      Color* colors = canvas_.colors.data() + row * canvas_.side;
      for (int64_t column = first_column; column < last_column; ++column) {
        const Point p = start + column_step_ * static_cast<float>(column);
        const float coverage = std::clamp(0.5f - distance(p) * sharpness, 0.0f, 1.0f);
        if (coverage > 0) {
          const float brightness = 1 + dot(light_, p) - roundness_ * dot(p, p);
          colors[column] = mix(colors[column], color * brightness, coverage * finish.opacity);
        }
      }
    }
  }

 private:
  struct Pixels {
    int64_t first_column, last_column, first_row, last_row;
  };

  /// The pixels that a box with a margin may touch, wherever the placement turns it.
  Pixels pixels(const Box& box, float margin) const {
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

  int64_t pixel_at(float coordinate) const {
    const float pixel = (coordinate + 1) / 2 * static_cast<float>(canvas_.side);
    return static_cast<int64_t>(std::clamp(pixel, 0.0f, static_cast<float>(canvas_.side - 1)));
  }

  Canvas& canvas_;
  Placement placement_;
  Point light_;
  float roundness_;
  Point first_;                   // centre of the first pixel
  Point column_step_, row_step_;  // from a pixel to its neighbours
  float pixel_ = 0;               // size of a pixel in the placement's units
};

/// Everything that the drawing needs to know about one face.
struct Sitter {
  std::vector<int32_t> labels;
  Color hair, skin, background, shirt;
  Placement head;
  Point light, gaze;
  float eye_size, eye_distance, brow_height, mouth_width, mouth_height, parting;

  bool has(Property property) const { return labels[property] == 1; }
  HairStyle hair_style() const { return static_cast<HairStyle>(labels[kHairStyle]); }
};

Sitter invite(const Draws& draws, const std::vector<int32_t>& labels) {
  const auto color = [&](Property property, std::span<const Color> colors) {
    return draws.shade(portrait_properties()[property].name,
                       colors[static_cast<size_t>(labels[property])]);
  };
  Sitter sitter{};
  sitter.labels = labels;
  sitter.hair = color(kHairColor, kHairColors);
  sitter.skin = color(kSkin, kSkinColors);
  sitter.background = color(kBackground, kBackgroundColors);
  sitter.shirt = draws.shade("shirt", rgb(0x3d4f7c));
  const float size = draws.uniform("head size", 1.1f, 1.26f);
  const float aspect = draws.uniform("head aspect", 0.94f, 1.06f);
  const float turn = draws.uniform("head turn", -0.07f, 0.07f);  // tangent of half the angle
  sitter.head = {
      .center = {draws.uniform("head x", -0.07f, 0.07f), draws.uniform("head y", -0.08f, 0.04f)},
      .scale = {size * aspect, size / aspect},
      .cosine = (1 - turn * turn) / (1 + turn * turn),
      .sine = 2 * turn / (1 + turn * turn)};
  sitter.light = {draws.uniform("light x", -0.22f, 0.22f), draws.uniform("light y", -0.16f, 0.02f)};
  sitter.gaze = {draws.uniform("gaze x", -0.04f, 0.04f), draws.uniform("gaze y", -0.03f, 0.03f)};
  sitter.eye_size = draws.uniform("eye size", 0.9f, 1.12f);
  sitter.eye_distance = draws.uniform("eye distance", 0.215f, 0.24f);
  sitter.brow_height = draws.uniform("brow height", -0.02f, 0.02f);
  sitter.mouth_width = draws.uniform("mouth width", 0.92f, 1.1f);
  sitter.mouth_height = draws.uniform("mouth height", 0.9f, 1.1f);
  sitter.parting = draws.uniform("parting", -0.12f, 0.12f);
  return sitter;
}

void draw_background(const Brush& brush, const Sitter& sitter) {
  brush.paint({{-1, -1}, {1, 1}}, sitter.background, [](Point) { return -1.0f; });
}

void draw_body(const Brush& brush, const Sitter& sitter) {
  const Box below = {{-1, 0.4f}, {1, 1.4f}};
  brush.paint(below, sitter.shirt, [](Point p) {
    return rounded_box(p, {0, 1.5f}, {0.78f, 0.72f}, 0.4f);
  });
  brush.paint(below, sitter.skin * 0.82f, [](Point p) {
    return stroke(p, {0, 0.4f}, {0, 0.8f}, 0.2f);
  });
}

// Curls of the right half of the head; the left half mirrors them.
constexpr std::array<Point, 5> kCurls = {
    {{0.14f, -0.54f}, {0.37f, -0.43f}, {0.51f, -0.22f}, {0.56f, 0.03f}, {0.54f, 0.27f}}};

void draw_hair_behind(const Brush& brush, const Sitter& sitter) {
  const Color dim = sitter.hair * 0.86f;
  if (sitter.hair_style() == kLong) {
    brush.paint({{-0.8f, -0.7f}, {0.8f, 1.2f}}, dim, [](Point p) {
      const Point flared = {p.x / (1 + 0.12f * p.y), p.y};
      return rounded_box(flared, {0, 0.2f}, {0.64f, 0.8f}, 0.55f);
    });
  }
  if (sitter.hair_style() == kCurly) {
    for (const Point curl : kCurls) {
      for (const float side : {-1.0f, 1.0f}) {
        const Point center = {side * curl.x, curl.y};
        brush.paint(around(center, {0.21f, 0.21f}), dim,
                    [&](Point p) { return circle(p, center, 0.21f); });
      }
    }
  }
}

void draw_ears(const Brush& brush, const Sitter& sitter) {
  if (sitter.hair_style() == kLong || sitter.hair_style() == kCurly) return;  // under the hair
  const Box box = {{-0.64f, -0.05f}, {0.64f, 0.25f}};
  brush.paint(box, sitter.skin, [](Point p) {
    return ellipse(mirrored(p), {0.52f, 0.1f}, {0.11f, 0.14f});
  });
  brush.paint(box, sitter.skin * 0.8f, [](Point p) {
    return ellipse(mirrored(p), {0.53f, 0.1f}, {0.055f, 0.08f});
  });
}

void draw_face(const Brush& brush, const Sitter& sitter) {
  brush.paint({{-0.52f, -0.5f}, {0.52f, 0.7f}}, sitter.skin, [](Point p) { return face(p); });
  const Color blush = mix(sitter.skin, rgb(0xf0506a), 0.5f);
  for (const float side : {-1.0f, 1.0f}) {
    const Point cheek = {side * 0.33f, 0.27f};
    brush.paint(around(cheek, {0.15f, 0.15f}), blush,
                [&](Point p) { return circle(p, cheek, 0.08f); }, {.opacity = 0.5f, .blur = 0.12f});
  }
}

void draw_beard(const Brush& brush, const Sitter& sitter) {
  const Color color = sitter.hair * 0.9f;
  // The mouth stays on bare skin: a smile is as plain to see with a beard as without.
  brush.paint({{-0.56f, 0.03f}, {0.56f, 0.78f}}, color, [](Point p) {
    const float cheeks = ellipse(p, {0, 0.17f}, {0.41f, 0.37f});
    const float chin = ellipse(p, {0, 0.56f}, {0.34f, 0.2f});
    return std::max({std::min(face(p, 0.045f), chin), -cheeks, 0.03f - p.y});
  });
  brush.paint({{-0.28f, 0.2f}, {0.28f, 0.42f}}, color, [](Point p) {
    return stroke(bent(p, 1.2f), {-0.2f, 0.275f}, {0.2f, 0.275f}, 0.045f);
  });
}

void draw_smile(const Brush& brush, const Sitter& sitter) {
  const Point radii = {0.28f * sitter.mouth_width, 0.22f * sitter.mouth_height};
  const Box box = {{-0.31f, 0.22f}, {0.31f, 0.58f}};
  const auto below_lip = [](Point p) { return bent(p, -0.9f) - Point{0, 0.33f}; };
  const auto mouth = [=](Point p) {
    const Point q = below_lip(p);
    return std::max(ellipse(q, {0, 0}, radii), -q.y);
  };
  brush.paint(box, rgb(0x7d1728), mouth);
  brush.paint(box, rgb(0xe8697a), [&](Point p) {
    return std::max(mouth(p) + 0.02f, ellipse(p, {0, 0.56f}, {0.15f, 0.1f}));
  });
  brush.paint(box, kWhite,
              [&](Point p) { return std::max(mouth(p) + 0.015f, below_lip(p).y - 0.095f); });
}

void draw_straight_mouth(const Brush& brush, const Sitter& sitter) {
  const float half = 0.17f * sitter.mouth_width;
  brush.paint({{-0.25f, 0.3f}, {0.25f, 0.52f}}, mix(sitter.skin, rgb(0xa82f3f), 0.85f),
              [=](Point p) {
                return stroke(bent(p, 0.8f), {-half, 0.40f}, {half, 0.40f}, 0.04f);
              });
}

void draw_eyes(const Brush& brush, const Sitter& sitter) {
  for (const float side : {-1.0f, 1.0f}) {
    const Point eye = {side * sitter.eye_distance, 0.04f};
    const Point radii = Point{0.115f, 0.125f} * sitter.eye_size;
    brush.paint(around(eye, radii), kWhite, [&](Point p) { return ellipse(p, eye, radii); });
    const Point pupil = eye + sitter.gaze;
    const float radius = 0.07f * sitter.eye_size;
    brush.paint(around(pupil, {radius, radius}), kBlack,
                [&](Point p) { return circle(p, pupil, radius); });
    const Point glint = pupil + Point{sitter.light.x > 0 ? 0.025f : -0.025f, -0.03f};
    brush.paint(around(glint, {0.03f, 0.03f}), kWhite,
                [&](Point p) { return circle(p, glint, 0.022f); });
  }
  brush.paint({{-0.1f, 0.1f}, {0.1f, 0.28f}}, sitter.skin * 0.78f, [](Point p) {
    return stroke(bent(p, -3), {-0.045f, 0.195f}, {0.045f, 0.195f}, 0.035f);
  });
}

void draw_brows(const Brush& brush, const Sitter& sitter) {
  const float height = sitter.brow_height - 0.16f;
  brush.paint({{-0.4f, -0.3f}, {0.4f, 0.0f}}, sitter.hair * 0.92f, [&](Point p) {
    const Point q = {mirrored(p).x - sitter.eye_distance, p.y};
    return stroke(bent(q, 2.5f), {-0.1f, height}, {0.1f, height}, 0.035f);
  });
}

void draw_hair(const Brush& brush, const Sitter& sitter) {
  const HairStyle style = sitter.hair_style();
  if (style == kBald) {
    brush.paint({{-0.68f, -0.33f}, {0.68f, 0.17f}}, sitter.hair, [](Point p) {
      return std::max(ellipse(mirrored(p), {0.51f, -0.08f}, {0.16f, 0.24f}),
                      -ellipse(p, {0, 0.2f}, {0.45f, 0.65f}));
    });
  }
  if (style == kShort) {
    brush.paint({{-0.6f, -0.64f}, {0.6f, 0.12f}}, sitter.hair, [&](Point p) {
      const float opening = ellipse(p, {sitter.parting, 0.26f}, {0.47f, 0.52f});
      return std::max({face(p, 0.07f), -opening, p.y - 0.04f});
    });
  }
  if (style == kLong) {
    brush.paint({{-0.64f, -0.64f}, {0.64f, 0.7f}}, sitter.hair, [&](Point p) {
      const float opening = ellipse(p, {sitter.parting * 0.3f, 0.36f}, {0.42f, 0.66f});
      return std::max({face(p, 0.08f), -opening, p.y - 0.5f});
    });
  }
  if (style == kCurly) {
    brush.paint({{-0.6f, -0.64f}, {0.6f, 0.12f}}, sitter.hair, [](Point p) {
      return std::max({face(p, 0.05f), -ellipse(p, {0, 0.26f}, {0.46f, 0.50f}), p.y - 0.1f});
    });
  }
}

void draw_gloss(const Brush& brush, const Sitter& sitter) {
  if (sitter.hair_style() == kBald || sitter.hair_style() == kCurly) return;
  const Point center = {sitter.light.x, -0.4f};
  brush.paint(around(center, {0.3f, 0.15f}), mix(sitter.hair, kWhite, 0.45f),
              [=](Point p) {
                const Point q = bent(p - center, 0.6f);
                return stroke(q, {-0.16f, 0}, {0.16f, 0}, 0.03f);
              },
              {.opacity = 0.6f, .blur = 0.08f});
}

void draw_glasses(const Brush& brush) {
  const Point radii = {0.195f, 0.185f};
  const Point center = {0.235f, 0.04f};
  const Box box = {{-0.6f, -0.2f}, {0.6f, 0.3f}};
  const auto lens = [=](Point p) { return ellipse(mirrored(p), center, radii); };
  brush.paint(box, rgb(0xcfeaff), lens, {.opacity = 0.3f});
  brush.paint(box, kBlack, [&](Point p) {
    const Point q = mirrored(p);
    const float rims = std::abs(lens(p)) - 0.036f;
    const float bridge = stroke(q, {0, -0.01f}, {0.05f, 0.0f}, 0.03f);
    const float arms = stroke(q, {0.43f, 0.0f}, {0.54f, -0.03f}, 0.03f);
    return std::min({rims, bridge, arms});
  });
}

uint8_t to_byte(float value) {
  return static_cast<uint8_t>(std::clamp(value, 0.0f, 1.0f) * 255 + 0.5f);
}

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

Image paint_portrait(const Sitter& sitter, int64_t size) {
  Canvas canvas(size);
  const Placement body = {.center = {sitter.head.center.x * 0.5f, sitter.head.center.y * 0.5f}};
  draw_background(Brush(canvas, {}, sitter.light * 0.3f, 0.03f), sitter);
  const Brush head(canvas, sitter.head, sitter.light, 0.16f);
  draw_hair_behind(head, sitter);
  draw_body(Brush(canvas, body, sitter.light, 0), sitter);
  draw_ears(head, sitter);
  draw_face(head, sitter);
  if (sitter.has(kBeard)) draw_beard(head, sitter);
  sitter.has(kSmile) ? draw_smile(head, sitter) : draw_straight_mouth(head, sitter);
  draw_eyes(head, sitter);
  draw_hair(head, sitter);
  draw_gloss(head, sitter);
  draw_brows(head, sitter);
  if (sitter.has(kGlasses)) draw_glasses(head);
  return average_down(canvas);
}

void check_size(int64_t size) {
  if (size < kSmallestPortrait || size > kLargestPortrait) {
    throw Error({.doing = "drawing a portrait",
                 .object = "size",
                 .found = std::to_string(size),
                 .expected = "a number from " + std::to_string(kSmallestPortrait) + " to " +
                             std::to_string(kLargestPortrait),
                 .cause = "portraits are square, of `size` pixels a side"});
  }
}

void check_labels(const std::vector<int32_t>& labels) {
  const auto& properties = portrait_properties();
  if (labels.size() != properties.size()) {
    throw Error({.doing = "drawing a portrait",
                 .object = "labels",
                 .found = std::to_string(labels.size()) + " labels",
                 .expected = std::to_string(properties.size()),
                 .cause = "every property needs one, in the order of portrait_properties()"});
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto count = static_cast<int32_t>(properties[i].values.size());
    if (labels[i] < 0 || labels[i] >= count) {
      throw Error({.doing = "drawing a portrait",
                   .object = properties[i].name,
                   .found = "label " + std::to_string(labels[i]),
                   .expected = "0 to " + std::to_string(count - 1),
                   .cause = "a label counts the property's values from 0"});
    }
  }
}

}  // namespace

const std::vector<PortraitProperty>& portrait_properties() {
  static const std::vector<PortraitProperty> properties = {
      {"glasses", {"without", "with"}, {0.7, 0.3}},
      {"smile", {"not smiling", "smiling"}, {0.5, 0.5}},
      {"beard", {"without", "with"}, {0.7, 0.3}},
      {"hair_style", {"bald", "short", "long", "curly"}, {0.25, 0.25, 0.25, 0.25}},
      {"hair_color", {"black", "brown", "blond", "red"}, {0.25, 0.25, 0.25, 0.25}},
      {"skin", {"light", "tan", "dark"}, {1.0 / 3, 1.0 / 3, 1.0 / 3}},
      {"background", {"blue", "green", "pink", "purple", "white"}, {0.2, 0.2, 0.2, 0.2, 0.2}},
  };
  return properties;
}

Portrait draw_portrait(uint64_t seed, uint64_t index, int64_t size) {
  const Draws draws(seed, index);
  std::vector<int32_t> labels;
  for (const PortraitProperty& property : portrait_properties()) {
    labels.push_back(draws.value(property));
  }
  return draw_portrait(seed, index, size, labels);
}

Portrait draw_portrait(uint64_t seed, uint64_t index, int64_t size,
                       const std::vector<int32_t>& labels) {
  check_size(size);
  check_labels(labels);
  return {paint_portrait(invite(Draws(seed, index), labels), size), labels};
}

}  // namespace facet
