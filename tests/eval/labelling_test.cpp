// What a model says of single images: values and their probabilities, how typical they are, which
// labels it doubts, and which images it would ask about.
#include "facet/eval/labelling.h"

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/data/import.h"
#include "facet/eval/bounds.h"
#include "tests/close.h"
#include "tests/message_of.h"

namespace facet {
namespace {

/// Two values and three components: the third has no value.
Vae named_model() {
  ModelOptions options;
  options.network = {"custom", {4, 6}, {2, 2}, 3};
  options.factors = {{"glasses", 3, 2, "glasses", {"without", "with"}}, {"free", 3, 2, "", {}}};
  return {options, {3, 16, 16}, Key(1)};
}

ImageSet portraits(const Pack& pack) {
  return select_images(pack, {Split::train, Split::valid, Split::test}, {}, false, torch::kCPU);
}

TEST(ReadImages, HasTheProbabilitiesOfValuesAndTheGivenLabels) {
  Vae model = named_model();
  const Pack pack = make_portraits({300, 16, 1});  // more than one batch
  const ImageReadings readings = read_images(model, portraits(pack), pack.properties, 1);
  ASSERT_EQ(readings.named.size(), 1u);
  const NamedValues& glasses = readings.named[0];
  EXPECT_EQ(glasses.property, "glasses");
  EXPECT_EQ(glasses.log_probabilities.sizes(), (std::vector<int64_t>{300, 2}));
  EXPECT_TRUE(
      torch::allclose(glasses.log_probabilities.exp().sum(1), torch::ones({300}, kFloat64)));
  EXPECT_TRUE(torch::equal(glasses.given, pack.labels.select(1, 0).to(kInt64)));
  EXPECT_EQ(readings.bounds.sizes(), (std::vector<int64_t>{300}));
  EXPECT_EQ(readings.codes.sizes(), (std::vector<int64_t>{300, 2}));
}

TEST(ReadImages, WithMirrorImagesProbabilitiesAreTheMeanOfBothViews) {
  Vae model = named_model();
  model.prior.posteriors[0] = random_posterior(Key(2), 3, 2);
  const Pack pack = make_portraits({30, 16, 1});
  Pack mirrored = pack;
  mirrored.images = pack.images.slice(0, 30).flip(3).contiguous();
  const auto probabilities = [&](const Pack& of, bool mirror) {
    return read_images(model, portraits(of), of.properties, 1, mirror)
        .named[0]
        .log_probabilities.exp();
  };
  const torch::Tensor one = probabilities(pack, false), other = probabilities(mirrored, false);
  ASSERT_GT((one - other).abs().max().item<double>(), 1e-3) << "otherwise this test says nothing";
  EXPECT_TRUE(torch::allclose(probabilities(pack, true), (one + other) / 2, 1e-6));
  // The evaluation counts the same values.
  ImageSet images = portraits(pack);
  const torch::Tensor right =
      (one + other).argmax(1).eq(pack.labels.select(1, 0)).to(kFloat64).mean();
  EvaluationOptions options;
  options.mirror = true;
  const Evaluation evaluation = evaluate(model, images, pack.properties, "train", options);
  EXPECT_DOUBLE_EQ(evaluation.factors[0].mirrored_accuracy.value(), right.item<double>());
  EXPECT_FALSE(evaluation.factors[1].mirrored_accuracy) << "a free factor";
}

TEST(ReadImages, AValueThatTheModelNeverSawIsRefusedByName) {
  Vae model = named_model();
  Pack pack = make_portraits({20, 16, 1});
  pack.properties[0].values = {"without", "monocle"};
  const std::string message =
      message_of([&] { read_images(model, portraits(pack), pack.properties, 1); });
  EXPECT_NE(message.find("'monocle'"), std::string::npos) << message;
  EXPECT_NE(message.find("without, with"), std::string::npos) << message;
  pack.properties[0].name = "spectacles";
  const ImageReadings unknown = read_images(model, portraits(pack), pack.properties, 1);
  EXPECT_TRUE(unknown.named[0].given.lt(0).all().item<bool>());
}

TEST(ReadImages, AModelWithoutNamedFactorsIsRefused) {
  ModelOptions options;
  options.network = {"custom", {4, 6}, {2, 2}, 3};
  options.factors = {{"free", 3, 2, "", {}}};
  Vae model(options, {3, 16, 16}, Key(1));
  const Pack pack = make_portraits({20, 16, 1});
  const std::string message =
      message_of([&] { read_images(model, portraits(pack), pack.properties, 1); });
  EXPECT_NE(message.find("no named factor"), std::string::npos) << message;
}

TEST(Typicality, IsTheShareOfReferenceImagesWithALowerBound) {
  const torch::Tensor reference = torch::tensor({-10.0, -30.0, -20.0, -40.0}, kFloat64);
  const torch::Tensor bounds = torch::tensor({-5.0, -25.0, -100.0}, kFloat64);
  EXPECT_TRUE(
      torch::equal(typicality(bounds, reference), torch::tensor({1.0, 0.5, 0.0}, kFloat64)));
}

/// Readings of images with given labels and codes; probabilities are given to the functions.
ImageReadings readings_with(const std::vector<int64_t>& given, const torch::Tensor& codes) {
  ImageReadings readings;
  readings.named.push_back({"glasses", {"without", "with"}, {}, torch::tensor(given, kInt64)});
  readings.bounds = torch::zeros({static_cast<int64_t>(given.size())}, kFloat64);
  readings.codes = codes;
  return readings;
}

torch::Tensor probabilities_of_with(const std::vector<double>& with) {
  const torch::Tensor second = torch::tensor(with, kFloat64);
  return torch::stack({1.0 - second, second}, 1);
}

TEST(DoubtedLabels, AreThoseLessProbableThanAnotherTheWorstFirst) {
  const ImageReadings readings = readings_with({0, 0, 1, -1, 1}, torch::zeros({5, 1}, kFloat64));
  const auto doubted =
      doubted_labels(readings, {probabilities_of_with({0.1, 0.7, 0.05, 0.99, 0.8})});
  ASSERT_EQ(doubted.size(), 2u);
  EXPECT_EQ(doubted[0].image, 2);
  EXPECT_EQ(doubted[0].predicted, 0);
  EXPECT_NEAR(doubted[0].probability_of_given, 0.05, 1e-12);
  EXPECT_EQ(doubted[1].image, 1);
  EXPECT_NEAR(doubted[1].probability_of_predicted, 0.7, 1e-12);
}

TEST(ImagesToAsk, AreUnsureUnlabelledAndDifferent) {
  // Images 0 to 9 are alike and most unsure; 10 is unsure and different; 11 has a label; the rest
  // are sure.
  std::vector<int64_t> given(40, -1);
  given[11] = 0;
  std::vector<double> with(40, 0.999);
  torch::Tensor codes = torch::zeros({40, 2}, kFloat64);
  for (size_t n = 0; n < 10; ++n) with[n] = 0.5 + 0.001 * static_cast<double>(n);
  with[10] = 0.6;
  with[11] = 0.5;
  codes[10].fill_(5.0);
  const std::vector<int64_t> asked =
      images_to_ask(readings_with(given, codes), {probabilities_of_with(with)}, 2);
  EXPECT_EQ(asked, (std::vector<int64_t>{0, 10}));
  EXPECT_EQ(images_to_ask(readings_with(given, codes), {probabilities_of_with(with)}, 100).size(),
            39u)
      << "never an image whose label is given";
}

}  // namespace
}  // namespace facet
