// Arrays written row by row and read back, by us and by NumPy itself.
#include "facet/data/array_write.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/data/array_read.h"
#include "facet/data/npy_format.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

const std::map<std::string, std::string> kMetadata = {{"format", "test"}, {"note", "grün, 3 × 4"}};

torch::Tensor floats() { return torch::arange(12, kFloat32).view({6, 2}) / 7; }
torch::Tensor integers() { return torch::arange(18, kInt16).view({6, 3}) - 4; }

/// Two arrays and texts, in pieces of two rows.
void write_three(const std::filesystem::path& path, uint64_t zip64_from = 0xFFFFFFFF) {
  ArrayFormat format;
  ASSERT_TRUE(array_format_of(path, format));
  const bool texts = format == ArrayFormat::npz;
  std::vector<ArrayOutline> arrays = {{"numbers", kInt16, {6, 3}}, {"floats", kFloat32, {6, 2}}};
  if (texts) arrays.push_back({"texts", kUInt8, {6}, 5});
  ArrayWriter writer(path, format, arrays, kMetadata, {"test", zip64_from});
  for (int64_t begin = 0; begin < 6; begin += 2) {
    writer.append(1, floats().narrow(0, begin, 2));
    writer.append(0, integers().narrow(0, begin, 2));
    for (int64_t n = begin; texts && n < begin + 2; ++n)
      writer.append_text(2, n == 3 ? "größe" : std::to_string(n));
  }
  writer.finish();
}

void expect_three(const std::filesystem::path& path) {
  const ArrayFile file = read_arrays(path, "test");
  EXPECT_TRUE(torch::equal(file.arrays.at("numbers"), integers()));
  EXPECT_TRUE(torch::equal(file.arrays.at("floats"), floats()));
  EXPECT_EQ(file.metadata, kMetadata);
}

TEST(ArrayFiles, EveryFormatIsReadBack) {
  const TemporaryFolder folder;
  for (const char* name : {"a.npz", "a.safetensors"}) {
    write_three(folder / name);
    expect_three(folder / name);
  }
  const ArrayFile file = read_arrays(folder / "a.npz", "test");
  EXPECT_EQ(file.texts.at("texts")[3], "größe");
  EXPECT_EQ(file.texts.at("texts")[5], "5");
}

TEST(ArrayFiles, SizesOf64BitsAreReadBack) {
  const TemporaryFolder folder;
  for (const uint64_t from : {0, 1, 150, 400}) {  // all entries, some entries, positions alone
    write_three(folder / "large.npz", from);
    expect_three(folder / "large.npz");
  }
}

TEST(ArrayFiles, TextsSurviveTheRoundTripToCodePoints) {
  for (const std::string text : {"", "plain", "größe", "日本", "😀.png"}) {
    const auto points = code_points(text);
    EXPECT_EQ(utf8_of(points.data(), points.size()), text);
  }
  EXPECT_EQ(code_points("a\xFF"), (std::vector<uint32_t>{'a', 0xFFFD}));
  EXPECT_EQ(code_points("\xE6\x97"), (std::vector<uint32_t>{0xFFFD, 0xFFFD}));
}

TEST(ArrayFiles, AnUnfinishedFileIsNotThere) {
  const TemporaryFolder folder;
  { ArrayWriter writer(folder / "a.npy", ArrayFormat::npy, {{"", kUInt8, {2, 2}}}, {}); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ArrayFiles, DamageIsAnError) {
  const TemporaryFolder folder;
  write_three(folder / "a.npz");
  const std::string good = read_text(folder / "a.npz", "test");
  int refused = 0;
  for (size_t length = 0; length < good.size(); length += 7) {
    write_text(folder / "cut.npz", good.substr(0, length), "test");
    refused += message_of([&] { read_arrays(folder / "cut.npz", "test"); }) != "no error";
  }
  EXPECT_EQ(refused, static_cast<int>((good.size() + 6) / 7));
  for (size_t at = 0; at < good.size(); ++at) {  // none of them may crash
    std::string flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x55);
    write_text(folder / "flipped.npz", flipped, "test");
    message_of([&] { read_arrays(folder / "flipped.npz", "test"); });
  }
  EXPECT_NE(message_of([&] { read_arrays(folder / "a.txt", "test"); }).find("'.txt'"),
            std::string::npos);
}

/// Debian's Python, which may have NumPy where another one has not.
bool numpy_says(const std::string& script) {
  return std::system(("/usr/bin/python3 -c \"" + script + "\"").c_str()) == 0;
}

TEST(ArrayFiles, NumPyReadsAndWritesTheSame) {
  if (!numpy_says("import numpy"))
    GTEST_SKIP() << "*** NOTICE: no NumPy: nothing else has read our .npy and .npz";
  const TemporaryFolder folder;
  const std::string in = "import numpy as n, json; p='" + folder.path().string() + "/'; ";
  {
    ArrayWriter writer(folder / "a.npy", ArrayFormat::npy, {{"", kInt16, {6, 3}}}, {});
    writer.append(0, integers());
    writer.finish();
  }
  const std::string same_numbers = "(a == n.arange(18).reshape(6, 3) - 4).all()";
  EXPECT_TRUE(
      numpy_says(in + "a = n.load(p + 'a.npy'); assert a.dtype == 'int16' and " + same_numbers));
  for (const uint64_t from : {uint64_t{0xFFFFFFFF}, uint64_t{0}, uint64_t{400}}) {
    write_three(folder / "a.npz", from);
    EXPECT_TRUE(numpy_says(in + "f = n.load(p + 'a.npz'); a = f['numbers']; assert " +
                           same_numbers +
                           "; assert n.allclose(f['floats'], n.arange(12).reshape(6, 2) / 7); "
                           "assert f['texts'][3] == 'gr\\u00f6\\u00dfe'; "
                           "assert json.loads(str(f['metadata']))['format'] == 'test'"))
        << from;
  }
  ASSERT_TRUE(numpy_says(in + "n.savez(p + 'b.npz', numbers=n.arange(18).reshape(6, 3), "
                              "texts=n.array(['a', 'bc'])); "
                              "n.savez_compressed(p + 'c.npz', numbers=n.zeros(9))"));
  const ArrayFile file = read_arrays(folder / "b.npz", "test");
  EXPECT_TRUE(torch::equal(file.arrays.at("numbers"), torch::arange(18, kInt64).view({6, 3})));
  EXPECT_EQ(file.texts.at("texts")[1], "bc");
  EXPECT_NE(message_of([&] { read_arrays(folder / "c.npz", "test"); }).find("savez_compressed"),
            std::string::npos);
}

}  // namespace
}  // namespace facet
