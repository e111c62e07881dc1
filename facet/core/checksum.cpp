#include "facet/core/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace facet {

namespace {

constexpr uint64_t prime1 = 0x9E3779B185EBCA87, prime2 = 0xC2B2AE3D27D4EB4F,
                   prime3 = 0x165667B19E3779F9, prime4 = 0x85EBCA77C2B2AE63,
                   prime5 = 0x27D4EB2F165667C5;

template <typename Number>
uint64_t number_at(const unsigned char* bytes) {
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

uint64_t mixed(uint64_t lane, uint64_t input) {
  return std::rotl(lane + input * prime2, 31) * prime1;
}

}  // namespace

std::array<uint64_t, 4> Checksum::first_lanes() { return {prime1 + prime2, prime2, 0, 0 - prime1}; }

void Checksum::add_stripe(const unsigned char* bytes) {
  for (size_t i = 0; i < lanes_.size(); ++i)
    lanes_[i] = mixed(lanes_[i], number_at<uint64_t>(bytes + 8 * i));
}

void Checksum::add(const void* data, size_t bytes) {
  const auto* next = static_cast<const unsigned char*>(data);
  const unsigned char* end = next + bytes;
  if (const size_t filled = total_ % stripe; filled > 0) {
    const size_t taken = std::min(stripe - filled, bytes);
    std::copy_n(next, taken, rest_.begin() + static_cast<std::ptrdiff_t>(filled));
    next += taken;
    if (filled + taken == stripe) add_stripe(rest_.data());
  }
  total_ += bytes;
  for (; end - next >= static_cast<std::ptrdiff_t>(stripe); next += stripe) add_stripe(next);
  if (next < end) std::copy(next, end, rest_.begin());
}

uint64_t Checksum::value() const {
  uint64_t hash = lanes_[2] + prime5;
  if (total_ >= stripe) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const uint64_t lane : lanes_) hash = (hash ^ mixed(0, lane)) * prime1 + prime4;
  }
  hash += total_;
  const unsigned char* next = rest_.data();
  size_t left = total_ % stripe;
  for (; left >= 8; next += 8, left -= 8)
    hash = std::rotl(hash ^ mixed(0, number_at<uint64_t>(next)), 27) * prime1 + prime4;
  for (; left >= 4; next += 4, left -= 4)
    hash = std::rotl(hash ^ (number_at<uint32_t>(next) * prime1), 23) * prime2 + prime3;
  for (; left > 0; ++next, --left) hash = std::rotl(hash ^ (*next * prime5), 11) * prime1;
  hash = (hash ^ (hash >> 33)) * prime2;
  hash = (hash ^ (hash >> 29)) * prime3;
  return hash ^ (hash >> 32);
}

std::string Checksum::text() const { return fmt::format("{:016x}", value()); }

std::string checksum_of(const void* data, size_t bytes) {
  Checksum checksum;
  checksum.add(data, bytes);
  return checksum.text();
}

}  // namespace facet
