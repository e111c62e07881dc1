#include "facet/data/idx.h"

#include <random>
#include <string>
#include <zlib.h>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "tests/files.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

class Idx : public testing::Test {
 protected:
  IdxArray read(const std::string& bytes) {
    write_text(path_, bytes, "test");
    return read_idx(path_);
  }

  std::string message(const std::string& bytes) {
    return message_of([&] { read(bytes); });
  }

  void expect_message(const std::string& bytes, const std::string& part) {
    EXPECT_NE(message(bytes).find(part), std::string::npos) << message(bytes);
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "values.idx";
};

TEST_F(Idx, PlainFileGivesShapeAndValuesInOrder) {
  const IdxArray array = read(idx_bytes(8, {2, 3}, {1, 2, 3, 4, 5, '\xff'}));
  EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(array.values, (std::vector<uint8_t>{1, 2, 3, 4, 5, 255}));
}

TEST_F(Idx, GzipFileGivesTheSameAsPlain) {
  const std::string plain = idx_bytes(8, {1, 2, 2, 1}, "abcd");
  const IdxArray packed = read(gzip(plain));
  EXPECT_EQ(packed.shape, (std::vector<int64_t>{1, 2, 2, 1}));
  EXPECT_EQ(packed.values, read(plain).values);
}

TEST_F(Idx, SizesAreBigEndian) {
  EXPECT_EQ(read(idx_bytes(8, {258}, std::string(258, 'x'))).shape, std::vector<int64_t>{258});
}

TEST_F(Idx, TypesOtherThanUnsignedBytesAreRefused) {
  expect_message(idx_bytes(0x0d, {1}, "abcd"), "type 0x0d");
}

TEST_F(Idx, FewerThanOneOrMoreThanFourDimensionsAreRefused) {
  expect_message(idx_bytes(8, {}, ""), "0 dimensions");
  expect_message(idx_bytes(8, {1, 1, 1, 1, 1}, "a"), "5 dimensions");
}

TEST_F(Idx, OtherFilesAreRefused) {
  expect_message("PK\x03\x04 a zip file", "0x50");
  expect_message("", "0 bytes");
  EXPECT_THROW(read_idx(folder_ / "absent"), Error);
  EXPECT_THROW(read_idx(folder_.path()), Error);
}

TEST_F(Idx, SizesMustAgreeWithTheBytes) {
  expect_message(idx_bytes(8, {2, 3}, "12345"), "found 5 values, expected 2 x 3");
  expect_message(idx_bytes(8, {2, 3}, "1234567"), "found 7 values, expected 2 x 3");
  expect_message(idx_bytes(8, {0, 3}, ""), "found 0 values");
}

TEST_F(Idx, SizesWhoseProductOverflowsAreRefusedWithoutAllocating) {
  const uint32_t most = 0xffffffff;
  expect_message(idx_bytes(8, {most, most, most, most}, "abc"), "found 3 values");
  // 2^16 * 2^16 * 2^16 * 2^16 is 0 modulo 2^64, the number of values in this file.
  expect_message(idx_bytes(8, {65536, 65536, 65536, 65536}, ""), "found 0 values");
}

TEST_F(Idx, EveryTruncationIsAnError) {
  const std::string plain = idx_bytes(8, {3, 2, 2}, "abcdefghijkl");
  const std::string packed = gzip(plain);
  for (size_t length = 0; length < plain.size(); ++length)
    EXPECT_THROW(read(plain.substr(0, length)), Error) << length;
  for (size_t length = 0; length < packed.size(); ++length)
    EXPECT_THROW(read(packed.substr(0, length)), Error) << length;
}

TEST_F(Idx, FlippedBytesOfAGzipFileNeverChangeTheValues) {
  const std::string plain = idx_bytes(8, {3, 2, 2}, "abcdefghijkl");
  const std::string packed = gzip(plain);
  std::mt19937 random(7);
  int errors = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::string damaged = packed;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
    try {
      EXPECT_EQ(read(damaged).values, read(plain).values);
    } catch (const Error&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, 200);  // only the few bytes of the time stamp and the system are unchecked
}

TEST_F(Idx, FlippedBytesOfAPlainHeaderNeverCrash) {
  const std::string plain = idx_bytes(8, {3, 2, 2}, "abcdefghijkl");
  std::mt19937 random(8);
  for (int trial = 0; trial < 300; ++trial) {
    std::string damaged = plain;
    damaged[random() % 16] ^= static_cast<char>(1 + random() % 255);
    EXPECT_THROW(read(damaged), Error);
  }
}

}  // namespace
}  // namespace facet
