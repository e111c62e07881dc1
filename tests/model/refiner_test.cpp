// The refiner: the flow against one that is known in closed form, what noise a picture gets, and
// its file.
#include "facet/model/refiner.h"

#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/model/fingerprint.h"
#include "facet/model/generate.h"
#include "tests/close.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

const UnetOptions small_network{"custom", 16, {1, 2}, 1, 4};

Vae refined_model(const std::string& likelihood = "gaussian", uint64_t seed = 1) {
  ModelOptions options;
  options.likelihood.kind = likelihood;
  options.network = {"custom", {8, 8}, {2, 2}, 3};
  options.factors = {{"only", 3, 4}};
  return {options, {1, 9, 8}, Key(seed)};
}

/// A refiner whose network is not zero.
std::shared_ptr<Refiner> random_refiner(const Vae& model) {
  torch::NoGradGuard no_gradient;
  auto refiner = std::make_shared<Refiner>(small_network, model, Key(4));
  uint64_t number = 0;
  for (const auto& [name, parameter] : refiner->parameters())
    parameter.add_(0.05 * standard_normal(Key(5).fold(number++), parameter.sizes(), kFloat32));
  return refiner;
}

torch::Tensor latents(int64_t count) { return standard_normal(Key(6), {count, 4}, kFloat32); }

TEST(Flow, HeunFollowsTheFlowBetweenNormalDistributions) {
  // For images ~ N(m, s^2) the velocity is E[image - noise | x], and the flow maps noise n to m + s
  // n.
  const double m = 0.4, s = 0.3;
  const Velocity velocity = [&](const torch::Tensor& x, double t) {
    const double variance = (1 - t) * (1 - t) + t * t * s * s;
    return m + (t * s * s - (1 - t)) / variance * (x - t * m);
  };
  const torch::Tensor noise = normal64(Key(1), {1000});
  const auto error = [&](int64_t steps) {
    return (follow_flow(velocity, noise, 0, steps) - (m + s * noise)).abs().max().item<double>();
  };
  EXPECT_LT(error(100), 1e-3);
  // Heun's error falls with the square of the number of steps, Euler's with the number itself.
  EXPECT_GT(error(20) / error(40), 3.0);
  // From the middle of the way on, with the x that belongs there.
  const double t = 0.5, scale = std::sqrt((1 - t) * (1 - t) + t * t * s * s);
  const torch::Tensor middle = t * m + scale * noise;
  EXPECT_TRUE(close(follow_flow(velocity, middle, t, 100), m + s * noise, 0, 1e-3));
}

TEST(Flow, ImagesAndNoiseAreTheEndsOfTheMixture) {
  const torch::Tensor images = torch::full({3, 1, 2, 2}, 0.5f),
                      noise = torch::full_like(images, -2);
  const torch::Tensor mixed = mix_noise(images, noise, torch::tensor({0.0f, 0.5f, 1.0f}));
  EXPECT_TRUE(mixed[0].equal(noise[0]));
  EXPECT_TRUE(mixed[2].equal(images[2]));
  EXPECT_TRUE(close(mixed[1], torch::full_like(mixed[1], -0.75f), 1e-6));
}

TEST(Refiner, MeansAreInTheUnitRangeForEveryLikelihood) {
  torch::NoGradGuard no_gradient;
  for (const std::string& likelihood : likelihood_names()) {
    const Vae model = refined_model(likelihood);
    EXPECT_TRUE(
        from_unit_range(unit_means(model, latents(5))).equal(decode_means(model, latents(5))))
        << likelihood;
  }
  const torch::Tensor pixels = torch::arange(256).to(kUInt8);
  EXPECT_TRUE(from_unit_range(to_unit_range(pixels)).equal(pixels));
}

TEST(Refiner, PicturesWithOneNumberShareTheirNoise) {
  const Vae model = refined_model();
  // A new network is zero: a picture is its noise.
  const Refinement untrained{std::make_shared<Refiner>(small_network, model, Key(4)), 2};
  const torch::Tensor row =
      decode_pictures(model, latents(4), untrained, PictureNoise::by_row(Key(7), 4, 2));
  EXPECT_TRUE(row[0].equal(row[1]));
  EXPECT_TRUE(row[2].equal(row[3]));
  EXPECT_FALSE(row[0].equal(row[2]));
  const torch::Tensor shared =
      decode_pictures(model, latents(3), untrained, PictureNoise::shared(Key(7), 3));
  EXPECT_TRUE(shared[2].equal(row[0]));
  const torch::Tensor other_key =
      decode_pictures(model, latents(1), untrained, PictureNoise::each(Key(8), 1));
  EXPECT_FALSE(other_key[0].equal(row[0]));
}

TEST(Refiner, APictureDependsOnItsMeanAndOnTheSteps) {
  const Vae model = refined_model();
  const auto refiner = random_refiner(model);
  const PictureNoise noise = PictureNoise::shared(Key(7), 3);
  const torch::Tensor pictures = decode_pictures(model, latents(3), {refiner, 4}, noise);
  EXPECT_FALSE(pictures[0].equal(pictures[1]));
  EXPECT_TRUE(pictures.equal(decode_pictures(model, latents(3), {refiner, 4}, noise)));
  EXPECT_FALSE(pictures.equal(decode_pictures(model, latents(3), {refiner, 1}, noise)));
  EXPECT_TRUE(decode_pictures(model, latents(3), {}, noise).equal(decode_means(model, latents(3))));
}

TEST(Refiner, GuidanceGoesBeyondWhatMeansChange) {
  torch::NoGradGuard no_gradient;
  const Vae model = refined_model();
  const auto refiner = random_refiner(model);
  const torch::Tensor x = standard_normal(Key(1), {3, 1, 9, 8}, kFloat32),
                      means = unit_means(model, latents(3)), times = torch::full({3}, 0.3f);
  const torch::Tensor with = refiner->velocity(x, means, times),
                      without = refiner->velocity(x, 0 * means, times);
  ASSERT_FALSE(close(with, without, 0, 1e-3));
  EXPECT_TRUE(refiner->guided_velocity(x, means, times, 1).equal(with));
  EXPECT_TRUE(close(refiner->guided_velocity(x, means, times, 2.5),
                    without + 2.5 * (with - without), 1e-5, 1e-5));
}

TEST(Refiner, TheStrengthOfGuidanceIsTheRefinersUnlessItIsChosen) {
  const Vae model = refined_model();
  const auto strength = [&](double own, double chosen) {
    return Refinement{std::make_shared<Refiner>(small_network, model, Key(4), own), 2, chosen}
        .strength();
  };
  EXPECT_EQ(strength(0, 0), 1);  // it has none
  EXPECT_EQ(strength(1.5, 0), 1.5);
  EXPECT_EQ(strength(1.5, 3), 3);
  EXPECT_EQ(refine_options({random_refiner(model), 8, 0}), " --refined");
  EXPECT_EQ(refine_options({random_refiner(model), 4, 2.5}),
            " --refined --refine-steps 4 --refine-guidance 2.5");
}

TEST(Refiner, SamplesAreMovedAndLatentVectorsOfImagesAreNot) {
  const Vae model = refined_model();
  const LatentSample samples = sample_latents(Key(6), model.prior, 3);
  // The velocity of a new network is zero.
  const Refinement untrained{std::make_shared<Refiner>(small_network, model, Key(4)), 2};
  EXPECT_TRUE(close(likely_latents(model.prior, samples, untrained), samples.z, 1e-6, 1e-6));
  const Refinement refinement{random_refiner(model), 2};
  const torch::Tensor moved = likely_latents(model.prior, samples, refinement);
  EXPECT_FALSE(close(moved, samples.z, 0, 1e-3));
  const PictureNoise noise = PictureNoise::each(Key(7), 3);
  EXPECT_TRUE(decode_pictures(model, samples, refinement, noise)
                  .equal(decode_pictures(model, moved, refinement, noise)));
}

TEST(Refiner, LatentVectorsAreGivenTheirCentresAndHowClearlyTheyAreOfValues) {
  FactorialMixture prior({{"free", 2, 2}, {"named", 3, 1, "colour", {"a", "b", "c"}}}, {});
  for (size_t i = 0; i < 2; ++i)
    prior.posteriors[i] =
        random_posterior(Key(11).fold(i), prior.factors[i].components, i == 0 ? 2 : 1);
  const LatentSample samples = sample_latents(Key(12), prior, 20);
  const GaussianRows rows = gaussian_rows(prior, samples.components);
  const torch::Tensor conditions = latent_conditions(prior, samples.z, rows);
  ASSERT_EQ(conditions.sizes(), (std::vector<int64_t>{20, latent_condition_count(prior)}));
  EXPECT_TRUE(conditions.narrow(1, 0, 3).equal(rows.centre.to(kFloat32)));
  const torch::Tensor g = e_step({prior.split(samples.z)[1]}, prior.posteriors[1], {});
  EXPECT_TRUE(close(torch::exp(10 * conditions.narrow(1, 3, 3).to(kFloat64)),
                    g.clamp_min(std::exp(-10.0)), 1e-4, 0));
}

TEST(Refiner, PhotographsKeepHalfOfThemselves) {
  const Vae model = refined_model();
  const Refinement untrained{std::make_shared<Refiner>(small_network, model, Key(4)), 3};
  const PictureNoise noise = PictureNoise::each(Key(7), 2);
  const torch::Tensor photographs = (uniform(Key(9), {2, 1, 9, 8}, kFloat32) * 255).to(kUInt8);
  const torch::Tensor z = encode_pixels(model, photographs).mean;
  // With a velocity of zero a picture is the mixture that the flow starts from.
  std::vector<torch::Tensor> draws;
  for (uint64_t n = 0; n < 2; ++n)
    draws.push_back(standard_normal(Key(7).fold("refine").fold(n), {1, 9, 8}, kFloat32));
  const auto mixed = [&](const torch::Tensor& images) {
    return from_unit_range(0.5 * images.clamp(-1, 1) + 0.5 * torch::stack(draws));
  };
  const torch::Tensor unit = to_unit_range(photographs);
  EXPECT_TRUE(
      close(decode_pictures_of(model, photographs, z, untrained, noise), mixed(unit), 0, 1));
  // A photograph changes as its mean does.
  torch::NoGradGuard no_gradient;
  const torch::Tensor change = unit_means(model, latents(2)) - unit_means(model, z);
  EXPECT_TRUE(close(decode_pictures_of(model, photographs, latents(2), untrained, noise),
                    mixed(unit + change), 0, 1));  // rounding
}

TEST(RefinerFile, RoundTripGivesTheSamePictures) {
  const TemporaryFolder folder;
  const Vae model = refined_model();
  const auto refiner = random_refiner(model);
  write_refiner(folder / "refiner", *refiner);
  const auto read = read_refiner(folder / "refiner", model);
  EXPECT_EQ(read->model(), fingerprint(model));
  EXPECT_EQ(read->guidance(), 0);
  const PictureNoise noise = PictureNoise::each(Key(7), 2);
  EXPECT_TRUE(decode_pictures(model, latents(2), {read}, noise)
                  .equal(decode_pictures(model, latents(2), {refiner}, noise)));
}

TEST(RefinerFile, KeepsGuidanceAndPatches) {
  const TemporaryFolder folder;
  ModelOptions options;
  options.network = {"custom", {8}, {2}, 3};
  options.factors = {{"only", 3, 4}};
  const Vae model(options, {1, 8, 8}, Key(1));
  UnetOptions network = small_network;
  network.patch = 4;
  write_refiner(folder / "refiner", Refiner(network, model, Key(4), 2.25));
  const auto read = read_refiner(folder / "refiner", model);
  EXPECT_EQ(read->guidance(), 2.25);
  EXPECT_EQ(read->network().patch, 4);
  TensorFile file = read_safetensors(folder / "refiner", "test");
  for (auto& [name, tensor] : file.tensors) tensor = tensor.clone();
  for (const char* damaged : {"0.5", "-1", "1e300", "NaN", "\"2\"", "[2]", "2.25x"}) {
    file.metadata["guidance"] = damaged;
    write_safetensors(folder / "refiner", file, "test");
    EXPECT_NE(message_of([&] { read_refiner(folder / "refiner", model); }).find("found guidance"),
              std::string::npos)
        << damaged;
  }
  file.metadata.erase("guidance");  // as in files of earlier versions
  write_safetensors(folder / "refiner", file, "test");
  EXPECT_EQ(read_refiner(folder / "refiner", model)->guidance(), 0);
}

TEST(RefinerFile, RefusesAnotherModelAndDamage) {
  const TemporaryFolder folder;
  const Vae model = refined_model();
  write_refiner(folder / "refiner", *random_refiner(model));
  const auto message = [&](const Vae& reader) {
    return message_of([&] { read_refiner(folder / "refiner", reader); });
  };
  EXPECT_NE(message(refined_model("gaussian", 2)).find("the refiner of another model"),
            std::string::npos);
  TensorFile file = read_safetensors(folder / "refiner", "test");
  for (auto& [name, tensor] : file.tensors) tensor = tensor.clone();
  const TensorFile good = file;
  file.metadata["format"] = "facet-model-1";
  write_safetensors(folder / "refiner", file, "test");
  EXPECT_NE(message(model).find("'facet-refiner-2'"), std::string::npos);
  file.metadata["format"] = "facet-refiner-1";
  write_safetensors(folder / "refiner", file, "test");
  EXPECT_NE(message(model).find("of an earlier version"), std::string::npos);
  file = good;
  file.tensors.erase("up0.0.norm1.weight");
  write_safetensors(folder / "refiner", file, "test");
  EXPECT_NE(message(model).find("up0.0.norm1.weight"), std::string::npos);
  file = good;
  file.tensors["output.bias"] = torch::full({1}, std::nanf(""));
  write_safetensors(folder / "refiner", file, "test");
  EXPECT_NE(message(model).find("NaN or infinity in 'output.bias'"), std::string::npos);
}

}  // namespace
}  // namespace facet
