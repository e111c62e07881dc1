// XXH64, the 64-bit hash of Yann Collet: not against an attacker, but every flipped bit changes it,
// and it is as fast as memory. Files of ours carry one per tensor (core/safetensors.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace facet {

class Checksum {
 public:
  void add(const void* data, size_t bytes);
  /// Of all bytes so far.
  uint64_t value() const;
  /// The same as 16 hexadecimal digits.
  std::string text() const;

 private:
  static constexpr size_t stripe = 32;

  std::array<uint64_t, 4> lanes_ = first_lanes();
  std::array<unsigned char, stripe> rest_{};  ///< bytes that do not fill a stripe yet
  uint64_t total_ = 0;

  static std::array<uint64_t, 4> first_lanes();
  void add_stripe(const unsigned char* bytes);
};

/// The text of the checksum of these bytes.
std::string checksum_of(const void* data, size_t bytes);

}  // namespace facet
