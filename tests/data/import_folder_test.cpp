#include <algorithm>
#include <cstring>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/data/import.h"
#include "tests/data/values_of.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

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
    if (message_of(require_image_reader) != "no error")
      GTEST_SKIP() << "this build reads no pictures";
  }

  Pack import() {
    summary_ = import_folder(images_, options_, output_).value();
    return read_pack(output_);
  }
  Pack with_table(const std::string& text) {
    write_text(folder_ / "labels.csv", text, "test");
    options_.table = folder_ / "labels.csv";
    return import();
  }
  void expect_refusal(const std::string& table, const std::vector<std::string>& parts) {
    const std::string found = message_of([&] { with_table(table); });
    for (const std::string& part : parts)
      EXPECT_NE(found.find(part), std::string::npos) << found << "\n  " << part;
  }
  void expect_remark(const std::string& part) const {
    EXPECT_TRUE(std::any_of(
        summary_.remarks.begin(), summary_.remarks.end(),
        [&](const std::string& remark) { return remark.find(part) != std::string::npos; }))
        << fmt::format("{}", fmt::join(summary_.remarks, "\n"));
  }
  /// The first pixel of each image's first channel.
  std::vector<int64_t> corners(const Pack& pack) {
    return numbers(pack.images.all().select(1, 0).select(1, 0).select(1, 0));
  }

  TemporaryFolder folder_;
  fs::path images_ = folder_ / "images", output_ = folder_ / "pack";
  FolderOptions options_;
  ImportSummary summary_;
};

TEST_F(ImportFolder, ImportsEveryImageInTheOrderOfThePaths) {
  const Pack pack = import();
  EXPECT_EQ(pack.images.all().sizes(), (std::vector<int64_t>{3, 3, 4, 4}));
  EXPECT_EQ(corners(pack), (std::vector<int64_t>{10, 20, 30}));
  EXPECT_TRUE(pack.properties.empty());
  EXPECT_EQ(texts(pack.files), (std::vector<std::string>{"a.png", "b.png", "below/c.png"}));
  EXPECT_TRUE(pack.table.empty());
  EXPECT_EQ(summary_.images, 3);
  EXPECT_EQ(summary_.files, 3);
}

TEST_F(ImportFolder, TensorsOfTheFileLieOnTheirNaturalBoundary) {
  for (const int64_t width : {4, 5, 7}) {
    for (const char* name : {"a.png", "b.png", "below/c.png"})
      write_png(images_ / name, Image::filled(1, 3, width, 9));
    const Pack pack = with_table("file,smile\na,yes\nb.png,no\n");
    const std::string bytes = read_text(output_, "test");
    uint64_t header = 0;
    std::memcpy(&header, bytes.data(), 8);
    const auto json = nlohmann::json::parse(bytes.substr(8, header));
    EXPECT_EQ(header % 8, 0u);
    for (const char* name : {"files.ends", "table.ends", "labels"})
      EXPECT_EQ(json[name]["data_offsets"][0].get<uint64_t>() % 8, 0u) << name;
    EXPECT_EQ(texts(pack.files)[2], "below/c.png");
    EXPECT_EQ(texts(pack.table.cells[1]), (std::vector<std::string>{"yes", "no", ""}));
  }
}

TEST_F(ImportFolder, ThePackKeepsTheTableAsItWas) {
  options_.table_options.key_column = "file";
  const Pack keyed = with_table("smile;remark;file\n yes ;\"x;y\";a\nno;;below\\c.png\n");
  EXPECT_EQ(keyed.table.names, (std::vector<std::string>{"smile", "remark", "file"}));
  EXPECT_EQ(keyed.table.separator, ';');
  EXPECT_EQ(keyed.table.file_column, 2);
  EXPECT_EQ(texts(keyed.table.cells[0]), (std::vector<std::string>{" yes ", "", "no"}));
  EXPECT_EQ(texts(keyed.table.cells[1]), (std::vector<std::string>{"x;y", "", ""}));
  EXPECT_EQ(texts(keyed.table.cells[2]), (std::vector<std::string>{"a", "", "below\\c.png"}));
}

TEST_F(ImportFolder, TakesOtherFormatsToo) {
  fs::rename(images_ / "b.png", images_ / "b.TIFF");  // the content counts, and it is PNG
  fs::rename(images_ / "a.png", images_ / "a.webp");
  EXPECT_EQ(import().count(), 3);
}

TEST_F(ImportFolder, HiddenFilesAndFoldersArePassedOver) {
  write_text(images_ / "._a.png", "what macOS leaves behind", "test");
  fs::create_directory(images_ / ".thumbnails");
  write_png(images_ / ".thumbnails" / "a.png", Image::filled(3, 2, 2));
  EXPECT_EQ(import().count(), 3);
}

TEST_F(ImportFolder, RowsNameFilesByPathNameOrStem) {
  const Pack pack = with_table("file,smile\nb,yes\na.png,yes\nbelow/c.png,no\n");
  ASSERT_EQ(pack.properties.size(), 1u);
  EXPECT_EQ(pack.properties[0].values, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(numbers(pack.labels), (std::vector<int64_t>{1, 1, 0}));
}

TEST_F(ImportFolder, RowsMayHaveOtherSlashesTheFoldersNameSpacesAndCase) {
  const Pack pack =
      with_table("file,smile\n./a.png ,yes\nD:\\images\\B.PNG,no\nimages/below/c.png,no\n");
  EXPECT_EQ(numbers(pack.labels), (std::vector<int64_t>{1, 0, 0}));
  EXPECT_EQ(summary_.unmatched_rows, 0);
  // A folder of another name is another folder.
  EXPECT_EQ(numbers(with_table("file,smile\na.png,yes\nother/b.png,no\nb.png,no\n").labels),
            (std::vector<int64_t>{1, 0, -1}));
  EXPECT_EQ(summary_.first_unmatched, "other/b.png");
}

TEST_F(ImportFolder, EmptyCellsAndMissingRowsAreUnknown) {
  options_.table_options.properties = {"smile=yes,no", "hair=red,blue"};
  const Pack pack = with_table("file,smile,hair\na.png,,red\nb.png,yes,\n");
  EXPECT_EQ(numbers(pack.labels), (std::vector<int64_t>{-1, 0, 0, -1, -1, -1}));
  EXPECT_EQ(summary_.unlabelled, 1);
  EXPECT_EQ(summary_.properties[1].unknown, 2);
}

TEST_F(ImportFolder, DeclaredValuesKeepTheirOrderAndOthersAreRefused) {
  options_.table_options.properties = {"smile=yes,maybe,no"};
  const Pack pack = with_table("file,smile,hair\na.png,no,red\nb.png,yes,blue\n");
  ASSERT_EQ(pack.properties.size(), 1u);
  EXPECT_EQ(pack.properties[0].values, (std::vector<std::string>{"yes", "maybe", "no"}));
  EXPECT_EQ(numbers(pack.labels), (std::vector<int64_t>{2, 0, -1}));
  expect_refusal("file,smile\na.png,no\nb.png,Yess\n",
                 {"'Yess' for property 'smile' in row 2", "yes, maybe, no"});
  EXPECT_EQ(numbers(with_table("file,smile\na.png,NO\nb.png,Yes\n").labels),
            (std::vector<int64_t>{2, 0, -1}));
  expect_remark("'Yes' is taken for 'yes' in column 'smile' (1 cell)");
}

TEST_F(ImportFolder, SpacesAndCaseMakeNoOtherValueUnlessKept) {
  const std::string table = "file,hair\na.png,Red\nb.png, red\nbelow/c.png,GR\xc3\x9cN\n";
  Pack pack = with_table(table);
  EXPECT_EQ(pack.properties[0].values, (std::vector<std::string>{"GR\xc3\x9cN", "Red"}))
      << "of spellings that are equally frequent the first one";
  EXPECT_EQ(numbers(pack.labels), (std::vector<int64_t>{1, 1, 0}));
  expect_remark("'red' is taken for 'Red' in column 'hair' (1 cell)");
  write_png(images_ / "d.png", Image::filled(3, 4, 4, 40));
  pack = with_table(table + "d.png,gr\xc3\xbcn\n");
  EXPECT_EQ(pack.properties[0].values.size(), 2u) << "umlauts have a case too";
  options_.table_options.keep_case = true;
  EXPECT_EQ(with_table(table).properties[0].values,
            (std::vector<std::string>{"GR\xc3\x9cN", "Red", "red"}));
  options_.table_options.keep_case = false;
  options_.table_options.properties = {"hair=red,Red,gr\xc3\xbcn"};
  EXPECT_EQ(numbers(with_table(table).labels), (std::vector<int64_t>{1, 0, 2, -1}))
      << "declared spellings are values of their own";
}

TEST_F(ImportFolder, ColumnsWithOneValueOrTooManyAreNoProperties) {
  for (int i = 0; i < 201; ++i)
    write_png(images_ / fmt::format("n{}.png", i), Image::filled(3, 4, 4));
  std::string table = "file,id,glasses,nothing,smile\na.png,0,yes,,1\nb.png,0,,,0\n";
  for (int i = 0; i < 201; ++i) table += fmt::format("n{}.png,{},,,\n", i, i);
  const Pack pack = with_table(table);
  ASSERT_EQ(pack.properties.size(), 1u);
  EXPECT_EQ(pack.properties[0].name, "smile");
  EXPECT_EQ(pack.table.names.size(), 5u);
  expect_remark("column 'id' has 201 values and is no property; --property id takes it");
  expect_remark("column 'glasses' has only the value 'yes' and is no property");
  expect_remark("column 'nothing' has no value");
  options_.table_options.properties = {"id", "smile"};
  EXPECT_EQ(with_table(table).properties[0].values.size(), 201u);
  options_.table_options.properties = {"glasses"};
  expect_refusal(table, {"only the value 'yes' in column 'glasses', expected at least two",
                         "--property glasses=VALUE,VALUE"});
}

TEST_F(ImportFolder, ACellOfNanIsAnError) {
  for (const char* cell : {"nan", "NaN", "inf"})
    expect_refusal(fmt::format("file,smile\na.png,1\nb.png,{}\n", cell),
                   {fmt::format("'{}'", cell), "'smile'", "row 2"});
}

TEST_F(ImportFolder, SplitsAreReadAsNamesAndNumbers) {
  options_.table_options.split_column = "part";
  const Pack pack = with_table("file,part,smile\na.png,Valid ,1\nb.png,2,0\nc.png,train,1\n");
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

TEST_F(ImportFolder, RowsWithoutAnImageAreCounted) {
  EXPECT_EQ(numbers(with_table("file,smile\na.png,1\nd.png,0\n,1\nb,0\n").labels),
            (std::vector<int64_t>{1, 0, -1}));
  EXPECT_EQ(summary_.rows, 4);
  EXPECT_EQ(summary_.unmatched_rows, 2);
  EXPECT_EQ(summary_.first_unmatched, "d.png");
  EXPECT_EQ(summary_.properties[0].values[1], (std::pair<std::string, int64_t>{"1", 1}))
      << "values of rows without an image do not count";
}

TEST_F(ImportFolder, ATableWithoutAnyMatchIsOneSentenceThatNamesTheColumn) {
  expect_refusal("id,name\n1,a.png\n2,b.png\n",
                 {"no row for any of the 3 pictures: column 'id' has '1' first",
                  "--key-column name has some"});
  expect_refusal("id\n1\n", {"names of files such as 'a.png'", "--key-column chooses"});
  expect_refusal("file,smile\n", {"no row below the header"});
}

TEST_F(ImportFolder, TwoRowsForOneImageAreAnError) {
  expect_refusal("file,smile\na.png,1\na.png,0\n", {"two rows for 'a.png', row 1 and row 2"});
  expect_refusal("file,smile\na.png,1\na,0\n", {"('a')"});
}

TEST_F(ImportFolder, ARowThatMatchesTwoImagesIsAnError) {
  write_png(images_ / "below" / "a.png", Image::filled(3, 4, 4, 40));
  expect_refusal("file,smile\na.png,1\n", {"'a.png' and 'below/a.png'"});
  EXPECT_EQ(numbers(with_table("file,smile\na.png,0\nbelow/a.png,1\n").labels),
            (std::vector<int64_t>{0, -1, 1, -1}));
}

TEST_F(ImportFolder, ImagesOfDifferentSizesAreAnErrorThatNamesTheFileAndTheOption) {
  write_png(images_ / "b.png", Image::filled(3, 4, 6));
  expect_refusal("file,smile\na.png,1\n", {(images_ / "b.png").string(), "6x4", "4x4", "--size"});
}

TEST_F(ImportFolder, ResizeGivesAllImagesOneSize) {
  write_png(images_ / "b.png", Image::filled(3, 40, 60, 20));
  options_.resize = ImageShape{0, 8, 12};
  const Pack pack = import();
  EXPECT_EQ(pack.shape(), (ImageShape{3, 8, 12}));
  EXPECT_EQ(numbers(std::get<0>(pack.images.all().flatten(1).min(1))),
            (std::vector<int64_t>{10, 20, 30}));
  EXPECT_EQ(numbers(std::get<0>(pack.images.all().flatten(1).max(1))),
            (std::vector<int64_t>{10, 20, 30}));
}

TEST_F(ImportFolder, PaddingKeepsTheWholePictureInABlackFrame) {
  write_png(images_ / "a.png", Image::filled(3, 4, 8, 10));
  options_.resize = ImageShape{0, 8, 8};
  options_.fit = Fit::pad;
  const torch::Tensor first = import().images[0];
  EXPECT_EQ(first.narrow(1, 2, 4).min().item<int64_t>(), 10);
  EXPECT_EQ(first.narrow(1, 0, 2).max().item<int64_t>(), 0);
  EXPECT_EQ(first.narrow(1, 6, 2).max().item<int64_t>(), 0);
}

TEST_F(ImportFolder, GreyImagesAmongColoursHaveThreeEqualChannels) {
  // The colours come last: what was written as grey has to be widened.
  write_png(images_ / "a.png", Image::filled(1, 4, 4, 77));
  write_png(images_ / "b.png", Image::filled(1, 4, 4, 88));
  Pack pack = import();
  EXPECT_EQ(pack.shape(), (ImageShape{3, 4, 4}));
  EXPECT_EQ(summary_.grey_files, 2);
  for (int64_t c = 0; c < 3; ++c)
    EXPECT_EQ(numbers(pack.images.all().select(1, c).select(1, 3).select(1, 3)),
              (std::vector<int64_t>{77, 88, 30}));
  write_png(images_ / "below" / "c.png", Image::filled(1, 4, 4, 30));
  EXPECT_EQ(import().shape().channels, 1) << "all grey";
  options_.colour = Colour::rgb;
  EXPECT_EQ(import().shape().channels, 3);
}

TEST_F(ImportFolder, ColoursCanBeReducedToGrey) {
  write_png(images_ / "b.png", Image::filled(1, 4, 4, 77));
  Image red = Image::filled(3, 4, 4);
  std::fill_n(red.pixels.begin(), 16, uint8_t{200});
  write_png(images_ / "a.png", red);
  options_.colour = Colour::grey;
  const Pack pack = import();
  EXPECT_EQ(pack.shape(), (ImageShape{1, 4, 4}));
  EXPECT_EQ(corners(pack), (std::vector<int64_t>{60, 77, 30})) << "red has the weight 0.299";
}

TEST_F(ImportFolder, DamagedImagesAreCountedAndNamedOrSkipped) {
  write_text(images_ / "b.png", read_text(images_ / "b.png", "test").substr(0, 40), "test");
  write_text(images_ / "empty.jpg", "", "test");
  const std::string found = message_of([&] { import(); });
  for (const char* part : {"2 of 4 files that cannot be read", "b.png", "--skip-damaged"})
    EXPECT_NE(found.find(part), std::string::npos) << found;
  EXPECT_FALSE(fs::exists(output_));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1) << "nothing is left";
  options_.skip_damaged = true;
  const Pack pack = with_table("file,smile\na.png,1\nb.png,0\nbelow/c.png,0\n");
  EXPECT_EQ(corners(pack), (std::vector<int64_t>{10, 30}));
  EXPECT_EQ(texts(pack.files), (std::vector<std::string>{"a.png", "below/c.png"}));
  EXPECT_EQ(numbers(pack.labels), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(texts(pack.table.cells[1]), (std::vector<std::string>{"1", "0"}));
  EXPECT_EQ(summary_.damaged, 2);
  EXPECT_NE(summary_.first_damaged.find("b.png"), std::string::npos);
  options_.skip_damaged = false;
  write_text(images_ / "a.png", "x", "test");
  EXPECT_NE(message_of([&] { import(); }).find("--skip-damaged"), std::string::npos)
      << "also where the first file is damaged";
  options_.skip_damaged = true;
  write_text(images_ / "below/c.png", "x", "test");
  const std::string all = message_of([&] { import(); });
  EXPECT_NE(all.find("4 of 4 files"), std::string::npos) << "a pack needs an image";
  EXPECT_EQ(all.find("--skip-damaged"), std::string::npos) << all;
}

TEST_F(ImportFolder, EmptyAndMissingFoldersAreErrors) {
  fs::create_directory(folder_ / "empty");
  EXPECT_THROW(import_folder(folder_ / "empty", options_, output_), Error);
  EXPECT_THROW(import_folder(folder_ / "absent", options_, output_), Error);
}

TEST_F(ImportFolder, FoldersAboveThePackAreMadeAndCheckedBeforeAnythingIsRead) {
  output_ = folder_ / "new" / "folder" / "pack";
  EXPECT_EQ(import().count(), 3);
  fs::remove(output_);
  output_ = images_ / "notes.txt" / "pack";
  options_.table = folder_ / "absent.csv";
  EXPECT_NE(message_of([&] { import(); }).find("notes.txt/pack"), std::string::npos)
      << "the output is checked before the table";
  output_ = images_;
  EXPECT_NE(message_of([&] { import(); }).find("a folder"), std::string::npos);
}

TEST_F(ImportFolder, AStoppedImportLeavesNothingBehind) {
  int64_t reported = 0;
  ImportEvents events;
  events.progress = [&](int64_t done, int64_t files) {
    reported = done;
    EXPECT_EQ(files, 3);
  };
  events.stop = [&] { return reported == 1; };
  EXPECT_FALSE(import_folder(images_, options_, output_, events).has_value());
  EXPECT_EQ(reported, 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(ImportFolder, RandomSplitsHaveTheGivenFractionsAndDependOnTheSeed) {
  for (uint8_t i = 0; i < 37; ++i)
    write_png(images_ / fmt::format("more{}.png", i), Image::filled(3, 4, 4, uint8_t(100 + i)));
  options_.table_options.valid_fraction = 0.25;
  options_.table_options.test_fraction = 0.5;
  const torch::Tensor split = import().split.clone();
  EXPECT_EQ(split.eq(1).sum().item<int64_t>(), 10);
  EXPECT_EQ(split.eq(2).sum().item<int64_t>(), 20);
  EXPECT_TRUE(torch::equal(import().split, split));
  options_.table_options.seed = 2;
  EXPECT_FALSE(torch::equal(import().split, split));
}

TEST_F(ImportFolder, ImagesWithTheSamePixelsComeIntoOneSplit) {
  for (int i = 0; i < 60; ++i) {
    const auto value = static_cast<uint8_t>(100 + i / 3);
    const Image grey = Image::filled(i % 3 == 0 ? 1 : 3, 4, 4, value);
    write_png(images_ / fmt::format("more{:02}.png", i), grey);
  }
  options_.table_options.valid_fraction = 0.3;
  options_.table_options.test_fraction = 0.3;
  const Pack pack = import();
  EXPECT_EQ(summary_.duplicates, 40) << "grey in one and in three channels is the same";
  EXPECT_EQ(summary_.divided_duplicates, 0);
  const std::vector<int64_t> split = numbers(pack.split);
  for (size_t i = 3; i < 63; i += 3)
    EXPECT_EQ(std::set<int64_t>(split.begin() + i, split.begin() + i + 3).size(), 1u) << i;
  EXPECT_EQ(std::set<int64_t>(split.begin(), split.end()).size(), 3u);
  EXPECT_LE(summary_.splits[1], 18);
  EXPECT_GE(summary_.splits[1], 16);
  // Where the table divides them it has its way, and the summary says so.
  options_.table_options.split_column = "part";
  with_table("file,part\nmore00.png,train\nmore01.png,test\nmore02.png,train\n");
  EXPECT_GE(summary_.divided_duplicates, 1);
}

}  // namespace
}  // namespace facet
