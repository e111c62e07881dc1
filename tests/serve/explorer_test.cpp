// What the explorer answers, without a socket: pictures that follow the switches, the same bytes as
// the command line's, and one clear sentence for every request that cannot be.
#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/model/generate.h"
#include "tests/cli/run_program.h"
#include "tests/message_of.h"
#include "tests/serve/served_run.h"

namespace facet {
namespace {

class ExplorerTest : public testing::Test {
 protected:
  void SetUp() override {
    torch::set_num_threads(1);
    write_served_run(folder_ / "run");
    explorer_ = make();
  }
  std::unique_ptr<Explorer> make(std::optional<Pack> pack = {}) {
    ExplorerOptions options;
    options.run = folder_ / "run";
    options.pack = std::move(pack);
    return std::make_unique<Explorer>(std::move(options));
  }
  Json generate(const std::string& states) {
    return ask(*explorer_, post_request("generate", R"({"states": )" + states + "}"))["images"];
  }
  /// The message of a refusal, which must have this status.
  std::string refusal(const ApiRequest& request, int status = 400) {
    const Json json = ask(*explorer_, request, status);
    return json["error"]["message"].get<std::string>() + " at " +
           json["error"].value("where", std::string("nowhere"));
  }
  void expect_refusal(const std::string& path, const std::string& body, const std::string& part) {
    const std::string message = refusal(post_request(path, body));
    EXPECT_NE(message.find(part), std::string::npos) << body << " gave: " << message;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Explorer> explorer_;
};

std::vector<double> block(const Json& image, size_t first, size_t count) {
  const auto z = image["z"].get<std::vector<double>>();
  return {z.begin() + static_cast<long>(first), z.begin() + static_cast<long>(first + count)};
}

TEST_F(ExplorerTest, SummaryNamesFactorsComponentsAndWhichAreDead) {
  const Json summary = ask(*explorer_, get_request("model"));
  EXPECT_TRUE(summary["ready"].get<bool>());
  EXPECT_EQ(summary["run"], "run");
  EXPECT_EQ(summary["model"]["latents"], 7);
  const Json& factors = summary["model"]["factors"];
  ASSERT_EQ(factors.size(), 3u);
  EXPECT_EQ(factors[0]["components"][1]["name"], "with");
  EXPECT_EQ(factors[2]["first"], 4);
  EXPECT_FALSE(factors[2]["named"].get<bool>());
  EXPECT_FALSE(factors[2]["components"][3]["living"].get<bool>());
  EXPECT_TRUE(factors[2]["components"][0]["living"].get<bool>());
  double sum = 0;
  for (const Json& component : factors[2]["components"]) sum += component["weight"].get<double>();
  EXPECT_NEAR(sum, 1.0, 1e-12);
}

TEST_F(ExplorerTest, RedrawingAFactorChangesItsBlockAlone) {
  const Json images = generate(R"([{"seed": 5}, {"seed": 5, "factors": {"smile": {"seed": 6}}}])");
  EXPECT_EQ(block(images[0], 0, 2), block(images[1], 0, 2));
  EXPECT_NE(block(images[0], 2, 2), block(images[1], 2, 2));
  EXPECT_EQ(block(images[0], 4, 3), block(images[1], 4, 3));
}

TEST_F(ExplorerTest, HoldingAComponentKeepsTheOthersAndSaysSo) {
  const Json images =
      generate(R"([{"seed": 5}, {"seed": 5, "factors": {"glasses": {"component": "with"}}},
                   {"seed": 5, "factors": {"glasses": {"component": 1}}}])");
  EXPECT_EQ(images[1]["components"]["glasses"], 1);
  EXPECT_EQ(images[1]["png"], images[2]["png"]);
  EXPECT_EQ(block(images[0], 2, 5), block(images[1], 2, 5));
}

TEST_F(ExplorerTest, TemperatureScalesTheDistanceToTheMean) {
  const Json images = generate(
      R"([{"seed": 3, "temperature": 0, "factors": {"hair": {"component": 2}}},
          {"seed": 3, "temperature": 1, "factors": {"hair": {"component": 2}}},
          {"seed": 3, "temperature": 0.5, "factors": {"hair": {"component": 2}}}])");
  const torch::Tensor mean = small_model()->prior.posteriors[2].mean().m[2];
  for (size_t d = 0; d < 3; ++d) {
    const double cold = block(images[0], 4, 3)[d], warm = block(images[1], 4, 3)[d];
    // The file stores mean parameters, the prior natural ones: there and back rounds.
    EXPECT_NEAR(cold, mean[static_cast<long>(d)].item<double>(), 1e-12);
    EXPECT_NEAR(block(images[2], 4, 3)[d], 0.5 * (cold + warm), 1e-12);
  }
}

TEST_F(ExplorerTest, OffsetsMoveOneDimensionByThePredictiveScale) {
  const Json images = generate(
      R"([{"temperature": 0, "factors": {"hair": {"component": 1}}},
          {"temperature": 0, "factors": {"hair": {"component": 1, "offsets": [{"dimension": 2, "stddevs": -1.5}]}}}])");
  const Json list =
      ask(*explorer_, get_request("directions", {{"factor", "hair"}, {"component", "1"}}));
  double stddev = 0;
  for (const Json& direction : list["directions"])
    if (direction["dimension"] == 2) stddev = direction["stddev"];
  EXPECT_GT(stddev, 0);
  EXPECT_NEAR(block(images[1], 6, 1)[0] - block(images[0], 6, 1)[0], -1.5 * stddev, 1e-12);
  EXPECT_EQ(block(images[0], 0, 6), block(images[1], 0, 6));
}

TEST_F(ExplorerTest, DirectionsComeByTheirEffect) {
  const Json list =
      ask(*explorer_, get_request("directions", {{"factor", "hair"}, {"component", "0"}}));
  ASSERT_EQ(list["directions"].size(), 3u);
  for (size_t i = 0; i + 1 < 3; ++i)
    EXPECT_GE(list["directions"][i]["effect"], list["directions"][i + 1]["effect"]);
  EXPECT_GT(list["directions"][0]["effect"], 0);
}

TEST_F(ExplorerTest, TheCommandMakesTheSamePicture) {
  const std::vector<std::string> states = {
      R"({"seed": 7})",
      R"({"seed": 9007199254740991, "temperature": 0.8, "factors": {
          "glasses": {"component": "with"}, "smile": {"component": 0, "temperature": 0},
          "hair": {"component": "draw", "seed": 12, "offsets": [{"dimension": 2, "stddevs": 1.3}]}}})",
      R"({"seed": 0, "temperature": 0.1, "factors": {"hair": {"component": 4, "offsets":
          [{"dimension": 0, "stddevs": -4}, {"dimension": 1, "stddevs": 0.1}]}}})"};
  for (const std::string& state : states) {
    const std::string body = R"({"format": "png", "scale": 3, "states": [)" + state + "]}";
    const ApiResponse response = explorer_->handle(post_request("generate", body));
    ASSERT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(response.type, "image/png");
    std::string command = response.headers.at("X-Facet-Command");
    ASSERT_EQ(command.rfind("facet ", 0), 0u) << command;
    command = std::string(FACET_PROGRAM) + command.substr(5);
    const ProgramResult result =
        RunningProgram({"sh", "-c", command}, {.folder = folder_.path()}).wait();
    ASSERT_EQ(result.status, 0) << command << result.err;
    EXPECT_EQ(read_text(folder_ / "sample.png", "test"), response.body) << command;
  }
}

TEST_F(ExplorerTest, APictureInCompanyIsTheSameAsAlone) {
  std::string states;
  for (int seed = 0; seed < 40; ++seed)
    states += (seed == 0 ? "{\"seed\": " : ", {\"seed\": ") + std::to_string(seed) + "}";
  const Json together = generate("[" + states + "]");
  std::vector<std::thread> threads;
  std::vector<Json> alone(40);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int seed = t; seed < 40; seed += 4)
        alone[static_cast<size_t>(seed)] =
            generate("[{\"seed\": " + std::to_string(seed) + "}]")[0];
    });
  for (std::thread& thread : threads) thread.join();
  for (size_t seed = 0; seed < 40; ++seed) EXPECT_EQ(alone[seed], together[seed]) << seed;
}

TEST_F(ExplorerTest, DecodingWhatWasGeneratedGivesItAgain) {
  const Json image = generate(R"([{"seed": 4, "temperature": 0.3}])")[0];
  const Json decoded =
      ask(*explorer_, post_request("decode", Json{{"z", {image["z"]}}}.dump()))["images"][0];
  EXPECT_EQ(decoded["png"], image["png"]);
  EXPECT_EQ(decoded["z"], image["z"]);
}

TEST_F(ExplorerTest, EncodesAnImageOfAnyShapeAndSaysWhatWasDone) {
  const Image exact = Image::filled(3, 16, 16, 90);
  Json code = ask(*explorer_, post_request("encode", encode_png(exact), "image/png"));
  EXPECT_TRUE(code["notice"].is_null());
  ASSERT_EQ(code["factors"].size(), 3u);
  for (const Json& factor : code["factors"]) {
    double sum = 0;
    for (const Json& probability : factor["probabilities"]) sum += probability.get<double>();
    EXPECT_NEAR(sum, 1, 1e-9);
    EXPECT_EQ(factor["probabilities"][factor["component"].get<size_t>()], factor["probability"]);
  }
  const Json same = ask(
      *explorer_, post_request("encode", encode_png(Image::filled(1, 20, 40, 90)), "image/png"));
  EXPECT_NE(same["notice"].get<std::string>().find("40x20 grey"), std::string::npos);
  EXPECT_EQ(same["z"], code["z"]);  // all pixels are 90 either way
}

TEST_F(ExplorerTest, EditingMovesTheChosenFactorAlone) {
  const Json image = generate(R"([{"seed": 4}])")[0];
  const std::string body =
      Json{{"z", image["z"]},
           {"edits",
            {{{"changes", Json::object()}}, {{"changes", {{"hair", 2}}}, {"keep_offset", false}}}}}
          .dump();
  const Json edited = ask(*explorer_, post_request("edit", body))["images"];
  EXPECT_EQ(edited[0]["png"], image["png"]);
  EXPECT_EQ(block(edited[1], 0, 4), block(image, 0, 4));
  EXPECT_EQ(edited[1]["components"]["hair"], 2);
}

TEST_F(ExplorerTest, ReconstructionsShowMeanStddevAndASample) {
  const Json shown =
      ask(*explorer_,
          post_request("reconstruct", encode_png(Image::filled(3, 16, 16, 90)), "image/png"));
  EXPECT_NE(shown["mean"], shown["sample"]);
  EXPECT_NE(shown.at("stddev"), shown["mean"]);
  EXPECT_GE(shown["largest_stddev"], shown["smallest_stddev"]);
}

TEST_F(ExplorerTest, TheSeedDecidesTheSampleOfAReconstruction) {
  const auto reconstruct = [&](const char* seed) {
    ApiRequest request =
        post_request("reconstruct", encode_png(Image::filled(3, 16, 16, 90)), "image/png");
    request.query = {{"seed", seed}};
    return ask(*explorer_, request);
  };
  const Json shown = reconstruct("3"), again = reconstruct("3"), other = reconstruct("4");
  EXPECT_EQ(shown, again);
  EXPECT_NE(shown["sample"], other["sample"]);
  EXPECT_EQ(shown["mean"], other["mean"]);
}

TEST_F(ExplorerTest, TheAtlasHoldsEveryComponentAndIsKept) {
  ApiRequest request = get_request("atlas", {{"factor", "hair"}, {"scale", "2"}});
  const ApiResponse response = explorer_->handle(request);
  ASSERT_EQ(response.status, 200);
  const Image sprite = decode_image(response.body, "atlas");
  EXPECT_EQ(sprite.width, 5 * 32);
  EXPECT_EQ(sprite.height, 32);
  request.if_none_match = response.headers.at("ETag");
  EXPECT_EQ(explorer_->handle(request).status, 304);
}

TEST_F(ExplorerTest, FindsTheImageItself) {
  Pack pack;
  pack.images = torch::randint(0, 256, {50, 3, 16, 16}, Key(3).generator(), kInt64).to(kUInt8);
  pack.labels = torch::full({50, 1}, -1, kInt32);
  pack.labels[17][0] = 1;
  pack.split = torch::zeros({50}, kUInt8);
  pack.properties = {{"hat", {"no", "yes"}}};
  explorer_ = make(pack);
  const Image image = to_images(pack.images.slice(17, 1))[0];
  const Json code = ask(*explorer_, post_request("encode", encode_png(image), "image/png"));
  ASSERT_TRUE(wait_until(
      [&] { return ask(*explorer_, get_request("model"))["nearest"]["ready"].get<bool>(); }));
  const Json found = ask(
      *explorer_,
      post_request("nearest",
                   Json{{"z", code["z"]}, {"count", 3}, {"factors", {"hair"}}}.dump()))["images"];
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0]["index"], 17);
  EXPECT_EQ(found[0]["labels"]["hat"], "yes");
  EXPECT_NEAR(found[0]["distance"].get<double>(), 0, 1e-4);  // float32 on both sides
  EXPECT_LE(found[1]["distance"], found[2]["distance"]);
}

TEST_F(ExplorerTest, AMapHasLatentVectorsInStddevsOfThePack) {
  Pack pack;
  pack.images = torch::randint(0, 256, {50, 3, 16, 16}, Key(3).generator(), kInt64).to(kUInt8);
  pack.labels = torch::zeros({50, 0}, kInt32);
  pack.split = torch::zeros({50}, kUInt8);
  explorer_ = make(pack);
  ASSERT_TRUE(wait_until(
      [&] { return ask(*explorer_, get_request("model"))["nearest"]["ready"].get<bool>(); }));
  const Json map = ask(*explorer_, get_request("map", {{"factor", "hair"}, {"images", "10"}}));
  ASSERT_EQ(map["components"].size(), 5u);
  ASSERT_EQ(map["images"].size(), 10u);
  // By the library: what all images are encoded as, and the posterior means, over the same stddev.
  torch::NoGradGuard no_gradient;
  const auto model = small_model();
  const torch::Tensor latents =
      encode_pixels(*model, pack.images.slice(0, 50)).mean.narrow(1, 4, 3);
  const torch::Tensor stddev = latents.std(0, /*unbiased=*/false);
  for (int64_t n = 0; n < 10; ++n) {
    EXPECT_EQ(map["images"][n]["index"], 5 * n);
    for (int64_t d = 0; d < 3; ++d)
      EXPECT_NEAR(map["images"][n]["z"][d].get<double>(),
                  (latents[5 * n][d] / stddev[d]).item<double>(), 1e-4);  // kept as float32
  }
  const torch::Tensor means = model->prior.posteriors[2].mean().m / stddev;
  for (int64_t k = 0; k < 5; ++k)
    for (int64_t d = 0; d < 3; ++d)
      EXPECT_NEAR(map["components"][k][d].get<double>(), means[k][d].item<double>(),
                  1e-4 * (1 + std::abs(means[k][d].item<double>())));
  EXPECT_NE(refusal(get_request("map", {{"factor", "hat"}})).find("at factor"), std::string::npos);
  EXPECT_NE(refusal(get_request("map", {{"factor", "hair"}, {"images", "513"}})).find("512"),
            std::string::npos);
}

TEST_F(ExplorerTest, ANewNameDoesNotEncodeTheImagesAgain) {
  Pack pack;
  pack.images = torch::randint(0, 256, {50, 3, 16, 16}, Key(3).generator(), kInt64).to(kUInt8);
  pack.labels = torch::zeros({50, 0}, kInt32);
  pack.split = torch::zeros({50}, kUInt8);
  ExplorerOptions options;
  options.run = folder_ / "run";
  options.pack = pack;
  options.write = true;
  explorer_ = std::make_unique<Explorer>(std::move(options));
  ASSERT_TRUE(wait_until(
      [&] { return ask(*explorer_, get_request("model"))["nearest"]["ready"].get<bool>(); }));
  ask(*explorer_, post_request("names", R"({"factor": "hair", "name": "haircut"})"));
  const Json summary = ask(*explorer_, get_request("model"));
  EXPECT_EQ(summary["model"]["factors"][2]["name"], "haircut");
  EXPECT_TRUE(summary["nearest"]["ready"].get<bool>());  // at once: nothing was dropped
  EXPECT_EQ(ask(*explorer_, get_request("images", {{"factor", "haircut"}}))["total"], 50);
}

TEST_F(ExplorerTest, RefusesAPackOfAnotherShape) {
  Pack pack;
  pack.images = torch::zeros({1, 1, 16, 16}, kUInt8);
  pack.labels = torch::zeros({1, 0}, kInt32);
  pack.split = torch::zeros({1}, kUInt8);
  EXPECT_NE(message_of([&] { make(pack); }).find("16x16 grey"), std::string::npos);
}

TEST_F(ExplorerTest, WithoutAPackThereIsNothingToSearch) {
  EXPECT_NE(refusal(post_request("nearest", "{}"), 404).find("--pack"), std::string::npos);
}

TEST_F(ExplorerTest, RefusesWhatCannotBeWithItsPlace) {
  expect_refusal("generate", "", "no JSON");
  expect_refusal("generate", "[1]", "an object");
  expect_refusal("generate", "{}", "at states");
  expect_refusal("generate", R"({"states": []})", "1 to 64");
  expect_refusal("generate", R"({"states": [{"sed": 1}]})", "did you mean 'seed'");
  expect_refusal("generate", R"({"states": [{"seed": -1}]})", "at states[0].seed");
  expect_refusal("generate", R"({"states": [{"seed": 1e300}]})", "a whole number");
  expect_refusal("generate", R"({"states": [{"seed": 1e999}]})", "no JSON");
  expect_refusal("generate", R"({"states": [{"seed": 18446744073709551615}]})", "a whole number");
  expect_refusal("generate", R"({"states": [{"seed": "1"}]})", "the text '1'");
  expect_refusal("generate", R"({"states": [{"temperature": 2.1}]})", "from 0 to 2");
  expect_refusal("generate", R"({"states": [{"temperature": NaN}]})", "no JSON");
  expect_refusal("generate", R"({"states": [{"factors": {"glases": {}}}]})",
                 "did you mean 'glasses'");
  expect_refusal("generate", R"({"states": [{"factors": {"glasses": {"component": "wiht"}}}]})",
                 "did you mean 'with'");
  expect_refusal("generate", R"({"states": [{"factors": {"glasses": {"component": 2}}}]})",
                 "at states[0].factors.glasses.component");
  expect_refusal("generate", R"({"states": [{"factors": {"hair": {"component": null}}}]})", "null");
  expect_refusal(
      "generate",
      R"({"states": [{"factors": {"hair": {"offsets": [{"dimension": 3, "stddevs": 1}]}}}]})",
      "0 to 2");
  expect_refusal(
      "generate",
      R"({"states": [{"factors": {"hair": {"offsets": [{"dimension": 1, "stddevs": 5}]}}}]})",
      "from -4 to 4");
  expect_refusal("generate", R"({"states": [{}, {}], "format": "png"})", "more than one");
  expect_refusal("generate", R"({"states": [{}], "scale": 17})", "1 to 16");
  expect_refusal("decode", R"({"z": [[1, 2]]})", "a list of 7");
  expect_refusal("decode", R"({"z": [[1, 2, 3, 4, 5, 6, 1001]]})", "from -1000 to 1000");
  expect_refusal("edit", R"({"z": [0,0,0,0,0,0,0], "edits": [{"changes": {"hair": 9}}]})",
                 "0 to 4");
  expect_refusal("generate", std::string(100000, '['), "nested too deeply");
  expect_refusal("generate", "{\"states\": [{\"\xff\": 1}]}", "no JSON");
}

TEST_F(ExplorerTest, RefusesOtherMethodsTypesAndAddresses) {
  EXPECT_EQ(explorer_->handle(post_request("model", "")).status, 405);
  EXPECT_EQ(explorer_->handle(get_request("generate")).status, 405);
  EXPECT_EQ(explorer_->handle(post_request("generate", "{}", "text/plain")).status, 415);
  EXPECT_EQ(explorer_->handle(post_request("encode", "x", "image/gif")).status, 415);
  EXPECT_EQ(explorer_->handle(get_request("../model")).status, 404);
  EXPECT_EQ(explorer_->handle(get_request("model", {{"x", "1"}})).status, 400);
  EXPECT_EQ(explorer_->handle(get_request("metrics", {{"after", "-1"}})).status, 400);
  EXPECT_EQ(explorer_->handle(get_request("metrics", {{"after", "1"}, {"after", "2"}})).status,
            400);
  EXPECT_EQ(explorer_->handle(get_request("atlas", {{"factor", "nose"}})).status, 400);
}

TEST_F(ExplorerTest, RefusesImagesThatAreNone) {
  const std::string png = encode_png(Image::filled(3, 16, 16, 90));
  for (const std::string& bytes : {std::string(), std::string("GIF89a"), png.substr(0, 40)})
    EXPECT_EQ(explorer_->handle(post_request("encode", bytes, "image/png")).status, 400);
  // 5000 x 5000 in a few kilobytes: more pixels than are unpacked for anyone.
  const std::string bomb = encode_png(Image::filled(1, 5000, 5000, 0));
  EXPECT_NE(refusal(post_request("encode", bomb, "image/png")).find("at most"), std::string::npos);
}

TEST_F(ExplorerTest, ServesANewModelOnceItsFileHasChanged) {
  const std::string before = ask(*explorer_, get_request("model"))["model"]["version"];
  const Json old = generate(R"([{"seed": 1}])")[0];
  write_model(folder_ / "run" / "model.safetensors", *small_model(5));
  explorer_->refresh();
  EXPECT_NE(ask(*explorer_, get_request("model"))["model"]["version"], before);
  EXPECT_NE(generate(R"([{"seed": 1}])")[0]["png"], old["png"]);
}

TEST_F(ExplorerTest, GoesOnWithTheOldModelWhereTheNewOneIsDamaged) {
  const Json old = generate(R"([{"seed": 1}])")[0];
  write_text(folder_ / "run" / "model.safetensors", "damaged", "test");
  explorer_->refresh();
  EXPECT_EQ(generate(R"([{"seed": 1}])")[0]["png"], old["png"]);
}

TEST(ExplorerWithoutModel, WaitsForItWhileMetricsWork) {
  TemporaryFolder folder;
  write_served_run(folder / "run", /*with_model=*/false);
  ExplorerOptions options;
  options.run = folder / "run";
  Explorer explorer(std::move(options));
  const Json summary = ask(explorer, get_request("model"));
  EXPECT_FALSE(summary["ready"].get<bool>());
  EXPECT_TRUE(summary["model"].is_null());
  EXPECT_EQ(summary["training"]["state"], "waiting");
  const ApiResponse busy = explorer.handle(post_request("generate", R"({"states": [{}]})"));
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(busy.headers.count("Retry-After"), 1u);
  EXPECT_EQ(ask(explorer, get_request("metrics"))["lines"], 0);
}

TEST(ExplorerWithoutRun, IsAnError) {
  TemporaryFolder folder;
  ExplorerOptions options;
  options.run = folder.path();
  EXPECT_NE(message_of([&] { Explorer explorer(options); }).find("config.json"), std::string::npos);
}

}  // namespace
}  // namespace facet
