// Pictures that the explorer refines: they share their noise, and commands make the same ones.
#include <gtest/gtest.h>

#include "facet/core/base64.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/data/pack.h"
#include "facet/model/fingerprint.h"
#include "facet/model/generate.h"
#include "facet/model/refiner.h"
#include "tests/contains.h"
#include "tests/message_of.h"
#include "tests/serve/served_run.h"

namespace facet {
namespace {

Json refined_pictures(const std::filesystem::path& run, const std::string& states) {
  ExplorerOptions options;
  options.run = run;
  options.refine = {true, 2};
  Explorer explorer(std::move(options));
  return ask(explorer, post_request("generate", R"({"states": )" + states + "}"))["images"];
}

TEST(RefinedExplorer, StatesOfOneSeedShareTheirNoise) {
  torch::set_num_threads(1);
  const TemporaryFolder folder;
  write_served_run(folder / "run");
  const auto model = small_model();
  // A new network is zero: a picture is its noise.
  const UnetOptions network{"custom", 16, {1, 2}, 1, 4};
  write_refiner(folder / "run/refiner.safetensors",
                Refiner(network, model->shape(), fingerprint(*model), Key(1)));
  const Json images = refined_pictures(folder / "run", R"([{"seed": 5}, {"seed": 6},
      {"seed": 5, "factors": {"glasses": {"component": "with"}}}])");
  EXPECT_EQ(images[0]["png"], images[2]["png"]);
  EXPECT_NE(images[0]["png"], images[1]["png"]);
  EXPECT_TRUE(contains(images[0]["command"].get<std::string>(), " --refined --refine-steps 2 "));
}

TEST(RefinedExplorer, ReconstructsAPhotographRefinedToo) {
  torch::set_num_threads(1);
  const TemporaryFolder folder;
  write_served_run(folder / "run");
  const auto model = small_model();
  write_refiner(folder / "run/refiner.safetensors",
                Refiner({"custom", 16, {1, 2}, 1, 4}, model->shape(), fingerprint(*model), Key(1)));
  const ApiRequest request =
      post_request("reconstruct", encode_png(Image::filled(3, 16, 16, 90)), "image/png");
  const auto reconstructed = [&](bool refined) {
    ExplorerOptions options;
    options.run = folder / "run";
    options.refine = {refined, 2};
    Explorer explorer(std::move(options));
    return ask(explorer, request);
  };
  const Json plain = reconstructed(false), sharp = reconstructed(true);
  EXPECT_FALSE(plain.contains("refined"));
  EXPECT_EQ(sharp["mean"], plain["mean"]);
  // The same picture as the library makes, from the photograph with the noise of this seed.
  torch::NoGradGuard no_gradient;
  const torch::Tensor pixels = torch::full({1, 3, 16, 16}, 90, kUInt8);
  const Refinement refinement{read_refiner(folder / "run/refiner.safetensors", *model), 2};
  const torch::Tensor expected =
      decode_pictures_of(*model, pixels, encode_pixels(*model, pixels).mean, refinement,
                         PictureNoise::each(Key(1).fold("reconstruct"), 1));
  EXPECT_EQ(sharp["refined"], base64(encode_png(to_images(expected).front())));
}

TEST(RefinedExplorer, ARunWithoutARefinerIsRefused) {
  const TemporaryFolder folder;
  write_served_run(folder / "run");
  EXPECT_TRUE(contains(message_of([&] { refined_pictures(folder / "run", "[]"); }),
                       "no refiner in the run"));
}

}  // namespace
}  // namespace facet
