#include "facet/data/duplicates.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

namespace facet {

namespace {

/// Eight bytes at a time, multiplied and rotated; a few wrong hits do no harm.
uint64_t hash_of(const uint8_t* bytes, size_t size) {
  constexpr uint64_t odd = 0x9e3779b97f4a7c15;
  uint64_t hash = size;
  for (size_t at = 0; at < size; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min<size_t>(8, size - at));
    hash = std::rotl((hash ^ word) * odd, 29);
  }
  return (hash ^ hash >> 32) * odd;
}

}  // namespace

uint64_t pixel_hash(const Image& image) {
  const size_t plane = image.pixels.size() / static_cast<size_t>(image.channels);
  const uint8_t* first = image.pixels.data();
  const bool is_grey = image.channels == 1 || (std::memcmp(first, first + plane, plane) == 0 &&
                                               std::memcmp(first, first + 2 * plane, plane) == 0);
  return hash_of(first, is_grey ? plane : image.pixels.size());
}

std::vector<int64_t> first_copies(const std::vector<uint64_t>& hashes,
                                  const std::function<std::vector<uint8_t>(int64_t)>& pixels) {
  std::vector<int64_t> first(hashes.size()), order(hashes.size());
  std::iota(first.begin(), first.end(), int64_t{0});
  order = first;
  const auto hash = [&](int64_t n) { return hashes[static_cast<size_t>(n)]; };
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return hash(a) != hash(b) ? hash(a) < hash(b) : a < b; });
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && hash(order[end]) == hash(order[begin])) ++end;
    std::vector<std::pair<int64_t, std::vector<uint8_t>>> different;
    for (size_t i = begin; i < end && end - begin > 1; ++i) {
      std::vector<uint8_t> values = pixels(order[i]);
      const auto same = std::find_if(different.begin(), different.end(),
                                     [&](const auto& one) { return one.second == values; });
      if (same == different.end())
        different.emplace_back(order[i], std::move(values));
      else
        first[static_cast<size_t>(order[i])] = same->first;
    }
  }
  return first;
}

}  // namespace facet
