// What a user gets for bad input: one line on stderr that opens with "facet: ", exit status 2, and
// no file made, changed or lost. The tests are in bad_*_test.cpp.
#pragma once

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "facet/data/image_file.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"
#include "tests/files.h"
#include "tests/jpeg.h"

namespace facet {

inline std::string jpeg_bytes(int64_t side) {
  std::vector<uint8_t> values;
  for (int64_t i = 0; i < 3 * side * side; ++i) values.push_back(static_cast<uint8_t>(7 * i));
  return encode_jpeg({}, side, side, values);
}

/// A folder with good files of every kind, made once; each test works on a copy.
class BadInput : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    good_ = new TemporaryFolder;
    const TemporaryFolder& good = *good_;
    write_text(good / "config.json", quick_config(), "test");
    write_text(good / "images.idx", idx_bytes(8, {3, 16, 16}, std::string(768, 'x')), "test");
    write_text(good / "labels.idx", idx_bytes(8, {3}, std::string("\x00\x01\x02", 3)), "test");
    std::filesystem::create_directory(good / "pictures");
    Image image = Image::filled(3, 16, 16, 40);
    for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i * i);
    write_png(good / "pictures" / "a.png", image);
    write_text(good / "pictures" / "b.jpg", jpeg_bytes(16), "test");
    write_text(good / "labels.csv", "file,smile\na.png,yes\nb.jpg,no\n", "test");
    const auto in_folder = [&](const std::vector<std::string>& arguments) {
      const ProgramResult result = run_facet(arguments, {.folder = good.path()});
      ASSERT_EQ(result.status, 0) << result.err;
    };
    in_folder({"import", "portraits", "--count", "200", "--size", "16", "--out", "pack"});
    in_folder({"train", "config.json", "--out", "run", "--set", "data.pack=pack"});
  }
  static void TearDownTestSuite() {
    delete good_;
    good_ = nullptr;
  }
  BadInput() {
    std::filesystem::copy(good_->path(), folder_.path(),
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
  }

  std::string bytes(const std::string& name) { return read_text(folder_ / name, "test"); }
  void put(const std::string& name, const std::string& text) {
    write_text(folder_ / name, text, "test");
  }
  void cut(const std::string& name) {
    put(name, bytes(name).substr(0, bytes(name).size() * 2 / 3));
  }

  /// Runs in the folder; the one line it is refused with.
  std::string refusal(const std::vector<std::string>& arguments, rlim_t largest = RLIM_INFINITY) {
    const auto before = files_below(folder_.path());
    const ProgramResult result = run_facet(arguments, {largest, folder_.path()});
    const std::string shown = fmt::format("facet {}\n  status {}\n  stderr {}",
                                          fmt::join(arguments, " "), result.status, result.err);
    EXPECT_EQ(result.status, 2) << shown;
    EXPECT_EQ(result.err.rfind("facet: ", 0), 0u) << shown;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << shown;
    EXPECT_TRUE(!result.err.empty() && result.err.back() == '\n') << shown;
    EXPECT_EQ(result.err.find("Exception raised"), std::string::npos) << shown;
    EXPECT_TRUE(files_below(folder_.path()) == before) << "files have changed: " << shown;
    return result.err;
  }
  void expect_refusal(const std::vector<std::string>& arguments,
                      const std::vector<std::string>& parts, rlim_t largest = RLIM_INFINITY) {
    expect_parts(refusal(arguments, largest), parts);
  }

  const std::vector<std::string> import_images = {"import",     "images", "pictures", "--labels",
                                                  "labels.csv", "--out",  "new"};
  const std::vector<std::string> import_idx = {
      "import", "idx", "--train", "images.idx", "--train-labels", "labels.idx", "--out", "new"};

  static inline TemporaryFolder* good_ = nullptr;
  TemporaryFolder folder_;
};

}  // namespace facet
