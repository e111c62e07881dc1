#include "facet/data/npy_format.h"

#include <fmt/format.h>

namespace facet {

std::string npy_header(const std::string& descr, const std::vector<int64_t>& shape) {
  std::string sides;
  for (const int64_t side : shape) sides += fmt::format("{}, ", side);
  if (shape.size() > 1) sides.resize(sides.size() - 2);
  if (shape.size() == 1) sides.resize(sides.size() - 1);  // "(3,)"
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, sides);
  constexpr size_t kBefore = 10;  // mark, version, length
  text.resize((text.size() + 1 + kBefore + 63) / 64 * 64 - kBefore, ' ');
  text.back() = '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xFF);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

std::string numpy_type(torch::ScalarType type) {
  switch (type) {
    case kUInt8:
      return "|u1";
    case kInt8:
      return "|i1";
    case kInt16:
      return "<i2";
    case kInt32:
      return "<i4";
    case kInt64:
      return "<i8";
    case kFloat16:
      return "<f2";
    case kFloat32:
      return "<f4";
    case kFloat64:
      return "<f8";
    default:
      return "";
  }
}

std::vector<uint32_t> code_points(std::string_view utf8) {
  constexpr uint32_t kReplacement = 0xFFFD;
  std::vector<uint32_t> points;
  for (size_t i = 0; i < utf8.size();) {
    const auto lead = static_cast<uint8_t>(utf8[i++]);
    if (lead < 0x80) {
      points.push_back(lead);
      continue;
    }
    const int more = lead >= 0xF0 && lead < 0xF8 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC2 ? 1 : 0;
    uint32_t point = lead & (0x3F >> more);
    bool good = more > 0 && lead < 0xF8 && i + static_cast<size_t>(more) <= utf8.size();
    for (int j = 0; good && j < more; ++j) {
      const auto next = static_cast<uint8_t>(utf8[i + static_cast<size_t>(j)]);
      good = (next & 0xC0) == 0x80;
      point = point << 6 | (next & 0x3F);
    }
    if (good) i += static_cast<size_t>(more);
    points.push_back(good && point <= 0x10FFFF ? point : kReplacement);
  }
  return points;
}

std::string utf8_of(const uint32_t* points, size_t count) {
  while (count > 0 && points[count - 1] == 0) --count;
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t point = points[i] > 0x10FFFF ? 0xFFFD : points[i];
    const auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
    const auto put_tail = [&](int shift) { put(0x80 | (point >> shift & 0x3F)); };
    if (point < 0x80) {
      put(point);
    } else if (point < 0x800) {
      put(0xC0 | point >> 6);
      put_tail(0);
    } else if (point < 0x10000) {
      put(0xE0 | point >> 12);
      put_tail(6);
      put_tail(0);
    } else {
      put(0xF0 | point >> 18);
      put_tail(12);
      put_tail(6);
      put_tail(0);
    }
  }
  return text;
}

}  // namespace facet
