// Arrays read from the files that people have them in. Files are written here byte by byte.
#include "facet/data/array_file.h"

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "tests/contains.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

class ArrayFileTest : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& bytes) {
    write_text(folder_ / name, bytes, "test");
    return (folder_ / name).string();
  }
  static std::string header(const std::string& type, const std::string& shape,
                            const std::string& order = "False") {
    std::string text =
        "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
    text.resize((text.size() + 10 + 64) / 64 * 64 - 10 - 1, ' ');
    text += "\n";
    return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size()) + '\0' + text;
  }
  template <class T>
  static std::string raw(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }
  std::string refusal(const std::string& path) {
    return message_of([&] { read_vectors(path); });
  }

  TemporaryFolder folder_;
};

torch::Tensor table(int64_t rows, const std::vector<double>& numbers) {
  return torch::tensor(numbers, kFloat64).view({rows, -1});
}

TEST_F(ArrayFileTest, NpyOfEveryTypeHasItsNumbers) {
  const torch::Tensor expected = table(2, {1.0, 2.0, 3.0, 4.0, 5.0, 60.0});
  const auto check = [&](const std::string& type, const std::string& bytes) {
    const torch::Tensor read = read_vectors(put("a.npy", header(type, "(2, 3)") + bytes));
    EXPECT_TRUE(read.to(kFloat64).equal(expected)) << type << "\n" << read;
  };
  check("<f4", raw<float>({1, 2, 3, 4, 5, 60}));
  check("<f8", raw<double>({1, 2, 3, 4, 5, 60}));
  check("|u1", raw<uint8_t>({1, 2, 3, 4, 5, 60}));
  check("|i1", raw<int8_t>({1, 2, 3, 4, 5, 60}));
  check("<i2", raw<int16_t>({1, 2, 3, 4, 5, 60}));
  check("<u2", raw<uint16_t>({1, 2, 3, 4, 5, 60}));
  check("<i4", raw<int32_t>({1, 2, 3, 4, 5, 60}));
  check("<u4", raw<uint32_t>({1, 2, 3, 4, 5, 60}));
  check("<i8", raw<int64_t>({1, 2, 3, 4, 5, 60}));
  const torch::Tensor wide =
      read_array(put("a.npy", header("<u4", "(1,)") + raw<uint32_t>({4000000000u})));
  EXPECT_EQ(wide[0].item<int64_t>(), 4000000000) << "unsigned numbers stay positive";
}

TEST_F(ArrayFileTest, NpyInFortranOrderIsTheSameTable) {
  const auto path = put("a.npy", header("<f4", "(2, 3)", "True") + raw<float>({1, 4, 2, 5, 3, 6}));
  EXPECT_TRUE(read_vectors(path).to(kFloat64).equal(table(2, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0})));
}

TEST_F(ArrayFileTest, DamagedNpyIsRefused) {
  const std::string good = header("<f4", "(2, 3)") + raw<float>({1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(contains(refusal(put("a.npy", good.substr(0, good.size() - 4))), "cut short"));
  EXPECT_TRUE(contains(refusal(put("a.npy", good + "x")), "25 bytes of numbers"));
  EXPECT_TRUE(contains(refusal(put("a.npy", good.substr(0, 40))), "a header inside the file"));
  EXPECT_TRUE(contains(refusal(put("a.npy", "")), "empty file"));
  EXPECT_TRUE(contains(refusal(put("a.npy", "hello, this is text")), "other first bytes"));
  EXPECT_TRUE(contains(refusal(put("a.npy", header(">f4", "(2, 3)") + std::string(24, 'x'))),
                       "big-endian"));
  EXPECT_TRUE(contains(refusal(put("a.npy", header("<c8", "(2, 3)") + std::string(48, 'x'))),
                       "values of type '<c8'"));
  EXPECT_TRUE(contains(refusal(put("a.npy", header("<f4", "(6,)") + std::string(24, 'x'))),
                       "an array of 1 dimension"));
  EXPECT_TRUE(contains(
      refusal(put("a.npy", header("<f4", "(4611686018427387904, 8)") + std::string(24, 'x'))),
      "overflows"));
  EXPECT_TRUE(contains(refusal(put("a.npy", header("<f4", "(0, 3)"))), "0 vectors"));
  // Every cut and every changed byte of the header is read or refused, never worse.
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(refusal(put("a.npy", good.substr(0, length))), "no error") << length;
  for (size_t byte = 6; byte < 70; ++byte) {
    std::string changed = good;
    changed[byte] = static_cast<char>(changed[byte] ^ 0x15);
    refusal(put("a.npy", changed));
  }
}

TEST_F(ArrayFileTest, VecsAreRowsBehindTheirLengths) {
  const auto with_length = [](const std::string& numbers) { return raw<int32_t>({3}) + numbers; };
  const auto floats =
      put("a.fvecs", with_length(raw<float>({1, 2, 3})) + with_length(raw<float>({4, 5, 6})));
  const torch::Tensor expected = table(2, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0});
  EXPECT_TRUE(read_vectors(floats).to(kFloat64).equal(expected));
  const auto bytes = put("a.bvecs", with_length("\x01\x02\x03") + with_length("\x04\x05\x06"));
  EXPECT_TRUE(read_vectors(bytes).to(kFloat64).equal(expected));
  EXPECT_TRUE(contains(refusal(put("b.fvecs", with_length(raw<float>({1, 2})))), "multiple of 16"));
  EXPECT_TRUE(contains(refusal(put("c.fvecs", with_length(raw<float>({1, 2, 3})) +
                                                  raw<int32_t>({2}) + raw<float>({1, 2, 3}))),
                       "2 dimensions in vector 1"));
  EXPECT_TRUE(contains(refusal(put("d.fvecs", raw<int32_t>({-3}))), "-3 dimensions"));
}

TEST_F(ArrayFileTest, CsvMayHaveAHeader) {
  const torch::Tensor expected = table(2, {1.0, -2.5, 3e4, 0.0});
  for (const char* text : {"1,-2.5\n3e4,0\n", "x,y\n1,-2.5\n\n3e4,+0", "1;-2.5\r\n30000;0\r\n",
                           "\"a\"\t\"b\"\n\"1\"\t -2.5 \n3.0e+4\t0\n"})
    EXPECT_TRUE(read_vectors(put("a.csv", text)).equal(expected)) << text;
  EXPECT_TRUE(contains(refusal(put("a.csv", "1,2\n3\n")), "1 cells in line 2"));
  EXPECT_TRUE(contains(refusal(put("a.csv", "1,2\n3,4,5\n")), "3 cells in line 2"));
  EXPECT_TRUE(contains(refusal(put("a.csv", "1,2\n3,x\n")), "'x' in line 2, column 2"));
  EXPECT_TRUE(contains(refusal(put("a.csv", "1,2\n3,\n")), "an empty cell in line 2, column 2"));
  EXPECT_TRUE(contains(refusal(put("a.csv", "")), "an empty file"));
  EXPECT_TRUE(contains(refusal(put("a.csv", "x,y\n")), "a header without rows"));
}

TEST_F(ArrayFileTest, SafetensorsNeedANameOnlyWhereThereAreSeveral) {
  TensorFile file;
  file.tensors["codes"] = torch::ones({4, 2}, kFloat32);
  file.tensors["list"] = torch::ones({4}, kFloat32);
  write_safetensors(folder_ / "a.safetensors", file, "test");
  EXPECT_EQ(read_vectors(folder_ / "a.safetensors").size(1), 2);
  file.tensors["other"] = torch::ones({4, 3}, kFloat32);
  write_safetensors(folder_ / "a.safetensors", file, "test");
  EXPECT_TRUE(contains(refusal((folder_ / "a.safetensors").string()), "codes, other"));
  EXPECT_EQ(read_vectors(folder_ / "a.safetensors", "other").size(1), 3);
  EXPECT_TRUE(contains(message_of([&] { read_vectors(folder_ / "a.safetensors", "othr"); }),
                       "did you mean 'other'"));
  EXPECT_TRUE(contains(refusal(put("a.parquet", "x")), "the ending '.parquet'"));
}

TEST_F(ArrayFileTest, TheFirstValueThatIsNotFiniteIsFound) {
  torch::Tensor vectors = torch::zeros({3000, 500}, kFloat32);
  EXPECT_FALSE(first_not_finite(vectors).found());
  vectors[2999][7] = std::numeric_limits<float>::infinity();
  vectors[2998][3] = std::nanf("");
  const Place place = first_not_finite(vectors);
  EXPECT_EQ(place.row, 2998);
  EXPECT_EQ(place.column, 3);
  EXPECT_FALSE(first_not_finite(torch::full({10, 2}, 1e308, kFloat64)).found())
      << "a sum that overflows is no infinite value";
}

}  // namespace
}  // namespace facet
