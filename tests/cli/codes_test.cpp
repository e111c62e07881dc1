// `facet encode` and `facet decode` as a user types them: every form of codes is written, read back
// and drawn.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/data/array_read.h"
#include "facet/data/csv.h"
#include "facet/data/image_file.h"
#include "facet/data/pack.h"
#include "facet/model/editing.h"
#include "facet/model/generate.h"
#include "facet/model/model_file.h"
#include "tests/cli/run_program.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

/// The portraits model, a pack of portraits and some of them as files.
class Codes : public testing::Test {
 protected:
  static constexpr int64_t kImages = 260;  // more than a batch

  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    ASSERT_EQ(
        run_facet({"import", "portraits", "--count", "260", "--out", path("p.safetensors")}).status,
        0);
    const Pack pack = read_pack(path("p.safetensors"));
    fs::create_directories(path("pictures/below"));
    for (const int64_t n : {0, 1, 2})
      write_png(path(n == 1 ? "pictures/below/b.png" : fmt::format("pictures/{}.png", n)),
                to_images(pack.images.slice(n, 1))[0]);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string path(const std::string& name) { return (*folder_ / name).string(); }
  static std::string model() {
    return (fs::path(FACET_SOURCE_FOLDER) / "models" / "portraits").string();
  }
  static ProgramResult encode(const std::vector<std::string>& data, const std::string& out,
                              const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {"encode", model()};
    for (const std::string& name : data) command.push_back(path(name));
    command.insert(command.end(), {"--out", path(out), "--device", "cpu"});
    command.insert(command.end(), more.begin(), more.end());
    return run_facet(command);
  }
  static ProgramResult decode(const std::vector<std::string>& arguments, const std::string& out) {
    std::vector<std::string> command = {"decode", model()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.insert(command.end(), {"--out", path(out), "--device", "cpu"});
    return run_facet(command);
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(Codes, AreThoseOfTheModelWithProbabilitiesAndLatents) {
  const ProgramResult result =
      encode({"p.safetensors"}, "all.npz", {"--probabilities", "--latents"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("the codes of 260 images, 8 factors in 20 bits"), std::string::npos)
      << result.out;
  const ArrayFile file = read_arrays(path("all.npz"), "test");
  const auto vae = read_model(fs::path(model()) / "model.safetensors");
  // A reference that sees all images at once.
  torch::NoGradGuard no_gradient;
  const Encoding encoding = encode_pixels(*vae, read_pack(path("p.safetensors")).images.all());
  const LikelyComponents likely = likely_components(vae->prior, encoding);
  // Convolutions of other batch sizes may round differently, and a code may then flip on a tie.
  EXPECT_LT(file.arrays.at("mean").sub(encoding.mean).abs().max().item<double>(), 1e-4);
  EXPECT_LT(file.arrays.at("variance").sub(encoding.variance()).abs().max().item<double>(), 1e-4);
  EXPECT_GT(file.arrays.at("codes").eq(likely.components).to(kFloat64).mean().item<double>(), 0.99);
  for (size_t i = 0; i < vae->prior.size(); ++i) {
    const torch::Tensor p = file.arrays.at("probabilities." + vae->prior.factors[i].name);
    EXPECT_LT((p.sum(1) - 1).abs().max().item<double>(), 1e-5);
    EXPECT_TRUE(torch::equal(p.argmax(1), file.arrays.at("codes").select(1, i).to(kInt64)));
  }
}

TEST_F(Codes, AreTheSameInEveryFormAndAreDrawnAlike) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> forms = {
      {"c.csv", {}},
      {"c.npy", {}},
      {"c.npz", {}},
      {"c.safetensors", {}},
      {"bits.csv", {"--packed"}},
      {"bits.npy", {"--packed"}},
      {"bits.npz", {"--packed"}},
      {"bits.safetensors", {"--packed"}}};
  std::string reference;
  for (const auto& [name, flags] : forms) {
    const ProgramResult encoded = encode({"p.safetensors"}, name, flags);
    ASSERT_EQ(encoded.status, 0) << encoded.err;
    std::vector<std::string> arguments = {path(name), "--limit", "9"};
    if (name == "bits.npy") arguments.push_back("--packed");
    const ProgramResult drawn = decode(arguments, "sheet.png");
    ASSERT_EQ(drawn.status, 0) << drawn.err;
    EXPECT_NE(drawn.out.find("the first 9 of 260 codes"), std::string::npos) << drawn.out;
    const std::string sheet = read_text(path("sheet.png"), "test");
    if (reference.empty()) reference = sheet;
    EXPECT_TRUE(sheet == reference) << name;
  }
  EXPECT_EQ(fs::file_size(path("bits.npy")), 128u + 3 * kImages);  // 20 bits in 3 bytes
  const Table table = read_csv(path("c.csv"));
  EXPECT_EQ(table.columns[0], "image");
  EXPECT_EQ(table.columns[1], "glasses");
  EXPECT_TRUE(table.rows[7][1] == "with" || table.rows[7][1] == "without") << table.rows[7][1];
}

TEST_F(Codes, OfFoldersAndFilesHaveNames) {
  ASSERT_EQ(encode({"pictures"}, "folder.safetensors").status, 0);
  ASSERT_EQ(encode({"pictures/2.png", "pictures/0.png"}, "files.csv").status, 0);
  const Table table = read_csv(path("files.csv"));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.columns[0], "file");
  EXPECT_EQ(table.rows[0][0], path("pictures/2.png"));
  ASSERT_EQ(encode({"pictures"}, "folder.npz").status, 0);
  EXPECT_EQ(read_arrays(path("folder.npz"), "test").texts.at("files")[2], "below/b.png");
  const ProgramResult drawn = decode({path("folder.safetensors")}, "drawn");
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  for (const char* name : {"0.png", "below/b.png", "2.png"})
    EXPECT_TRUE(fs::exists(fs::path(path("drawn")) / name)) << name;
}

TEST_F(Codes, OfTheCommandLineAreDrawn) {
  ASSERT_EQ(decode({"--code", "glasses=with,smile=smiling,first=3", "--code", "glasses=without"},
                   "two.png")
                .status,
            0);
  ASSERT_EQ(decode({"--code", "glasses=with", "--draw"}, "drawn.png").status, 0);
  ASSERT_EQ(decode({"--code", "glasses=with", "--draw", "--seed", "2"}, "other.png").status, 0);
  EXPECT_NE(read_text(path("drawn.png"), "test"), read_text(path("other.png"), "test"));
}

TEST_F(Codes, ADecodedImageShowsWhatItsCodeSays) {
  ASSERT_EQ(decode({"--code", "glasses=with,smile=not smiling"}, "one").status, 0);
  ASSERT_EQ(encode({"one/000000.png"}, "again.csv").status, 0);
  const Table table = read_csv(path("again.csv"));
  EXPECT_EQ(table.rows[0][1], "with");
  EXPECT_EQ(table.rows[0][2], "not smiling");
}

TEST_F(Codes, NamesThatLeadOutOfTheFolderAreReplaced) {
  write_text(path("bad.csv"),
             "file,glasses,smile,first,second,third,fourth,fifth,sixth\n"
             "../../escaped.png,with,smiling,0,1,2,3,4,5\n/escaped.png,with,smiling,0,1,2,3,4,5\n",
             "test");
  ASSERT_EQ(decode({path("bad.csv")}, "inside/deep").status, 0);
  EXPECT_TRUE(fs::exists(path("inside/deep/000000.png")));
  EXPECT_TRUE(fs::exists(path("inside/deep/000001.png")));
  EXPECT_FALSE(fs::exists(path("escaped.png")));
}

}  // namespace
}  // namespace facet
