// The models that come with the repository: every one can be read and drawn from, and the one whose
// data is built in is worth what its README says.
#include <algorithm>

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/core/options.h"
#include "facet/data/image_file.h"
#include "tests/cli/run_program.h"

namespace facet {
namespace {

std::filesystem::path models() { return std::filesystem::path(FACET_SOURCE_FOLDER) / "models"; }

TEST(PublishedModels, EachIsARunThatCanBeDrawnFrom) {
  const TemporaryFolder folder;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(models())) {
    if (!entry.is_directory()) continue;
    ++count;
    const ProgramResult info = run_facet({"info", entry.path().string()});
    EXPECT_EQ(info.status, 0) << info.err;
    EXPECT_NE(info.out.find("nothing to resume"), std::string::npos) << info.out;
    const ProgramResult check = run_facet({"check", entry.path().string()});
    EXPECT_EQ(check.status, 0) << check.err;
    EXPECT_EQ(check.out.find("without checksums"), std::string::npos) << check.out;
    const std::filesystem::path picture =
        folder.path() / (entry.path().filename().string() + ".png");
    const ProgramResult sample = run_facet({"sample", entry.path().string(), "--count", "4",
                                            "--out", picture.string(), "--device", "cpu"});
    ASSERT_EQ(sample.status, 0) << sample.err;
    const Image image = read_image(picture);
    const auto [darkest, lightest] = std::minmax_element(image.pixels.begin(), image.pixels.end());
    EXPECT_GT(*lightest - *darkest, 100) << entry.path() << " draws something";
  }
  EXPECT_EQ(count, 4);
}

TEST(PublishedModels, ThePortraitsModelKnowsGlassesAndSmiles) {
  const ProgramResult result =
      run_facet({"eval", (models() / "portraits").string(), "--json", "--device", "cpu"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json evaluation = Json::parse(result.out);
  EXPECT_NEAR(evaluation["elbo"].get<double>(), 2631.3, 5.0);
  for (const size_t named : {0, 1}) {
    const Json& factor = evaluation["factors"][named];
    const std::string property = named == 0 ? "glasses" : "smile";
    ASSERT_EQ(factor["name"], property);
    EXPECT_GT(factor["properties"][property]["accuracy"].get<double>(), 0.99) << property;
  }
}

/// The mean difference of horizontal neighbours in samples of a model.
double sharpness(const std::string& model, std::vector<std::string> options) {
  const TemporaryFolder folder;
  const std::string picture = (folder / "samples.png").string();
  options.insert(options.begin(), {"sample", (models() / model).string(), "--count", "4", "--out",
                                   picture, "--device", "cpu"});
  const ProgramResult result = run_facet(options);
  EXPECT_EQ(result.status, 0) << result.err;
  const Image image = read_image(picture);
  double sum = 0;
  for (size_t i = 1; i < image.pixels.size(); ++i)
    sum += std::abs(static_cast<int>(image.pixels[i]) - static_cast<int>(image.pixels[i - 1]));
  return sum / static_cast<double>(image.pixels.size());
}

TEST(PublishedModels, RefinersMakePicturesSharp) {
  for (const char* model : {"portraits", "faces"})
    EXPECT_GT(sharpness(model, {"--refined"}), 1.1 * sharpness(model, {})) << model;
}

}  // namespace
}  // namespace facet
