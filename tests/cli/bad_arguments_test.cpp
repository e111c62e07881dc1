// Arguments, files and places that any command refuses.
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "facet/cuda/gpu.h"
#include "tests/cli/bad_input.h"

namespace facet {
namespace {

TEST_F(BadInput, FullDisk) {
  expect_refusal({"import", "portraits", "--count", "100", "--size", "16", "--out", "new"},
                 {"new", "is the disk full?"}, 10000);
  expect_refusal({"import", "portraits", "--count", "100", "--size", "16", "--out", "pack"},
                 {"pack", "is the disk full?"}, 10000);
  expect_refusal({"sample", "run", "--out", "new.png"}, {"new.png", "is the disk full?"}, 2000);
}

TEST_F(BadInput, PlacesThatCannotBeWritten) {
  for (const char* out : {"config.json", "config.json/below", "/proc/nothing/run"})
    expect_refusal({"train", "config.json", "--out", out}, {out});
  expect_refusal({"sample", "run", "--out", "absent/new.png"},
                 {"absent/new.png", "does the folder exist?"});
  expect_refusal({"sample", "run", "--out", "pictures"}, {"pictures"});
  expect_refusal(
      {"import", "portraits", "--count", "10", "--size", "16", "--out", "config.json/new"},
      {"config.json/new"});
  expect_refusal({"import", "images", "absent", "--out", "config.json/new"}, {"config.json/new"});
}

TEST_F(BadInput, DevicesAndPipesAreNotReplaced) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const ProgramResult result =
      run_facet({"sample", "run", "--out", "pipe"}, {.folder = folder_.path()});
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(contains(result.err, "a device or a pipe")) << result.err;
  EXPECT_TRUE(std::filesystem::is_fifo(folder_ / "pipe"));
  std::filesystem::remove(folder_ / "pipe");
  std::filesystem::create_symlink("real.png", folder_ / "link.png");
  ASSERT_EQ(run_facet({"sample", "run", "--out", "link.png"}, {.folder = folder_.path()}).status,
            0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link.png")) << "what it leads to is written";
  EXPECT_TRUE(std::filesystem::exists(folder_ / "real.png"));
}

TEST_F(BadInput, NamesWithAStarAreReadOnceAndNotWritten) {
  std::filesystem::copy(folder_ / "pack", folder_ / "a*b.safetensors");
  const ProgramResult result = run_facet({"info", "a*b.safetensors"}, {.folder = folder_.path()});
  EXPECT_EQ(result.status, 0) << result.err;
  expect_refusal({"import", "images", "pictures", "--out", "new*"}, {"new*", "several files"});
  expect_refusal({"import", "portraits", "--count", "10", "--size", "16", "--shard-size", "3",
                  "--out", "new*"},
                 {"new*", "several files"});
}

/// The words run by a shell in the folder, with {} for the program.
int status_of(const std::filesystem::path& folder, std::string words) {
  words.replace(words.find("{}"), 2, FACET_PROGRAM);
  return RunningProgram({"sh", "-c", words}, {.folder = folder}).wait().status;
}

TEST_F(BadInput, ClosedOrFullStandardFilesHarmNothing) {
  EXPECT_EQ(status_of(folder_.path(), "{} train config.json --out closed >&-"), 2);
  const ProgramResult check = run_facet({"check", "closed"}, {.folder = folder_.path()});
  EXPECT_EQ(check.status, 0) << "progress is not written into the metrics; " << check.err;
  EXPECT_EQ(status_of(folder_.path(), "{} info absent 2>/dev/full"), 2);
  EXPECT_EQ(status_of(folder_.path(), "{} info absent >&- 2>&-"), 2);
  EXPECT_EQ(status_of(folder_.path(), "{} manual > /dev/full"), 2);
}

TEST_F(BadInput, MissingFiles) {
  struct Case {
    std::vector<std::string> arguments;
    std::string part;
  };
  const Case cases[] = {
      {{"train", "absent.json", "--out", "fresh"}, "absent.json"},
      {{"train", "pictures", "--out", "fresh"}, "pictures"},
      {{"train", "--out", "absent", "--resume"}, "absent"},
      {{"train", "--out", "fresh"}, "no config"},
      {{"train", "config.json"}, "--out"},
      {{"eval", "absent"}, "absent"},
      {{"eval", "pictures"}, "pictures"},
      {{"sample", "absent", "--out", "new.png"}, "absent"},
      {{"info", "absent"}, "absent"},
      {{"info", "config.json"}, "config.json"},
      {{"info", "pictures"}, "pictures"},
      {{"import", "idx", "--train", "absent", "--out", "new"}, "absent"},
      {{"import", "idx", "--out", "new"}, "no file"},
      {{"import", "images", "absent", "--out", "new"}, "absent"},
      {{"import", "images", "pictures", "--labels", "absent.csv", "--out", "new"}, "absent.csv"},
      {{"import", "portraits", "--size", "8", "--count", "10", "--out", "new"}, "8"},
  };
  for (const Case& one : cases) expect_refusal(one.arguments, {one.part});
}

TEST_F(BadInput, ArgumentsThatCannotBe) {
  struct Case {
    std::vector<std::string> arguments;
    std::string part;
  };
  const Case cases[] = {
      {{"eval", "run", "--jsn"}, "did you mean '--json'?"},
      {{"train", "config.json", "--out", "fresh", "--resum"}, "did you mean '--resume'?"},
      {{"tarin", "config.json"}, "did you mean 'train'?"},
      {{"eval"}, "run"},
      {{}, "command"},
      {{"import"}, "command"},
      {{"eval", "run", "--samples", "0"}, "--samples"},
      {{"eval", "run", "--samples", "many"}, "--samples"},
      {{"eval", "run", "--seed", "18446744073709551616"}, "too large"},
      {{"eval", "run", "--seed", ""}, "--seed"},
      {{"eval", "run", "--pack", ""}, "--pack"},
      {{"import", "portraits", "--seed", "9223372036854775808", "--out", "new"}, "--seed"},
      {{"import", "portraits", "--size", "-1", "--out", "new"}, "--size"},
      {{"import", "portraits", "--count", "10000000", "--size", "256", "--out", "new"}, "GB"},
      {{"label", "run", "pack", "--min-probability", "nan", "--out", "new"}, "NaN"},
      {{"info", "new\nline"}, "new\\nline"},
      {{"sample", "run"}, "--out"},
      {{"sample", "run", "--count", "-1", "--out", "new.png"}, "--count"},
      {{"eval", "run", "--device", "gpu"}, "--device"},
      {{"import", "images", "pictures", "--out", "new", "--valid", "0.6", "--test", "0.6"},
       "--valid"},
  };
  for (const Case& one : cases) expect_refusal(one.arguments, {one.part});
}

TEST_F(BadInput, CudaWithoutACard) {
  if (cuda::available()) GTEST_SKIP() << "there is a GPU";
  expect_refusal({"train", "config.json", "--out", "fresh", "--device", "cuda"},
                 {"no usable GPU", "the device 'cpu'"});
  expect_refusal({"eval", "run", "--device", "cuda"}, {"no usable GPU"});
}

}  // namespace
}  // namespace facet
