// A pack in several files, as a user makes and names it: every command gives what it gives for the
// same images in one file.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/cli/bad_input.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

class Shards : public testing::Test {
 protected:
  Shards() {
    write_text(folder_ / "config.json", quick_config(), "test");
    run({"import", "portraits", "--count", "200", "--size", "16", "--out", "one.safetensors"});
    imported_ = run({"import", "portraits", "--count", "200", "--size", "16", "--out",
                     "p.safetensors", "--shard-size", "70"});
  }
  std::string run(const std::vector<std::string>& arguments) {
    const ProgramResult result = run_facet(arguments, {.folder = folder_.path()});
    EXPECT_EQ(result.status, 0) << fmt::format("{}", fmt::join(arguments, " ")) << result.err;
    return result.out;
  }
  std::string bytes(const std::string& name) { return read_text(folder_ / name, "test"); }

  TemporaryFolder folder_;
  std::string imported_;
};

TEST_F(Shards, TheImportSaysHowManyAndWhatTheyAreCalled) {
  expect_parts(imported_, {"p-*.safetensors: 200 images of 16x16", ", in 3 files\n"});
  EXPECT_FALSE(fs::exists(folder_ / "p.safetensors"));
  EXPECT_TRUE(fs::exists(folder_ / "p-00002.safetensors"));
  EXPECT_TRUE(contains(run({"info", "p-*.safetensors"}), "a pack in 3 files: 200 images"));
}

TEST_F(Shards, TrainAndEvaluateAsOneFileDoes) {
  run({"train", "config.json", "--out", "a", "--set", "data.pack=one.safetensors"});
  run({"train", "config.json", "--out", "b", "--set", "data.pack=p-*.safetensors"});
  EXPECT_EQ(bytes("a/model.safetensors"), bytes("b/model.safetensors"));
  EXPECT_EQ(bytes("a/metrics.jsonl"), bytes("b/metrics.jsonl"));
  EXPECT_EQ(bytes("a/eval.json"), bytes("b/eval.json"));
  const auto evaluation = [&](const std::string& pack) {
    return run({"eval", "a", "--pack", pack, "--split", "train", "--json"});
  };
  EXPECT_EQ(evaluation("one.safetensors"), evaluation("p-*.safetensors"));
  run({"encode", "a", "one.safetensors", "--out", "one.csv"});
  run({"encode", "a", "p-*.safetensors", "--out", "p.csv"});
  EXPECT_EQ(bytes("one.csv"), bytes("p.csv"));
  run({"index", "a", "p-*.safetensors", "--out", "index"});
  run({"search", "index", "--like", "test:3", "--out", "similar.png"});
  EXPECT_TRUE(fs::exists(folder_ / "similar.png"));
}

TEST_F(BadInput, PacksInSeveralFiles) {
  const auto train = [&](const std::string& pack) {
    return std::vector<std::string>{"train", "config.json", "--out",
                                    "r",     "--set",       "data.pack=" + pack};
  };
  expect_refusal(train("none-*"), {"none-*", "no file of such a name"});
  expect_refusal({"encode", "run", "none-*", "--out", "codes.csv"}, {"none-*"});
  put("p-00000", bytes("pack"));
  put("p-00002", bytes("pack"));
  expect_refusal(train("p-*"), {"p-*", "no file 'p-00001'"});
  put("p-00001", bytes("pack").substr(0, 1000));
  expect_refusal(train("p-*"), {"p-00001", "damaged"});
  expect_refusal({"import", "portraits", "--out", "new", "--shard-size", "0"}, {"--shard-size"});
  std::vector<std::string> full = {"import", "portraits", "--count", "100",          "--size",
                                   "16",     "--out",     "new",     "--shard-size", "70"};
  expect_refusal(full, {"new-00000", "disk full"}, 40000);
}

}  // namespace
}  // namespace facet
