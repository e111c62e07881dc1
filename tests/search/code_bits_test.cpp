#include "facet/search/code_bits.h"

#include <gtest/gtest.h>

#include "facet/core/random.h"
#include "facet/core/torch.h"

namespace facet {
namespace {

torch::Tensor random_codes(const std::vector<int64_t>& components, int64_t count) {
  std::vector<torch::Tensor> columns;
  for (size_t i = 0; i < components.size(); ++i)
    columns.push_back((uniform(Key(3).fold(i), {count}, torch::TensorOptions().dtype(kFloat64)) *
                       static_cast<double>(components[i]))
                          .to(kInt64));
  return torch::stack(columns, 1);
}

/// All bits of a code in a row, as a string of 0 and 1: slow and plain.
std::string bits_in_order(const torch::Tensor& code, const CodeLayout& layout) {
  std::string bits;
  for (size_t i = 0; i < layout.bits.size(); ++i)
    for (int64_t b = 0; b < layout.bits[i]; ++b)
      bits +=
          code[static_cast<int64_t>(i)].item<int64_t>() / (int64_t{1} << b) % 2 == 1 ? '1' : '0';
  bits.resize((bits.size() + 7) / 8 * 8, '0');
  return bits;
}

TEST(CodeBits, AFactorTakesTheBitsOfItsLargestNumber) {
  for (int64_t components = 1; components < 70; ++components) {
    int64_t bits = 0;
    while ((int64_t{1} << bits) < components) ++bits;
    EXPECT_EQ(bits_of(components), bits) << components;
  }
  EXPECT_EQ(CodeLayout({2, 2, 6, 6, 6, 6, 6, 6}).bytes(), 3);  // 20 bits
  EXPECT_EQ(CodeLayout({512}).bytes(), 2);
  EXPECT_EQ(CodeLayout({1}).bytes(), 0);
}

TEST(CodeBits, CodesSurviveTheRoundTripAndLieWhereThePageSays) {
  for (const std::vector<int64_t>& components :
       std::vector<std::vector<int64_t>>{{2}, {512}, {2, 2, 6, 6, 6}, {1, 3, 1, 300, 70000}, {1}}) {
    const CodeLayout layout(components);
    const torch::Tensor codes = random_codes(components, 40);
    const torch::Tensor packed = pack_codes(codes, layout);
    EXPECT_EQ(packed.size(1), layout.bytes());
    EXPECT_TRUE(torch::equal(unpack_codes(packed, layout), codes));
    for (int64_t n = 0; n < 40; ++n) {
      const std::string expected = bits_in_order(codes[n], layout);
      for (size_t at = 0; at < expected.size(); ++at) {
        const auto byte = packed[n][static_cast<int64_t>(at / 8)].item<int64_t>();
        EXPECT_EQ(byte >> (at % 8) & 1, expected[at] - '0') << n << " " << at;
      }
    }
  }
}

}  // namespace
}  // namespace facet
