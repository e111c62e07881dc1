// Files that cannot be imported.
#include <gtest/gtest.h>

#include "facet/data/image_file.h"
#include "tests/cli/bad_input.h"
#include "tests/files.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

TEST_F(BadInput, TheGoodFilesAreGood) {
  for (const auto& arguments : {import_images, import_idx}) {
    const ProgramResult result = run_facet(arguments, {.folder = folder_.path()});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_TRUE(fs::exists(folder_ / "new"));
  }
}

TEST_F(BadInput, DamagedIdxFiles) {
  cut("images.idx");
  expect_refusal(import_idx, {"images.idx", "cut short"});
  put("images.idx", "PK\x03\x04 this is a zip file");
  expect_refusal(import_idx, {"images.idx"});
  put("images.idx", idx_bytes(8, {4, 16, 16}, std::string(1024, 'x')));
  expect_refusal(import_idx, {"labels.idx", "[4]"});
  put("images.idx", "\x1f\x8b\x08");
  expect_refusal(import_idx, {"images.idx", "gzip"});
}

TEST_F(BadInput, DamagedPictures) {
  const std::string png = bytes("pictures/a.png");
  cut("pictures/a.png");
  expect_refusal(import_images, {"a.png"});
  std::string flipped = png;
  flipped[png.size() / 2] ^= 0x10;
  put("pictures/a.png", flipped);
  expect_refusal(import_images, {"a.png"});
  put("pictures/a.png", png);
  cut("pictures/b.jpg");
  expect_refusal(import_images, {"b.jpg"});
  put("pictures/b.jpg", "no picture");
  expect_refusal(import_images, {"b.jpg"});
}

TEST_F(BadInput, DamagedTables) {
  put("labels.csv", "file,smile\na.png,yes\nb.jpg\n");
  expect_refusal(import_images, {"labels.csv", "line 3"});
  put("labels.csv", "file,smile\na.png,\"yes\n");
  expect_refusal(import_images, {"labels.csv", "line 2"});
  put("labels.csv", "");
  expect_refusal(import_images, {"labels.csv"});
  put("labels.csv", "file,smile\na.png,nan\nb.jpg,yes\n");
  expect_refusal(import_images, {"labels.csv", "'nan'", "'smile'"});
  put("labels.csv", "file,smile\nc.png,yes\n");
  expect_refusal(import_images, {"labels.csv", "c.png"});
}

TEST_F(BadInput, LabelsOutsideTheDeclaredValues) {
  std::vector<std::string> arguments = import_images;
  arguments.insert(arguments.end(), {"--property", "smile=yes,perhaps"});
  expect_refusal(arguments, {"labels.csv", "'no'", "'smile'", "yes, perhaps"});
  arguments.back() = "smlie";
  expect_refusal(arguments, {"labels.csv", "no column 'smlie'", "smile"});
}

TEST_F(BadInput, MixedImageSizes) {
  write_png(folder_ / "pictures" / "c.png", Image::filled(3, 16, 20));
  expect_refusal(import_images, {"c.png", "20x16", "16x16", "--size"});
}

}  // namespace
}  // namespace facet
