// Pictures that the explorer refines: they share their noise, and commands make the same ones.
#include <gtest/gtest.h>

#include "facet/core/base64.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/data/pack.h"
#include "facet/model/editing.h"
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
  write_refiner(folder / "run/refiner.safetensors", Refiner(network, *model, Key(1)));
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
                Refiner({"custom", 16, {1, 2}, 1, 4}, *model, Key(1)));
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

TEST(RefinedExplorer, EditsOfAPhotographStartFromIt) {
  torch::set_num_threads(1);
  const TemporaryFolder folder;
  write_served_run(folder / "run");
  const auto model = small_model();
  write_refiner(folder / "run/refiner.safetensors",
                Refiner({"custom", 16, {1, 2}, 1, 4}, *model, Key(1)));
  ExplorerOptions options;
  options.run = folder / "run";
  options.refine = {true, 2};
  Explorer explorer(std::move(options));
  EXPECT_EQ(ask(explorer, get_request("model"))["refined"], true);
  const std::string photograph = encode_png(Image::filled(3, 16, 16, 90));
  const Json encoded = ask(explorer, post_request("encode", photograph, "image/png"));
  const int64_t other = 1 - encoded["factors"][0]["component"].get<int64_t>();
  const auto edited = [&](bool with_image) {
    Json body = {{"z", encoded["z"]},
                 {"log_variance", encoded["log_variance"]},
                 {"edits", {{{"changes", Json::object()}}, {{"changes", {{"glasses", other}}}}}}};
    if (with_image) body["image"] = encoded["input"];
    return ask(explorer, post_request("edit", body.dump()))["images"];
  };
  const Json of_photograph = edited(true), of_noise = edited(false);
  // An edit that changes nothing is the reconstruction, and both are what the library makes, as
  // `facet edit --refined` does: the new network is zero, so a picture is where it starts from.
  EXPECT_EQ(of_photograph[0]["png"], encoded["reconstruction"]);
  torch::NoGradGuard no_gradient;
  const torch::Tensor pixels = torch::full({1, 3, 16, 16}, 90, kUInt8);
  const Refinement refinement{read_refiner(folder / "run/refiner.safetensors", *model), 2};
  const Encoding encoding = encode_pixels(*model, pixels);
  const torch::Tensor z = edit(model->prior, encoding, {other, -1, -1}, true);
  const torch::Tensor expected =
      decode_pictures_of(*model, pixels, z, refinement, PictureNoise::each(Key(1).fold("edit"), 1));
  EXPECT_EQ(of_photograph[1]["png"], base64(encode_png(to_images(expected).front())));
  EXPECT_NE(of_photograph[0]["png"], of_photograph[1]["png"]);
  EXPECT_NE(of_photograph[1]["png"], of_noise[1]["png"]);
  ask(explorer,
      post_request("edit", R"({"z": [0,0,0,0,0,0,0], "edits": [{"changes": {}}], "image": "no"})"),
      400);
}

TEST(RefinedExplorer, ARunWithoutARefinerIsRefused) {
  const TemporaryFolder folder;
  write_served_run(folder / "run");
  EXPECT_TRUE(contains(message_of([&] { refined_pictures(folder / "run", "[]"); }),
                       "no refiner in the run"));
}

}  // namespace
}  // namespace facet
