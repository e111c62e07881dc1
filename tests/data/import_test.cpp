#include "facet/data/import.h"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/data/portraits.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

std::vector<int64_t> numbers(const torch::Tensor& tensor) {
  const torch::Tensor plain = tensor.to(kInt64).contiguous();
  return {plain.data_ptr<int64_t>(), plain.data_ptr<int64_t>() + plain.numel()};
}

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
  EXPECT_EQ(pack.images.sizes(), (std::vector<int64_t>{3, 1, 2, 2}));
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

TEST_F(ImportIdx, BinaryFilesAreScaledToBlackAndWhite) {
  const Pack pack =
      import_idx({{Split::train, idx("a", {1, 2, 2}, std::string("\x00\x01\x01\x00", 4)), {}}}, "");
  EXPECT_EQ(numbers(pack.images), (std::vector<int64_t>{0, 255, 255, 0}));
  const Pack grey =
      import_idx({{Split::train, idx("b", {1, 2, 2}, std::string("\x00\x01\x02\x00", 4)), {}}}, "");
  EXPECT_EQ(numbers(grey.images), (std::vector<int64_t>{0, 1, 2, 0}));
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
  EXPECT_NE(found.find("2x3"), std::string::npos) << found;
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
  const Pack pack = import_idx_with_table(images, folder_ / "t.csv", options);
  pack.validate("test");
  ASSERT_EQ(pack.properties.size(), 2u);
  EXPECT_EQ(pack.properties[0].values, (std::vector<std::string>{"heart", "square"}));
  EXPECT_EQ(pack.properties[1].values, (std::vector<std::string>{"2", "9", "10"}))
      << "numbers sort as numbers";
  EXPECT_EQ(numbers(pack.labels), (std::vector<int64_t>{1, 2, 0, 0, -1, 1}));
  EXPECT_EQ(numbers(pack.split), (std::vector<int64_t>{2, 0, 0}));
  write_text(folder_ / "t.csv", "shape\nsquare\nheart\n", "test");
  EXPECT_NE(message_of([&] {
              import_idx_with_table(images, folder_ / "t.csv", {});
            }).find("found 2 rows, expected 3"),
            std::string::npos);
}

/// Images a.png, b.png and below/c.png of 4x4 pixels, each of one colour.
class ImportFolder : public testing::Test {
 protected:
  ImportFolder() {
    fs::create_directories(images_ / "below");
    write_png(images_ / "a.png", Image::filled(3, 4, 4, 10));
    write_png(images_ / "b.png", Image::filled(3, 4, 4, 20));
    write_png(images_ / "below" / "c.png", Image::filled(3, 4, 4, 30));
    write_text(images_ / "notes.txt", "not an image", "test");
  }
  void SetUp() override {
    if (message_of([&] { import_folder(images_, options_); }).find("without libvips") !=
        std::string::npos)
      GTEST_SKIP() << "this build reads no pictures";
  }

  Pack with_table(const std::string& text) {
    write_text(folder_ / "labels.csv", text, "test");
    options_.table = folder_ / "labels.csv";
    const Pack pack = import_folder(images_, options_);
    pack.validate("test");
    return pack;
  }
  void expect_refusal(const std::string& table, const std::vector<std::string>& parts) {
    const std::string found = message_of([&] { with_table(table); });
    for (const std::string& part : parts)
      EXPECT_NE(found.find(part), std::string::npos) << found << "\n  " << part;
  }

  TemporaryFolder folder_;
  fs::path images_ = folder_ / "images";
  FolderOptions options_;
};

TEST_F(ImportFolder, ImportsEveryImageInTheOrderOfThePaths) {
  const Pack pack = import_folder(images_, options_);
  pack.validate("test");
  EXPECT_EQ(pack.images.sizes(), (std::vector<int64_t>{3, 3, 4, 4}));
  EXPECT_EQ(numbers(pack.images.select(1, 0).select(1, 0).select(1, 0)),
            (std::vector<int64_t>{10, 20, 30}));
  EXPECT_TRUE(pack.properties.empty());
}

TEST_F(ImportFolder, TakesOtherFormatsToo) {
  // 4x4 in one colour of a palette of two; codes of LZW that start anew after every other pixel.
  using namespace std::string_literals;
  const std::string gif =
      "GIF89a\x04\0\x04\0\x80\0\0\x28\x32\x3c\xff\xff\xff"
      ",\0\0\0\0\x04\0\x04\0\0\x02\x0a\x04\x08\x10\x20\x40\x80\0\x01\x02\x05\0;"s;
  write_text(images_ / "d.GIF", gif, "test");
  const Pack pack = import_folder(images_, options_);
  EXPECT_EQ(pack.images.sizes(), (std::vector<int64_t>{4, 3, 4, 4}));
  EXPECT_EQ(numbers(pack.images[3].select(1, 3).select(1, 3)), (std::vector<int64_t>{40, 50, 60}));
}

TEST_F(ImportFolder, RowsNameFilesByNamePathOrStem) {
  const Pack pack = with_table("file,smile\nb,yes\nbelow/c.png,no\na.png,yes\n");
  ASSERT_EQ(pack.properties.size(), 1u);
  EXPECT_EQ(pack.properties[0].values, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(numbers(pack.labels), (std::vector<int64_t>{1, 1, 0}));
}

TEST_F(ImportFolder, EmptyCellsAndMissingRowsAreUnknown) {
  const Pack pack = with_table("file,smile,hair\na.png,,red\nb.png,yes,\n");
  EXPECT_EQ(numbers(pack.labels), (std::vector<int64_t>{-1, 0, 0, -1, -1, -1}));
}

TEST_F(ImportFolder, DeclaredValuesKeepTheirOrderAndOthersAreRefused) {
  options_.table_options.properties = {"smile=yes,maybe,no"};
  const Pack pack = with_table("file,smile,hair\na.png,no,red\nb.png,yes,blue\n");
  ASSERT_EQ(pack.properties.size(), 1u);
  EXPECT_EQ(pack.properties[0].values, (std::vector<std::string>{"yes", "maybe", "no"}));
  EXPECT_EQ(numbers(pack.labels), (std::vector<int64_t>{2, 0, -1}));
  expect_refusal("file,smile\na.png,no\nb.png,Yes\n",
                 {"'Yes' for property 'smile' in row 2", "yes, maybe, no"});
}

TEST_F(ImportFolder, ACellOfNanIsAnError) {
  for (const char* cell : {"nan", "NaN", "inf"})
    expect_refusal(fmt::format("file,smile\na.png,1\nb.png,{}\n", cell),
                   {fmt::format("'{}'", cell), "'smile'", "row 2"});
}

TEST_F(ImportFolder, SplitsAreReadAsNamesAndNumbers) {
  options_.table_options.split_column = "part";
  const Pack pack = with_table("file,part,smile\na.png,valid,1\nb.png,2,1\nc.png,train,1\n");
  EXPECT_EQ(numbers(pack.split), (std::vector<int64_t>{1, 2, 0}));
  EXPECT_EQ(pack.properties.size(), 1u) << "the split is not a property";
  expect_refusal("file,part,smile\na.png,valid,1\nb.png,3,1\n", {"split '3' in row 2"});
  expect_refusal("file,part,smile\na.png,,1\n", {"split '' in row 1"});
}

TEST_F(ImportFolder, TheKeyColumnCanBeChosen) {
  options_.table_options.key_column = "file";
  const Pack pack = with_table("smile,file\nyes,a.png\nno,c.png\n");
  EXPECT_EQ(numbers(pack.labels), (std::vector<int64_t>{1, -1, 0}));
  options_.table_options.key_column = "fil";
  expect_refusal("smile,file\nyes,a.png\n", {"no column 'fil'", "did you mean 'file'?"});
}

TEST_F(ImportFolder, ARowWithoutAnImageIsAnError) {
  expect_refusal("file,smile\na.png,1\nd.png,1\n", {"row 2 for 'd.png'"});
}

TEST_F(ImportFolder, TwoRowsForOneImageAreAnError) {
  expect_refusal("file,smile\na.png,1\na.png,0\n", {"two rows for 'a.png'"});
  expect_refusal("file,smile\na.png,1\na,0\n", {"'a'"});
}

TEST_F(ImportFolder, ARowThatMatchesTwoImagesIsAnError) {
  write_png(images_ / "below" / "a.png", Image::filled(3, 4, 4, 40));
  expect_refusal("file,smile\na.png,1\n", {"a.png"});
  EXPECT_EQ(numbers(with_table("file,smile\nbelow/a.png,1\n").labels),
            (std::vector<int64_t>{-1, -1, 0, -1}));
}

TEST_F(ImportFolder, ImagesOfDifferentSizesAreAnErrorThatNamesTheFileAndTheOption) {
  write_png(images_ / "b.png", Image::filled(3, 4, 6));
  expect_refusal("file,smile\na.png,1\n", {(images_ / "b.png").string(), "4x6", "4x4", "--size"});
}

TEST_F(ImportFolder, ResizeGivesAllImagesOneSize) {
  write_png(images_ / "b.png", Image::filled(3, 40, 60, 20));
  options_.resize = ImageShape{0, 8, 8};
  const Pack pack = import_folder(images_, options_);
  EXPECT_EQ(pack.shape(), (ImageShape{3, 8, 8}));
  EXPECT_EQ(numbers(std::get<0>(pack.images.flatten(1).min(1))),
            (std::vector<int64_t>{10, 20, 30}));
  EXPECT_EQ(numbers(std::get<0>(pack.images.flatten(1).max(1))),
            (std::vector<int64_t>{10, 20, 30}));
}

TEST_F(ImportFolder, GreyAndColourImagesCanOnlyBeMixedWithGrey) {
  write_png(images_ / "b.png", Image::filled(1, 4, 4, 77));
  EXPECT_NE(message_of([&] { import_folder(images_, options_); }).find("--grey"),
            std::string::npos);
  Image red = Image::filled(3, 4, 4);
  std::fill_n(red.pixels.begin(), 16, uint8_t{200});
  write_png(images_ / "a.png", red);
  options_.grey = true;
  const Pack pack = import_folder(images_, options_);
  EXPECT_EQ(pack.shape(), (ImageShape{1, 4, 4}));
  EXPECT_EQ(numbers(pack.images.select(2, 0).select(2, 0)), (std::vector<int64_t>{60, 77, 30}))
      << "red has the weight 0.299";
}

TEST_F(ImportFolder, DamagedImagesAndEmptyFoldersAreErrors) {
  write_text(images_ / "b.png", read_text(images_ / "b.png", "test").substr(0, 40), "test");
  EXPECT_NE(message_of([&] { import_folder(images_, options_); }).find("b.png"), std::string::npos);
  fs::create_directory(folder_ / "empty");
  EXPECT_THROW(import_folder(folder_ / "empty", options_), Error);
  EXPECT_THROW(import_folder(folder_ / "absent", options_), Error);
}

TEST_F(ImportFolder, RandomSplitsHaveTheGivenFractionsAndDependOnTheSeed) {
  for (int i = 0; i < 37; ++i)
    write_png(images_ / fmt::format("more{}.png", i), Image::filled(3, 4, 4));
  options_.table_options.valid_fraction = 0.25;
  options_.table_options.test_fraction = 0.5;
  const Pack pack = import_folder(images_, options_);
  EXPECT_EQ(pack.split.eq(1).sum().item<int64_t>(), 10);
  EXPECT_EQ(pack.split.eq(2).sum().item<int64_t>(), 20);
  EXPECT_TRUE(torch::equal(import_folder(images_, options_).split, pack.split));
  options_.table_options.seed = 2;
  EXPECT_FALSE(torch::equal(import_folder(images_, options_).split, pack.split));
}

TEST(MakePortraits, HasTheShapeSplitsAndLabelsOfTheRenderer) {
  PortraitSetOptions options;
  options.count = 53;
  options.size = 16;
  options.seed = 4;
  const Pack pack = make_portraits(options);
  pack.validate("test");
  EXPECT_EQ(pack.images.sizes(), (std::vector<int64_t>{53, 3, 16, 16}));
  EXPECT_EQ(pack.properties.size(), portrait_properties().size());
  EXPECT_EQ(pack.indices({Split::train}).size(0), 43);
  EXPECT_EQ(pack.indices({Split::valid}).size(0), 5);
  EXPECT_EQ(pack.indices({Split::test}).size(0), 5);
  EXPECT_GE(pack.labels.min().item<int64_t>(), 0) << "every label is known";
  const Portrait portrait = draw_portrait(4, 50, 16);
  EXPECT_EQ(to_images(pack.images.narrow(0, 50, 1))[0].pixels, portrait.image.pixels);
  EXPECT_EQ(numbers(pack.labels[50]),
            std::vector<int64_t>(portrait.labels.begin(), portrait.labels.end()));
}

}  // namespace
}  // namespace facet
