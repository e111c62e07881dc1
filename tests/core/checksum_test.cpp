// XXH64 against values of the reference program, and files whose bits were flipped.
#include "facet/core/checksum.h"

#include <cstring>
#include <fstream>

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

/// 1, 8, 15, ... modulo 256.
std::string counted_bytes(size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(7 * i + 1));
  return bytes;
}

TEST(Checksum, IsThatOfTheReferenceProgram) {
  const std::pair<size_t, const char*> expected[] = {
      {0, "ef46db3751d8e999"},   {1, "8a4127811b21e730"},  {3, "b6e6c910c2fd373a"},
      {14, "ff34ee32a5c9ecfe"},  {31, "6ab1c40e29f50073"}, {32, "5a0756fbe9ecd3d1"},
      {33, "dc50cdc37bb9c183"},  {39, "e6b392c5985d77ab"}, {100, "d248bfc5208b0b16"},
      {1000, "6be03acbf959c413"}};
  for (const auto& [count, text] : expected) {
    const std::string bytes = counted_bytes(count);
    EXPECT_EQ(checksum_of(bytes.data(), bytes.size()), text) << count;
    Checksum in_pieces;
    for (size_t begin = 0, size = 1; begin < count; begin += size, size = 1 + size % 41)
      in_pieces.add(bytes.data() + begin, std::min(size, count - begin));
    EXPECT_EQ(in_pieces.text(), text) << count;
  }
}

class ChecksummedFile : public testing::Test {
 protected:
  void SetUp() override {
    write_safetensors(
        path_,
        {{{"weights", torch::arange(6, kFloat32)}, {"labels", torch::zeros({2}, kInt64)}},
         {{"format", "test"}, {"text", "a \"quoted\" word"}}},
        "writing");
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "file.safetensors";
};

TEST_F(ChecksummedFile, IsReadAsItWasWritten) {
  const TensorFile file = read_safetensors(path_, "reading");
  EXPECT_TRUE(torch::equal(file.tensors.at("weights"), torch::arange(6, kFloat32)));
  EXPECT_EQ(file.metadata.size(), 2u);
  EXPECT_EQ(file.metadata.at("text"), "a \"quoted\" word");
  EXPECT_TRUE(has_checksums(path_, "reading"));
}

TEST_F(ChecksummedFile, EveryFlippedBitIsFound) {
  const std::string bytes = read_text(path_, "reading");
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    std::ofstream(path_, std::ios::binary) << damaged;
    EXPECT_THROW(read_safetensors(path_, "reading"), Error) << "bit " << bit;
  }
}

/// A file whose checksums cannot be found by their name does not pass for one that has none.
TEST_F(ChecksummedFile, ChecksumsUnderAnotherNameAreNotPassedOver) {
  std::string bytes = read_text(path_, "reading");
  bytes.replace(bytes.find("xxh64"), 5, "checks");
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  std::memcpy(bytes.data(), &++length, sizeof length);
  std::ofstream(path_, std::ios::binary) << bytes;
  const std::string message = message_of([&] { read_safetensors(path_, "reading a file"); });
  EXPECT_TRUE(contains(message, "checksum none that can be read")) << message;
  EXPECT_TRUE(has_checksums(path_, "reading"));
}

TEST_F(ChecksummedFile, DamageIsToldByTheTensorsName) {
  std::string bytes = read_text(path_, "reading");
  bytes.back() =
      static_cast<char>(bytes.back() ^ 1);  // the last tensor is that of the smallest type
  std::ofstream(path_, std::ios::binary) << bytes;
  const std::string message = message_of([&] { read_safetensors(path_, "reading a file"); });
  EXPECT_TRUE(contains(message, "tensor 'weights' with checksum")) << message;
}

}  // namespace
}  // namespace facet
