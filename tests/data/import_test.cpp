#include "facet/data/import.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/data/portraits.h"
#include "tests/data/values_of.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

class ImportIdx : public testing::Test {
 protected:
  fs::path idx(const std::string& name, const std::vector<uint32_t>& shape,
               const std::string& values) {
    std::string bytes{'\0', '\0', '\x08', static_cast<char>(shape.size())};
    for (const uint32_t size : shape)
      for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift & 0xff);
    write_text(folder_ / name, bytes + values, "test");
    return folder_ / name;
  }

  TemporaryFolder folder_;
};

TEST_F(ImportIdx, PartsBecomeSplitsWithTheirLabels) {
  const Pack pack = import_idx(
      {{Split::test, idx("a", {1, 2, 2}, "abcd"), idx("al", {1}, "\x02")},
       {Split::train, idx("b", {2, 2, 2}, "efghijkl"), idx("bl", {2}, std::string("\x00\x01", 2))}},
      "digit");
  pack.validate("test");
  EXPECT_EQ(pack.images.all().sizes(), (std::vector<int64_t>{3, 1, 2, 2}));
  EXPECT_EQ(pack.images[1][0][0][1].item<int64_t>(), 'f');
  EXPECT_EQ(numbers(pack.split), (std::vector<int64_t>{2, 0, 0}));
  EXPECT_EQ(numbers(pack.labels), (std::vector<int64_t>{2, 0, 1}));
  ASSERT_EQ(pack.properties.size(), 1u);
  EXPECT_EQ(pack.properties[0].name, "digit");
  EXPECT_EQ(pack.properties[0].values, (std::vector<std::string>{"0", "1", "2"}));
}

TEST_F(ImportIdx, LabelsOfAPartWithoutLabelsAreUnknown) {
  const Pack pack = import_idx({{Split::train, idx("a", {1, 1, 2}, "ab"), idx("al", {1}, "\x01")},
                                {Split::valid, idx("b", {2, 1, 2}, "cdef"), {}}},
                               "digit");
  EXPECT_EQ(numbers(pack.labels), (std::vector<int64_t>{1, -1, -1}));
  const Pack bare = import_idx({{Split::train, folder_ / "a", {}}}, "digit");
  bare.validate("test");
  EXPECT_TRUE(bare.properties.empty());
}

TEST_F(ImportIdx, TheLastImagesOfAPartCanBeTheValidSplit) {
  const IdxPart part{Split::train, idx("a", {3, 1, 2}, "abcdef"), {}, 1};
  EXPECT_EQ(numbers(import_idx({part}, "").split), (std::vector<int64_t>{0, 0, 1}));
  IdxPart all = part;
  all.valid = 3;
  EXPECT_EQ(message_of([&] { import_idx({all}, ""); }),
            "importing idx images '" + part.images.string() +
                "': found 3 images, expected more than the 3 for the valid split");
}

TEST_F(ImportIdx, BinaryFilesAreScaledToBlackAndWhite) {
  const Pack pack =
      import_idx({{Split::train, idx("a", {1, 2, 2}, std::string("\x00\x01\x01\x00", 4)), {}}}, "");
  EXPECT_EQ(numbers(pack.images.all()), (std::vector<int64_t>{0, 255, 255, 0}));
  const Pack grey =
      import_idx({{Split::train, idx("b", {1, 2, 2}, std::string("\x00\x01\x02\x00", 4)), {}}}, "");
  EXPECT_EQ(numbers(grey.images.all()), (std::vector<int64_t>{0, 1, 2, 0}));
}

TEST_F(ImportIdx, FilesOfFourDimensionsHaveChannels) {
  const Pack pack = import_idx({{Split::train, idx("a", {1, 3, 1, 2}, "abcdef"), {}}}, "");
  EXPECT_EQ(pack.shape(), (ImageShape{3, 1, 2}));
}

TEST_F(ImportIdx, DifferentNumbersOfLabelsAndImagesAreAnError) {
  const fs::path images = idx("a", {2, 1, 2}, "abcd"), labels = idx("al", {3}, "123");
  const std::string found = message_of([&] { import_idx({{Split::train, images, labels}}, ""); });
  EXPECT_NE(found.find(labels.string()), std::string::npos) << found;
  EXPECT_NE(found.find("found shape [3], expected [2]"), std::string::npos) << found;
}

TEST_F(ImportIdx, PartsOfDifferentSizesAreAnErrorThatNamesTheFile) {
  const fs::path one = idx("a", {1, 2, 2}, "abcd"), other = idx("b", {1, 2, 3}, "abcdef");
  const std::string found = message_of([&] {
    import_idx({{Split::train, one, {}}, {Split::test, other, {}}}, "");
  });
  EXPECT_NE(found.find("3x2"), std::string::npos) << found;
  EXPECT_NE(found.find(other.string()), std::string::npos) << found;
}

TEST_F(ImportIdx, LabelsInsteadOfImagesAreAnError) {
  const fs::path labels = idx("al", {3}, "123");
  EXPECT_NE(message_of([&] {
              import_idx({{Split::train, labels, {}}}, "");
            }).find("file of labels"),
            std::string::npos);
}

TEST_F(ImportIdx, ATableDescribesTheImagesRowByRow) {
  const fs::path images = idx("a", {3, 1, 1}, "abc");
  write_text(folder_ / "t.csv", "shape,split,scale\nsquare,test,10\nheart,train,2\n,0,9\n", "test");
  TableOptions options;
  options.split_column = "split";
  std::vector<std::string> remarks;
  const Pack pack = import_idx_with_table(images, folder_ / "t.csv", options, remarks);
  pack.validate("test");
  EXPECT_TRUE(remarks.empty());
  ASSERT_EQ(pack.properties.size(), 2u);
  EXPECT_EQ(pack.properties[0].values, (std::vector<std::string>{"heart", "square"}));
  EXPECT_EQ(pack.properties[1].values, (std::vector<std::string>{"2", "9", "10"}))
      << "numbers sort as numbers";
  EXPECT_EQ(numbers(pack.labels), (std::vector<int64_t>{1, 2, 0, 0, -1, 1}));
  EXPECT_EQ(numbers(pack.split), (std::vector<int64_t>{2, 0, 0}));
  write_text(folder_ / "t.csv", "shape\nsquare\nheart\n", "test");
  EXPECT_NE(message_of([&] {
              import_idx_with_table(images, folder_ / "t.csv", {}, remarks);
            }).find("found 2 rows, expected 3"),
            std::string::npos);
}

TEST(MakePortraits, HasTheShapeSplitsAndLabelsOfTheRenderer) {
  PortraitSetOptions options;
  options.count = 53;
  options.size = 16;
  options.seed = 4;
  const Pack pack = make_portraits(options);
  pack.validate("test");
  EXPECT_EQ(pack.images.all().sizes(), (std::vector<int64_t>{53, 3, 16, 16}));
  EXPECT_EQ(pack.properties.size(), portrait_properties().size());
  EXPECT_EQ(pack.indices({Split::train}).size(0), 43);
  EXPECT_EQ(pack.indices({Split::valid}).size(0), 5);
  EXPECT_EQ(pack.indices({Split::test}).size(0), 5);
  EXPECT_GE(pack.labels.min().item<int64_t>(), 0) << "every label is known";
  const Portrait portrait = draw_portrait(4, 50, 16);
  EXPECT_EQ(to_images(pack.images.slice(50, 1))[0].pixels, portrait.image.pixels);
  EXPECT_EQ(numbers(pack.labels[50]),
            std::vector<int64_t>(portrait.labels.begin(), portrait.labels.end()));
}

}  // namespace
}  // namespace facet
