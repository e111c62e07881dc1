#include "facet/search/code_bits.h"

#include <bit>
#include <cassert>
#include <numeric>

#include "facet/core/torch.h"

namespace facet {

int64_t bits_of(int64_t components) {
  return std::bit_width(static_cast<uint64_t>(components - 1));
}

CodeLayout::CodeLayout(const std::vector<int64_t>& components) {
  for (const int64_t count : components) bits.push_back(bits_of(count));
}

int64_t CodeLayout::bytes() const {
  return (std::accumulate(bits.begin(), bits.end(), int64_t{0}) + 7) / 8;
}

torch::Tensor pack_codes(const torch::Tensor& codes, const CodeLayout& layout) {
  const torch::Tensor plain = codes.contiguous();
  const int64_t count = plain.size(0), width = layout.bytes();
  assert(plain.size(1) == static_cast<int64_t>(layout.bits.size()));
  torch::Tensor packed = torch::zeros({count, width}, kUInt8);
  const int64_t* code = plain.data_ptr<int64_t>();
  uint8_t* row = packed.data_ptr<uint8_t>();
  for (int64_t n = 0; n < count; ++n, row += width) {
    int64_t at = 0;
    for (const int64_t bits : layout.bits) {
      const int64_t component = *code++;
      for (int64_t b = 0; b < bits; ++b, ++at)
        row[at / 8] = static_cast<uint8_t>(row[at / 8] | ((component >> b & 1) << (at % 8)));
    }
  }
  return packed;
}

torch::Tensor unpack_codes(const torch::Tensor& bytes, const CodeLayout& layout) {
  const torch::Tensor plain = bytes.contiguous();
  const int64_t count = plain.size(0), width = plain.size(1);
  assert(width == layout.bytes());
  torch::Tensor codes = torch::empty({count, static_cast<int64_t>(layout.bits.size())}, kInt64);
  int64_t* code = codes.data_ptr<int64_t>();
  const uint8_t* row = plain.data_ptr<uint8_t>();
  for (int64_t n = 0; n < count; ++n, row += width) {
    int64_t at = 0;
    for (const int64_t bits : layout.bits) {
      int64_t component = 0;
      for (int64_t b = 0; b < bits; ++b, ++at)
        component |= static_cast<int64_t>(row[at / 8] >> (at % 8) & 1) << b;
      *code++ = component;
    }
  }
  return codes;
}

}  // namespace facet
