// `facet check`: files that are as they were written, files that changed, files without checksums.
#include <gtest/gtest.h>

#include "tests/cli/bad_input.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"

namespace facet {
namespace {

class Check : public testing::Test {
 protected:
  Check() {
    const ProgramResult made = facet({"import", "portraits", "--count", "200", "--size", "16",
                                      "--out", "p.safetensors", "--shard-size", "100"});
    EXPECT_EQ(made.status, 0) << made.err;
  }
  ProgramResult facet(const std::vector<std::string>& arguments) {
    return run_facet(arguments, {.folder = folder_.path()});
  }
  /// Flips the lowest bit of a byte, counted from the end.
  void flip(const std::string& name, size_t from_end) {
    std::string bytes = read_text(folder_ / name, "test");
    char& byte = bytes[bytes.size() - from_end];
    byte = static_cast<char>(byte ^ 1);
    write_text(folder_ / name, bytes, "test");
  }

  TemporaryFolder folder_;
};

TEST_F(Check, FilesAsTheyWereWritten) {
  for (const char* name : {"p-*.safetensors", "p-00001.safetensors", "."}) {
    const ProgramResult result = facet({"check", name});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_TRUE(
        contains(result.out, "p-00001.safetensors: 3 tensors in 0.1 MB, as they were written"))
        << result.out;
  }
}

TEST_F(Check, AFlippedBitIsOneLineAndTheOtherFilesAreStillChecked) {
  flip("p-00000.safetensors", 1);
  const ProgramResult result = facet({"check", "p-*.safetensors"});
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(contains(result.err, "p-00000.safetensors': found tensor")) << result.err;
  EXPECT_TRUE(contains(result.out, "p-00001.safetensors: 3 tensors")) << result.out;
  const ProgramResult info = facet({"info", "p-*.safetensors"});
  EXPECT_EQ(info.status, 2) << "small tensors are checked whenever a file is opened";
}

TEST_F(Check, MetricsAreComparedWithTheState) {
  write_text(folder_ / "config.json", quick_config(), "test");
  ASSERT_EQ(facet({"train", "config.json", "--out", "run"}).status, 0);
  const ProgramResult good = facet({"check", "run"});
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_TRUE(contains(good.out, "run/metrics.jsonl: ")) << good.out;
  flip("run/metrics.jsonl", 10);
  const ProgramResult changed = facet({"check", "run"});
  EXPECT_EQ(changed.status, 2);
  EXPECT_TRUE(contains(changed.err, "run/metrics.jsonl': found other lines")) << changed.err;
}

TEST_F(Check, FilesOfOtherProgramsHaveNothingToCompare) {
  std::string header = R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  header.resize(64, ' ');
  write_text(folder_ / "other.safetensors", std::string("@\0\0\0\0\0\0\0", 8) + header + "a",
             "test");
  const ProgramResult result = facet({"check", "other.safetensors"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "without checksums to compare")) << result.out;
}

TEST_F(Check, AFolderWithoutFilesAndAMissingFileAreErrors) {
  std::filesystem::create_directory(folder_ / "empty");
  EXPECT_EQ(facet({"check", "empty"}).status, 2);
  EXPECT_EQ(facet({"check", "absent.safetensors"}).status, 2);
}

}  // namespace
}  // namespace facet
