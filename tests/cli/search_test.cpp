// `facet index` and `facet search` as a user types them.
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/data/pack.h"
#include "tests/cli/run_program.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

/// An index of 600 portraits, and pictures of some of them.
class Search : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    ASSERT_EQ(run_facet({"import", "portraits", "--count", "600", "--seed", "4", "--out",
                         path("p.safetensors")})
                  .status,
              0);
    const Pack pack = read_pack(path("p.safetensors"));
    fs::create_directories(path("pictures"));
    for (const int64_t n : {5, 6})
      write_png(path(fmt::format("pictures/{}.png", n)), to_images(pack.images.slice(n, 1))[0]);
    const ProgramResult made = index({"p.safetensors"}, {"--out", path("index")});
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_NE(made.out.find("600 images added, 600 in all"), std::string::npos) << made.out;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string path(const std::string& name) { return (*folder_ / name).string(); }
  static std::string model() {
    return (fs::path(FACET_SOURCE_FOLDER) / "models" / "portraits").string();
  }
  static ProgramResult index(const std::vector<std::string>& data,
                             const std::vector<std::string>& more) {
    std::vector<std::string> command = {"index", model()};
    for (const std::string& name : data) command.push_back(path(name));
    command.insert(command.end(), more.begin(), more.end());
    return run_facet(command);
  }
  static ProgramResult search(const std::vector<std::string>& more,
                              const std::string& where = "index") {
    std::vector<std::string> command = {"search", path(where), "--device", "cpu"};
    command.insert(command.end(), more.begin(), more.end());
    return run_facet(command);
  }
  static Json found(std::vector<std::string> more, const std::string& where = "index") {
    more.push_back("--json");
    const ProgramResult result = search(more, where);
    EXPECT_EQ(result.status, 0) << result.err;
    return Json::parse(result.out);
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(Search, AnImageOfTheIndexIsItsOwnNearest) {
  const Json json = found({"--like", path("pictures/5.png"), "--top", "4"});
  ASSERT_EQ(json["results"].size(), 4u);
  EXPECT_EQ(json["results"][0]["row"], 5);
  EXPECT_LT(json["results"][0]["distance"].get<double>(), 0.02);  // float16
  EXPECT_EQ(json["results"][0]["code"], json["code"]);
  EXPECT_EQ(json["results"][0]["source"], fs::absolute(path("p.safetensors")).string());
  double previous = 0;
  for (const Json& hit : json["results"]) {
    EXPECT_GE(hit["distance"].get<double>(), previous);
    previous = hit["distance"].get<double>();
    EXPECT_EQ(hit["labels"].size(), 2u) << "glasses and smile are given";
  }
  EXPECT_EQ(found({"--like", path("pictures/5.png"), "--top", "4", "--exact"})["results"],
            json["results"]);
}

TEST_F(Search, ValuesAreGivenOnesAndChangesMoveTheQuery) {
  const std::string picture = path("pictures/6.png");
  const std::string own = found({"--like", picture, "--top", "1"})["code"]["glasses"];
  const std::string other = own == "with" ? "without" : "with";
  const Json filtered = found({"--like", picture, "--where", "glasses=" + other});
  EXPECT_LT(filtered["matching"].get<int64_t>(), 600);
  for (const Json& hit : filtered["results"]) EXPECT_EQ(hit["labels"]["glasses"], other);
  const Json changed = found({"--like", picture, "--change", "glasses=" + other, "--top", "30"});
  EXPECT_EQ(changed["code"]["glasses"], other);
  const auto agree = [&](const Json& answer) {
    int count = 0;
    for (const Json& hit : answer["results"]) count += hit["labels"]["glasses"] == other;
    return count;
  };
  EXPECT_GT(agree(changed), agree(found({"--like", picture, "--top", "30"})))
      << "more of the nearest have what the query was given";
  // Fewer factors can only bring images nearer.
  const Json all = found({"--like", picture, "--top", "50"});
  const Json only = found({"--like", picture, "--factors", "glasses,smile", "--top", "50"});
  for (size_t i = 1; i < 50; ++i)
    EXPECT_LT(only["results"][i]["distance"].get<double>(),
              all["results"][i]["distance"].get<double>());
}

TEST_F(Search, AppendedImagesAreFoundAndTheSheetShowsThem) {
  fs::copy(path("index"), path("grown"), fs::copy_options::recursive);
  const ProgramResult added = index({"pictures"}, {"--append", path("grown")});
  ASSERT_EQ(added.status, 0) << added.err;
  EXPECT_NE(added.out.find("2 images added, 602 in all"), std::string::npos) << added.out;
  const Json json = found({"--like", path("pictures/6.png"), "--top", "2"}, "grown");
  std::set<std::string> names;
  for (const Json& hit : json["results"]) names.insert(hit["image"].get<std::string>());
  EXPECT_EQ(names, (std::set<std::string>{"6", "6.png"})) << "row of the pack, and the file";
  const ProgramResult drawn =
      search({"--like", path("pictures/6.png"), "--top", "8", "--out", path("s.png")}, "grown");
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  EXPECT_EQ(drawn.out.find("drawn by the model"), std::string::npos) << drawn.out;
  EXPECT_GT(read_image(path("s.png")).width, 7 * 32);
}

TEST_F(Search, WithoutItsPackTheSheetIsDrawnByTheModel) {
  ASSERT_EQ(
      run_facet({"import", "portraits", "--count", "60", "--out", path("gone.safetensors")}).status,
      0);
  ASSERT_EQ(index({"gone.safetensors"}, {"--out", path("alone")}).status, 0);
  fs::remove(path("gone.safetensors"));
  const ProgramResult result =
      search({"--like", path("pictures/5.png"), "--top", "3", "--out", path("s.png")}, "alone");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("3 of 3 pictures were not found"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace facet
