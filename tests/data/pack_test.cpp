#include "facet/data/pack.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/model/model_file.h"
#include "tests/data/values_of.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

/// Six colour images of 4x5 pixels with two properties, in all three splits.
Pack small_pack() {
  Pack pack;
  pack.images = torch::arange(6 * 3 * 4 * 5).remainder(256).to(kUInt8).view({6, 3, 4, 5});
  pack.labels = torch::tensor({0, 2, 1, -1, -1, 0, 0, 1, 1, 2, 0, -1}, kInt32).view({6, 2});
  pack.split = torch::tensor({0, 0, 2, 1, 0, 2}, kUInt8);
  pack.properties = {{"glasses", {"no", "yes"}}, {"hair", {"black", "Blond, \"fair\"", "röd"}}};
  pack.origin = "a test";
  pack.files = TextColumn({"a.png", "b.png", "below/c.png", "grün.png", "e", "f.png"});
  pack.table.names = {"note", "file"};
  pack.table.cells = {TextColumn({" x ", "", "a;b", "", "\"", "two\nlines"}),
                      TextColumn({"a", "b.png", "below/c.png", "", "e", "f.png"})};
  pack.table.file_column = 1;
  pack.table.separator = ';';
  return pack;
}

class PackFile : public testing::Test {
 protected:
  PackFile() { write_pack(path_, small_pack()); }

  /// The error of reading the file after `change` was applied to its tensors or metadata.
  std::string message_after(const std::function<void(TensorFile&)>& change) {
    TensorFile file = read_safetensors(path_, "test");
    change(file);
    write_safetensors(folder_ / "changed", file, "test");
    return message_of([&] { read_pack(folder_ / "changed"); });
  }
  void expect_refusal(const std::string& part, const std::function<void(TensorFile&)>& change) {
    const std::string found = message_after(change);
    EXPECT_NE(found.find(part), std::string::npos) << found;
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "data.safetensors";
};

TEST_F(PackFile, ReadingGivesWhatWasWritten) {
  const Pack pack = small_pack(), back = read_pack(path_);
  EXPECT_TRUE(torch::equal(back.images.all(), pack.images.all()));
  EXPECT_TRUE(torch::equal(back.labels, pack.labels));
  EXPECT_TRUE(torch::equal(back.split, pack.split));
  EXPECT_EQ(back.origin, pack.origin);
  EXPECT_EQ(back.shape(), (ImageShape{3, 4, 5}));
  ASSERT_EQ(back.properties.size(), 2u);
  for (size_t p = 0; p < 2; ++p) {
    EXPECT_EQ(back.properties[p].name, pack.properties[p].name);
    EXPECT_EQ(back.properties[p].values, pack.properties[p].values);
  }
}

TEST_F(PackFile, FileNamesAndTheTableComeBackAsTheyWere) {
  const Pack pack = small_pack(), back = read_pack(path_);
  EXPECT_EQ(texts(back.files), texts(pack.files));
  EXPECT_EQ(back.table.names, pack.table.names);
  EXPECT_EQ(back.table.file_column, 1);
  EXPECT_EQ(back.table.separator, ';');
  ASSERT_EQ(back.table.cells.size(), 2u);
  for (size_t c = 0; c < 2; ++c) EXPECT_EQ(texts(back.table.cells[c]), texts(pack.table.cells[c]));
  write_pack(folder_ / "again", back);
  EXPECT_EQ(texts(read_pack(folder_ / "again").table.cells[1]), texts(pack.table.cells[1]))
      << "columns that are views of a file can be written";
}

TEST_F(PackFile, APackOfAnOlderVersionHasNoFileNamesAndNoTable) {
  TensorFile file = read_safetensors(path_, "test");
  for (const char* name : {"files", "files.ends", "table", "table.ends"}) file.tensors.erase(name);
  file.metadata.erase("table");
  write_safetensors(folder_ / "old", file, "test");
  const Pack pack = read_pack(folder_ / "old");
  EXPECT_TRUE(pack.files.empty());
  EXPECT_TRUE(pack.table.empty());
  write_pack(folder_ / "again", pack);
  EXPECT_EQ(read_safetensors(folder_ / "again", "test").tensors.size(), 3u);
}

TEST_F(PackFile, AMillionFileNamesAreFine) {
  constexpr int64_t count = 1'000'000;
  std::vector<std::string> names(count);
  for (int64_t n = 0; n < count; ++n) names[n] = fmt::format("folder/picture-{:07}.jpeg", n);
  Pack pack;
  pack.images = torch::zeros({count, 1, 1, 1}, kUInt8);
  pack.labels = torch::empty({count, 0}, kInt32);
  pack.split = torch::zeros({count}, kUInt8);
  pack.files = TextColumn(names);
  write_pack(path_, pack);
  const Pack back = read_pack(path_);
  EXPECT_EQ(back.files[count - 1], "folder/picture-0999999.jpeg");
  EXPECT_LT(std::filesystem::file_size(path_), 45u * count);
}

TEST_F(PackFile, DamagedTextsAreErrors) {
  const auto with_ends = [](const char* name, torch::Tensor ends) {
    return [=](TensorFile& file) { file.tensors[name] = ends; };
  };
  expect_refusal(
      "a text of 'files' that ends at byte 900",
      with_ends("files.ends", torch::tensor({5, 10, 900, 901, 902, 903}, kInt64).unsqueeze(0)));
  expect_refusal(
      "a text of 'files' that ends at byte 4",
      with_ends("files.ends", torch::tensor({5, 10, 4, 11, 12, 13}, kInt64).unsqueeze(0)));
  expect_refusal(
      "a text of 'files' that ends at byte -1",
      with_ends("files.ends", torch::tensor({-1, 10, 11, 12, 13, 14}, kInt64).unsqueeze(0)));
  expect_refusal("tensor 'table.ends'", with_ends("table.ends", torch::zeros({2, 5}, kInt64)));
  expect_refusal("tensor 'files.ends'", [](TensorFile& file) { file.tensors.erase("files.ends"); });
  for (const char* text : {"[]", R"({"columns": 3, "file_column": 0, "separator": ","})",
                           R"({"columns": [1, 2], "file_column": 0, "separator": ","})",
                           R"({"columns": ["a", "b"], "file_column": 0, "separator": ""})"})
    expect_refusal("a table that cannot be read",
                   [&](TensorFile& file) { file.metadata["table"] = text; });
  expect_refusal("file column 2", [&](TensorFile& file) {
    file.metadata["table"] = R"({"columns": ["a", "b"], "file_column": 2, "separator": ","})";
  });
}

TEST_F(PackFile, TextsForAnotherNumberOfImagesAreNotWritten) {
  Pack pack = small_pack();
  pack.files = TextColumn({"a.png"});
  EXPECT_NE(message_of([&] { write_pack(path_, pack); }).find("1 file names"), std::string::npos);
  pack = small_pack();
  pack.table.cells[1] = TextColumn({"a.png"});
  EXPECT_NE(message_of([&] { write_pack(path_, pack); }).find("a table column of 1 cells"),
            std::string::npos);
}

TEST_F(PackFile, APackMayHaveNoProperties) {
  Pack pack = small_pack();
  pack.properties.clear();
  pack.labels = torch::empty({6, 0}, kInt32);
  write_pack(path_, pack);
  EXPECT_EQ(read_pack(path_).labels.sizes(), (std::vector<int64_t>{6, 0}));
}

TEST_F(PackFile, IndicesAreThoseOfTheSplits) {
  const Pack pack = read_pack(path_);
  EXPECT_EQ(numbers(pack.indices({Split::train})), (std::vector<int64_t>{0, 1, 4}));
  EXPECT_EQ(numbers(pack.indices({Split::test, Split::valid})), (std::vector<int64_t>{2, 3, 5}));
  Pack without = small_pack();
  without.split.fill_(0);
  EXPECT_NE(message_of([&] {
              without.indices({Split::valid, Split::test});
            }).find("valid+test"),
            std::string::npos);
}

TEST_F(PackFile, SplitNamesAreReadAndOthersRefused) {
  EXPECT_EQ(parse_split("valid"), Split::valid);
  EXPECT_THROW(parse_split("Valid"), Error);
  EXPECT_THROW(parse_split(""), Error);
}

TEST_F(PackFile, LabelsOutsideTheDeclaredValuesAreErrorsThatNameTheProperty) {
  const auto with_label = [](int32_t label) {
    return [label](TensorFile& file) {
      file.tensors["labels"] = file.tensors["labels"].clone();
      file.tensors["labels"][4][1] = label;
    };
  };
  expect_refusal("label 3 of property 'hair'", with_label(3));
  expect_refusal("label -2 of property 'hair'", with_label(-2));
  expect_refusal("no error", with_label(2));
}

TEST_F(PackFile, SplitsAboveTwoAreErrors) {
  expect_refusal("split 3", [](TensorFile& file) {
    file.tensors["split"] = torch::tensor({0, 0, 3, 1, 0, 2}, kUInt8);
  });
}

TEST_F(PackFile, ImagesThatAreNotBytesAreErrors) {
  expect_refusal("expected U8", [](TensorFile& file) {
    file.tensors["images"] = torch::full({6, 3, 4, 5}, NAN);
  });
}

TEST_F(PackFile, MissingTensorsAndWrongSizesAreErrorsThatNameTheTensor) {
  for (const char* name : {"images", "labels", "split"})
    expect_refusal(fmt::format("tensor '{}'", name),
                   [&](TensorFile& file) { file.tensors.erase(name); });
  expect_refusal("tensor 'labels'", [](TensorFile& file) {
    file.tensors["labels"] = torch::zeros({5, 2}, kInt32);
  });
  expect_refusal("tensor 'split'",
                 [](TensorFile& file) { file.tensors["split"] = torch::zeros({7}, kUInt8); });
  expect_refusal("3 label columns", [](TensorFile& file) {
    file.tensors["labels"] = torch::zeros({6, 3}, kInt32);
  });
  expect_refusal("2 channels", [](TensorFile& file) {
    file.tensors["images"] = torch::zeros({6, 2, 4, 5}, kUInt8);
  });
  expect_refusal("no image", [](TensorFile& file) {
    file.metadata.erase("table");
    file.tensors = {{"images", torch::zeros({0, 3, 4, 5}, kUInt8)},
                    {"labels", torch::zeros({0, 2}, kInt32)},
                    {"split", torch::zeros({0}, kUInt8)}};
  });
}

TEST_F(PackFile, InvalidMetadataIsAnError) {
  expect_refusal("format ''", [](TensorFile& file) { file.metadata.clear(); });
  for (const char* text : {"", "{}", "[3]", R"([{"name": 3, "values": []}])",
                           R"([{"name": "glasses"}])", R"([{"name": "glasses", "values": [1]}])"})
    expect_refusal("property names", [&](TensorFile& file) { file.metadata["properties"] = text; });
}

TEST_F(PackFile, AModelIsNotAPack) {
  ModelOptions options;
  options.network = {"custom", {4}, {2}, 3};
  options.factors = {{"first", 2, 2}};
  write_model(path_, Vae(options, {1, 8, 8}, Key(1)));
  EXPECT_NE(message_of([&] { read_pack(path_); }).find("is this a model?"), std::string::npos);
}

TEST_F(PackFile, EveryTruncationIsAnError) {
  const std::string whole = read_text(path_, "test");
  for (size_t length = 0; length < whole.size(); length += 7) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, length);
    EXPECT_THROW(read_pack(path_), Error) << length;
  }
}

TEST_F(PackFile, FlippedBytesOfTheHeaderAreAnErrorOrReadButNeverCrash) {
  const std::string whole = read_text(path_, "test");
  uint64_t header = 0;
  std::memcpy(&header, whole.data(), sizeof header);
  header += sizeof header;
  std::mt19937 random(5);
  int errors = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::string damaged = whole;
    damaged[random() % header] ^= static_cast<char>(1 + random() % 255);
    std::ofstream(path_, std::ios::binary) << damaged;
    try {
      read_pack(path_);
    } catch (const Error&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, 100);  // flips inside names and the origin may go unnoticed
}

TEST_F(PackFile, ABadPackIsNotWritten) {
  Pack pack = small_pack();
  pack.labels[0][0] = 2;
  const std::string before = read_text(path_, "test");
  EXPECT_THROW(write_pack(path_, pack), Error);
  EXPECT_EQ(read_text(path_, "test"), before);
}

TEST(ToImages, ToTensorIsTheInverse) {
  const torch::Tensor pixels = small_pack().images.all();
  const std::vector<Image> images = to_images(pixels);
  ASSERT_EQ(images.size(), 6u);
  EXPECT_EQ(images[1].at(2, 3, 4), pixels[1][2][3][4].item<uint8_t>());
  EXPECT_TRUE(torch::equal(to_tensor(images), pixels));
  EXPECT_EQ(to_images(pixels.transpose(2, 3))[1].at(2, 4, 3), images[1].at(2, 3, 4));
}

}  // namespace
}  // namespace facet
