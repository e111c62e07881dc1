// What the portraits look like: their properties and colours, and the shapes of every part of a
// face. Random draws are hashes of (seed, index, name of the draw), and only correctly rounded
// arithmetic is used (no std:: distributions, no sines), so that a picture depends on its seed and
// index and not on a standard library. For the same reason this file must be compiled without fused
// multiply-adds (-ffp-contract=off).
#include "facet/data/portraits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

#include "facet/core/error.h"
#include "facet/data/portrait_canvas.h"

namespace facet {
namespace {

using namespace drawing;

// The order of portrait_properties() and of Portrait::labels.
enum Property : size_t { kGlasses, kSmile, kBeard, kHairStyle, kHairColor, kSkin, kBackground };
enum HairStyle : int32_t { kBald, kShort, kLong, kCurly };

// Indexed by label. Hair stands out from every skin and every background.
constexpr std::array kHairColors = {rgb(0x221d26), rgb(0x683918), rgb(0xf7d354), rgb(0xd8480f)};
constexpr std::array kSkinColors = {rgb(0xfcd9bf), rgb(0xdca878), rgb(0x93603f)};
constexpr std::array kBackgroundColors = {rgb(0x6fb9ee), rgb(0x86cf8f), rgb(0xf594b3),
                                          rgb(0xa68ae0), rgb(0xf3efe4)};
constexpr Color kBlack = rgb(0x1b1a24);
constexpr Color kWhite = rgb(0xffffff);

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

/// Random draws by name: adding or reordering draws does not change the others.
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

  /// A random shade of a colour: lighter or darker, and with a slightly different hue.
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

/// The labels of one face, and its random colours, pose and proportions.
struct Person {
  std::vector<int32_t> labels;
  Color hair, skin, background, shirt;
  Placement head;
  Point light, gaze;
  float eye_size, eye_distance, brow_height, mouth_width, mouth_height, parting;

  bool has(Property property) const { return labels[property] == 1; }
  HairStyle hair_style() const { return static_cast<HairStyle>(labels[kHairStyle]); }
};

Person sample_person(const Draws& draws, const std::vector<int32_t>& labels) {
  const auto color = [&](Property property, std::span<const Color> colors) {
    return draws.shade(portrait_properties()[property].name,
                       colors[static_cast<size_t>(labels[property])]);
  };
  Person person{};
  person.labels = labels;
  person.hair = color(kHairColor, kHairColors);
  person.skin = color(kSkin, kSkinColors);
  person.background = color(kBackground, kBackgroundColors);
  person.shirt = draws.shade("shirt", rgb(0x3d4f7c));
  const float size = draws.uniform("head size", 1.1f, 1.26f);
  const float aspect = draws.uniform("head aspect", 0.94f, 1.06f);
  const float turn = draws.uniform("head turn", -0.07f, 0.07f);  // tangent of half the angle
  person.head = {
      .center = {draws.uniform("head x", -0.07f, 0.07f), draws.uniform("head y", -0.08f, 0.04f)},
      .scale = {size * aspect, size / aspect},
      .cosine = (1 - turn * turn) / (1 + turn * turn),
      .sine = 2 * turn / (1 + turn * turn)};
  person.light = {draws.uniform("light x", -0.22f, 0.22f), draws.uniform("light y", -0.16f, 0.02f)};
  person.gaze = {draws.uniform("gaze x", -0.04f, 0.04f), draws.uniform("gaze y", -0.03f, 0.03f)};
  person.eye_size = draws.uniform("eye size", 0.9f, 1.12f);
  person.eye_distance = draws.uniform("eye distance", 0.215f, 0.24f);
  person.brow_height = draws.uniform("brow height", -0.02f, 0.02f);
  person.mouth_width = draws.uniform("mouth width", 0.92f, 1.1f);
  person.mouth_height = draws.uniform("mouth height", 0.9f, 1.1f);
  person.parting = draws.uniform("parting", -0.12f, 0.12f);
  return person;
}

void draw_background(const Brush& brush, const Person& person) {
  brush.paint({{-1, -1}, {1, 1}}, person.background, [](Point) { return -1.0f; });
}

void draw_body(const Brush& brush, const Person& person) {
  const Box below = {{-1, 0.4f}, {1, 1.4f}};
  brush.paint(below, person.shirt, [](Point p) {
    return rounded_box(p, {0, 1.5f}, {0.78f, 0.72f}, 0.4f);
  });
  brush.paint(below, person.skin * 0.82f, [](Point p) {
    return stroke(p, {0, 0.4f}, {0, 0.8f}, 0.2f);
  });
}

// Curls on the right half of the head; the left half mirrors them.
constexpr std::array<Point, 5> kCurls = {
    {{0.14f, -0.54f}, {0.37f, -0.43f}, {0.51f, -0.22f}, {0.56f, 0.03f}, {0.54f, 0.27f}}};

void draw_hair_behind(const Brush& brush, const Person& person) {
  const Color dim = person.hair * 0.86f;
  if (person.hair_style() == kLong) {
    brush.paint({{-0.8f, -0.7f}, {0.8f, 1.2f}}, dim, [](Point p) {
      const Point flared = {p.x / (1 + 0.12f * p.y), p.y};
      return rounded_box(flared, {0, 0.2f}, {0.64f, 0.8f}, 0.55f);
    });
  }
  if (person.hair_style() == kCurly) {
    for (const Point curl : kCurls) {
      for (const float side : {-1.0f, 1.0f}) {
        const Point center = {side * curl.x, curl.y};
        brush.paint(around(center, {0.21f, 0.21f}), dim,
                    [&](Point p) { return circle(p, center, 0.21f); });
      }
    }
  }
}

void draw_ears(const Brush& brush, const Person& person) {
  if (person.hair_style() == kLong || person.hair_style() == kCurly) return;  // under the hair
  const Box box = {{-0.64f, -0.05f}, {0.64f, 0.25f}};
  brush.paint(box, person.skin, [](Point p) {
    return ellipse(mirrored(p), {0.52f, 0.1f}, {0.11f, 0.14f});
  });
  brush.paint(box, person.skin * 0.8f, [](Point p) {
    return ellipse(mirrored(p), {0.53f, 0.1f}, {0.055f, 0.08f});
  });
}

void draw_face(const Brush& brush, const Person& person) {
  brush.paint({{-0.52f, -0.5f}, {0.52f, 0.7f}}, person.skin, [](Point p) { return face(p); });
  const Color blush = mix(person.skin, rgb(0xf0506a), 0.5f);
  for (const float side : {-1.0f, 1.0f}) {
    const Point cheek = {side * 0.33f, 0.27f};
    brush.paint(around(cheek, {0.15f, 0.15f}), blush,
                [&](Point p) { return circle(p, cheek, 0.08f); }, {.opacity = 0.5f, .blur = 0.12f});
  }
}

void draw_beard(const Brush& brush, const Person& person) {
  const Color color = person.hair * 0.9f;
  // The skin around the mouth stays bare, so that a smile is as visible with a beard as without.
  brush.paint({{-0.56f, 0.03f}, {0.56f, 0.78f}}, color, [](Point p) {
    const float cheeks = ellipse(p, {0, 0.17f}, {0.41f, 0.37f});
    const float chin = ellipse(p, {0, 0.56f}, {0.34f, 0.2f});
    return std::max({std::min(face(p, 0.045f), chin), -cheeks, 0.03f - p.y});
  });
  brush.paint({{-0.28f, 0.2f}, {0.28f, 0.42f}}, color, [](Point p) {
    return stroke(bent(p, 1.2f), {-0.2f, 0.275f}, {0.2f, 0.275f}, 0.045f);
  });
}

void draw_smile(const Brush& brush, const Person& person) {
  const Point radii = {0.28f * person.mouth_width, 0.22f * person.mouth_height};
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

void draw_straight_mouth(const Brush& brush, const Person& person) {
  const float half = 0.17f * person.mouth_width;
  brush.paint({{-0.25f, 0.3f}, {0.25f, 0.52f}}, mix(person.skin, rgb(0xa82f3f), 0.85f),
              [=](Point p) {
                return stroke(bent(p, 0.8f), {-half, 0.40f}, {half, 0.40f}, 0.04f);
              });
}

void draw_eyes(const Brush& brush, const Person& person) {
  for (const float side : {-1.0f, 1.0f}) {
    const Point eye = {side * person.eye_distance, 0.04f};
    const Point radii = Point{0.115f, 0.125f} * person.eye_size;
    brush.paint(around(eye, radii), kWhite, [&](Point p) { return ellipse(p, eye, radii); });
    const Point pupil = eye + person.gaze;
    const float radius = 0.07f * person.eye_size;
    brush.paint(around(pupil, {radius, radius}), kBlack,
                [&](Point p) { return circle(p, pupil, radius); });
    const Point glint = pupil + Point{person.light.x > 0 ? 0.025f : -0.025f, -0.03f};
    brush.paint(around(glint, {0.03f, 0.03f}), kWhite,
                [&](Point p) { return circle(p, glint, 0.022f); });
  }
  brush.paint({{-0.1f, 0.1f}, {0.1f, 0.28f}}, person.skin * 0.78f, [](Point p) {
    return stroke(bent(p, -3), {-0.045f, 0.195f}, {0.045f, 0.195f}, 0.035f);
  });
}

void draw_brows(const Brush& brush, const Person& person) {
  const float height = person.brow_height - 0.16f;
  brush.paint({{-0.4f, -0.3f}, {0.4f, 0.0f}}, person.hair * 0.92f, [&](Point p) {
    const Point q = {mirrored(p).x - person.eye_distance, p.y};
    return stroke(bent(q, 2.5f), {-0.1f, height}, {0.1f, height}, 0.035f);
  });
}

void draw_hair(const Brush& brush, const Person& person) {
  const HairStyle style = person.hair_style();
  if (style == kBald) {
    brush.paint({{-0.68f, -0.33f}, {0.68f, 0.17f}}, person.hair, [](Point p) {
      return std::max(ellipse(mirrored(p), {0.51f, -0.08f}, {0.16f, 0.24f}),
                      -ellipse(p, {0, 0.2f}, {0.45f, 0.65f}));
    });
  }
  if (style == kShort) {
    brush.paint({{-0.6f, -0.64f}, {0.6f, 0.12f}}, person.hair, [&](Point p) {
      const float opening = ellipse(p, {person.parting, 0.26f}, {0.47f, 0.52f});
      return std::max({face(p, 0.07f), -opening, p.y - 0.04f});
    });
  }
  if (style == kLong) {
    brush.paint({{-0.64f, -0.64f}, {0.64f, 0.7f}}, person.hair, [&](Point p) {
      const float opening = ellipse(p, {person.parting * 0.3f, 0.36f}, {0.42f, 0.66f});
      return std::max({face(p, 0.08f), -opening, p.y - 0.5f});
    });
  }
  if (style == kCurly) {
    brush.paint({{-0.6f, -0.64f}, {0.6f, 0.12f}}, person.hair, [](Point p) {
      return std::max({face(p, 0.05f), -ellipse(p, {0, 0.26f}, {0.46f, 0.50f}), p.y - 0.1f});
    });
  }
}

void draw_gloss(const Brush& brush, const Person& person) {
  if (person.hair_style() == kBald || person.hair_style() == kCurly) return;
  const Point center = {person.light.x, -0.4f};
  brush.paint(around(center, {0.3f, 0.15f}), mix(person.hair, kWhite, 0.45f),
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

Image paint_portrait(const Person& person, int64_t size) {
  Canvas canvas(size);
  const Placement body = {.center = {person.head.center.x * 0.5f, person.head.center.y * 0.5f}};
  draw_background(Brush(canvas, {}, person.light * 0.3f, 0.03f), person);
  const Brush head(canvas, person.head, person.light, 0.16f);
  draw_hair_behind(head, person);
  draw_body(Brush(canvas, body, person.light, 0), person);
  draw_ears(head, person);
  draw_face(head, person);
  if (person.has(kBeard)) draw_beard(head, person);
  person.has(kSmile) ? draw_smile(head, person) : draw_straight_mouth(head, person);
  draw_eyes(head, person);
  draw_hair(head, person);
  draw_gloss(head, person);
  draw_brows(head, person);
  if (person.has(kGlasses)) draw_glasses(head);
  return average_down(canvas);
}

void check_size(int64_t size) {
  if (size < kSmallestPortrait || size > kLargestPortrait) {
    throw Error({.doing = "drawing a portrait",
                 .object = "size",
                 .found = std::to_string(size),
                 .expected = "a number from " + std::to_string(kSmallestPortrait) + " to " +
                             std::to_string(kLargestPortrait),
                 .cause = "`size` is the width and the height in pixels"});
  }
}

void check_labels(const std::vector<int32_t>& labels) {
  const auto& properties = portrait_properties();
  if (labels.size() != properties.size()) {
    throw Error({.doing = "drawing a portrait",
                 .object = "labels",
                 .found = std::to_string(labels.size()) + " labels",
                 .expected = std::to_string(properties.size()),
                 .cause = "give one label per property, in the order of portrait_properties()"});
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto count = static_cast<int32_t>(properties[i].values.size());
    if (labels[i] < 0 || labels[i] >= count) {
      throw Error({.doing = "drawing a portrait",
                   .object = properties[i].name,
                   .found = "label " + std::to_string(labels[i]),
                   .expected = "0 to " + std::to_string(count - 1),
                   .cause = "a label is the index of one of the property's values"});
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
  return {paint_portrait(sample_person(Draws(seed, index), labels), size), labels};
}

}  // namespace facet
