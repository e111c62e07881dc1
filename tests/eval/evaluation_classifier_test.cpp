// The evaluation classifier learns visible properties, handles rare and missing values, and its
// agreement with samples falls when they do not show the intended value. The model is made by hand:
// two named factors set the brightness of the left and the right half of an image.
#include "facet/eval/evaluation_classifier.h"

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "tests/message_of.h"
#include "tests/parameters.h"

namespace facet {
namespace {

constexpr int64_t kSide = 16;
const std::vector<Property> kLeftAndRight = {{"left", {"dark", "bright"}},
                                             {"right", {"bright", "dark"}}};

ClassifierOptions quick_options() {
  ClassifierOptions options;
  options.steps = 60;
  options.batch_size = 32;
  options.samples = 200;
  return options;
}

/// Noisy images whose halves are dark or bright according to their labels.
ImageSet lit_images(const Key& key, int64_t count) {
  ImageSet set;
  set.labels = uniform(key.fold("labels"), {count, 2}, kFloat32).gt(0.5).to(kInt64);
  const torch::Tensor noise =
      standard_normal(key.fold("noise"), {count, 1, kSide, kSide}, kFloat32);
  const auto light = [&](const torch::Tensor& bright) {
    return (60 + 130 * bright.to(kFloat32)).view({count, 1, 1, 1});
  };
  torch::Tensor greys = noise * 12;
  greys.narrow(3, 0, kSide / 2) += light(set.labels.select(1, 0));
  greys.narrow(3, kSide / 2, kSide / 2) += light(1 - set.labels.select(1, 1));
  set.pixels = greys.clamp(0, 255).to(kUInt8);
  return set;
}

/// Two components with a stddev of about one half; -3 decodes to dark and 3 to bright.
FactorPosterior two_components(double first, double second) {
  const torch::Tensor m = torch::tensor({first, second}, kFloat64).unsqueeze(1);
  return FactorPosterior::from_mean(
      {m, torch::full_like(m, 100), torch::full_like(m, 100), torch::full_like(m, 25)},
      torch::full({2}, 100, kFloat64));
}

/// A half is bright if the latent of its factor is positive; the encoder's output is constant.
Vae lit_model() {
  ModelOptions options;
  options.network = {.preset = "custom", .channels = {2}, .strides = {2}, .kernel = 3};
  options.factors = {{"free", 2, 1},
                     {"left", 2, 1, "left", {"dark", "bright"}},
                     {"right", 2, 1, "right", {"dark", "bright"}}};
  Vae model(options, {1, kSide, kSide}, Key(1));
  torch::NoGradGuard no_gradient;
  for (const auto& [name, parameter] : model.parameters()) parameter.zero_();
  torch::Tensor stem =
      parameter_of(model, "decoder.stem.weight").view({2, kSide / 2, kSide / 2, 3});
  stem[0].narrow(1, 0, kSide / 4).select(2, 1).fill_(1);
  stem[1].narrow(1, kSide / 4, kSide / 4).select(2, 2).fill_(1);
  parameter_of(model, "decoder.convolution0.weight").fill_(1);
  parameter_of(model, "decoder.convolution0.bias").fill_(-1.5);
  for (FactorPosterior& posterior : model.prior.posteriors) posterior = two_components(-3, 3);
  return model;
}

EvaluationClassifier trained_classifier(const Vae& model) {
  return train_classifier(model.prior, lit_images(Key(2), 300), kLeftAndRight, quick_options());
}

TEST(EvaluationClassifier, LearnsVisibleProperties) {
  EvaluationClassifier classifier = trained_classifier(lit_model());
  EXPECT_EQ(classifier.training_labels(), 300);
  const ImageSet fresh = lit_images(Key(3), 400);
  const torch::Tensor labels = named_labels(lit_model().prior, fresh, kLeftAndRight);
  for (const torch::Tensor& predicted :
       {classifier.classify(fresh.pixels), classifier.classify_natural(fresh.pixels)}) {
    const torch::Tensor right = predicted.eq(labels).to(kFloat64).mean(0);
    EXPECT_GT(right.min().item<double>(), 0.99) << right;
  }
}

TEST(EvaluationClassifier, AgreesWithAModelThatShowsTheIntendedValues) {
  Vae model = lit_model();
  EvaluationClassifier classifier = trained_classifier(model);
  const ImageSet real = lit_images(Key(3), 400);
  const ClassifierReport report =
      classify_samples(classifier, model, real, kLeftAndRight, quick_options());
  ASSERT_EQ(report.factors.size(), 2u) << "the free factor is left out";
  EXPECT_EQ(report.samples, 200);
  EXPECT_EQ(report.training_labels, 300);
  EXPECT_GT(report.joint_agreement, 0.97);
  const torch::Tensor dark = named_labels(model.prior, real, kLeftAndRight).eq(0).to(kFloat64);
  for (size_t f = 0; f < 2; ++f) {
    const ClassifierReport::Factor& factor = report.factors[f];
    EXPECT_EQ(factor.name, f == 0 ? "left" : "right");
    EXPECT_EQ(factor.values, (std::vector<std::string>{"dark", "bright"}));
    EXPECT_GT(factor.own_accuracy, 0.99);
    EXPECT_GT(factor.means.agreement, 0.97);
    for (size_t v = 0; v < 2; ++v) {
      EXPECT_EQ(factor.means.confusion[v][0] + factor.means.confusion[v][1], 200);
      EXPECT_NEAR(factor.means.agreement_by_value[v], factor.means.confusion[v][v] / 200.0, 1e-12);
    }
    // The encoder gives 0 for every image, which decodes to dark.
    EXPECT_NEAR(factor.reconstructed_accuracy,
                dark.select(1, static_cast<int64_t>(f)).mean().item<double>(), 1e-12);
  }
}

TEST(EvaluationClassifier, LeavesOutComponentsWithoutAValue) {
  Vae model = lit_model();
  const torch::Tensor m = torch::tensor({-3.0, 3.0, 0.0}, kFloat64).unsqueeze(1);
  model.prior.factors[1].components = 3;
  model.prior.posteriors[1] = FactorPosterior::from_mean(
      {m, torch::full_like(m, 100), torch::full_like(m, 100), torch::full_like(m, 25)},
      torch::full({3}, 100, kFloat64));
  EvaluationClassifier classifier = trained_classifier(model);
  const ClassifierReport report =
      classify_samples(classifier, model, lit_images(Key(3), 100), kLeftAndRight, quick_options());
  EXPECT_EQ(report.factors[0].values, (std::vector<std::string>{"dark", "bright"}));
  EXPECT_GT(report.factors[0].means.agreement, 0.97);
  EXPECT_GT(report.joint_agreement, 0.97);
}

TEST(EvaluationClassifier, DisagreesWithAModelWhoseComponentsAreSwapped) {
  Vae model = lit_model();
  EvaluationClassifier classifier = trained_classifier(model);
  model.prior.posteriors[1] = two_components(3, -3);
  const ClassifierReport report =
      classify_samples(classifier, model, lit_images(Key(3), 100), kLeftAndRight, quick_options());
  EXPECT_LT(report.factors[0].means.agreement, 0.03);
  EXPECT_GT(report.factors[1].means.agreement, 0.97) << "the other factor is unchanged";
  EXPECT_LT(report.joint_agreement, 0.03) << "one factor is wrong in every sample";
  EXPECT_GT(report.factors[0].own_accuracy, 0.99) << "the classifier itself is accurate";
}

TEST(EvaluationClassifier, AgreementIsAtChanceIfComponentsAreTheSame) {
  Vae model = lit_model();
  EvaluationClassifier classifier = trained_classifier(model);
  model.prior.posteriors[1] = two_components(3, 3);
  const ClassifierReport report =
      classify_samples(classifier, model, lit_images(Key(3), 100), kLeftAndRight, quick_options());
  EXPECT_NEAR(report.factors[0].means.agreement, 0.5, 0.03);
  EXPECT_LT(report.factors[0].means.agreement_by_value[0], 0.05) << "it is always bright";
  EXPECT_GT(report.factors[0].means.agreement_by_value[1], 0.95);
  // 800 samples, half of them intended to be bright: a standard error of 0.018.
  EXPECT_NEAR(report.joint_agreement, 0.5, 0.09);
}

TEST(EvaluationClassifier, IsAFunctionOfItsSeed) {
  const ImageSet noise{uniform(Key(5), {200, 1, kSide, kSide}, kFloat32).mul(255).to(kUInt8), {}};
  const Vae model = lit_model();
  const auto predictions = [&](uint64_t seed) {
    ClassifierOptions options = quick_options();
    options.steps = 10;
    options.seed = seed;
    return train_classifier(model.prior, lit_images(Key(2), 100), kLeftAndRight, options)
        .classify(noise.pixels);
  };
  const torch::Tensor one = predictions(1);
  EXPECT_TRUE(one.equal(predictions(1)));
  EXPECT_FALSE(one.equal(predictions(2)));
}

/// Grey images: value 1, which one in twelve has, is a little brighter than value 0.
ImageSet rare_images(const Key& key, int64_t count) {
  ImageSet set;
  set.labels = torch::arange(count).remainder(12).eq(0).to(kInt64).unsqueeze(1);
  const torch::Tensor grey =
      100 + 50 * set.labels + 30 * standard_normal(key, {count, 1}, kFloat32);
  set.pixels = grey.clamp(0, 255).to(kUInt8).view({count, 1, 1, 1}).expand({-1, 1, 16, 16});
  return set;
}

TEST(EvaluationClassifier, OnlyNaturalClassificationUsesFrequencies) {
  const ImageSet training = rare_images(Key(6), 1200), fresh = rare_images(Key(7), 3600);
  ClassifierOptions options = quick_options();
  options.steps = 150;
  EvaluationClassifier classifier({1, 16, 16}, {2}, Key(8));
  classifier.train(training, training.labels, options);
  const torch::Tensor even = classifier.classify(fresh.pixels),
                      natural = classifier.classify_natural(fresh.pixels);
  const auto accuracy = [&](const torch::Tensor& predicted) {
    return predicted.eq(fresh.labels).to(kFloat64).mean().item<double>();
  };
  const torch::Tensor rare = fresh.labels.eq(1);
  const auto recall = [&](const torch::Tensor& predicted) {
    return predicted.masked_select(rare).to(kFloat64).mean().item<double>();
  };
  // For equal frequencies the best threshold is 125, which 80 % of either value are on the right
  // kSide of.
  EXPECT_NEAR(recall(even), 0.8, 0.1);
  EXPECT_LT(recall(natural), recall(even) - 0.2);
  EXPECT_GT(accuracy(natural), accuracy(even) + 0.05);
}

TEST(EvaluationClassifier, ValuesWithoutATrainingLabelAreNeverPredicted) {
  const ImageSet images = lit_images(Key(2), 60);
  EvaluationClassifier classifier({1, kSide, kSide}, {3, 2}, Key(8));
  torch::Tensor labels = images.labels.clone();
  labels.select(1, 0).mul_(2);        // 0 and 2 of three values
  labels.select(1, 1).fill_(1);       // one of two values
  labels.narrow(0, 0, 20).fill_(-1);  // some images without a label
  classifier.train(images, labels, quick_options());
  EXPECT_EQ(classifier.training_labels(), 40);
  for (const torch::Tensor& predicted :
       {classifier.classify(images.pixels), classifier.classify_natural(images.pixels)}) {
    EXPECT_FALSE(predicted.select(1, 0).eq(1).any().item<bool>());
    EXPECT_TRUE(predicted.select(1, 0).eq(2).any().item<bool>());
    EXPECT_TRUE(predicted.select(1, 1).eq(1).all().item<bool>());
  }
}

TEST(EvaluationClassifier, WorksForEveryImageShape) {
  for (const auto& shape : {ImageShape{1, 4, 4}, ImageShape{1, 16, 16}, ImageShape{3, 28, 28},
                            ImageShape{1, 64, 40}, ImageShape{3, 64, 64}}) {
    ImageSet images;
    images.labels = torch::arange(24).remainder(2).unsqueeze(1);
    images.pixels = (images.labels.view({24, 1, 1, 1}) * 200)
                        .to(kUInt8)
                        .expand({24, shape.channels, shape.height, shape.width});
    EvaluationClassifier classifier(shape, {2}, Key(9));
    ClassifierOptions options = quick_options();
    options.steps = 25;
    classifier.train(images, images.labels, options);
    EXPECT_TRUE(classifier.classify(images.pixels).equal(images.labels))
        << shape.channels << " x " << shape.height << " x " << shape.width;
  }
}

std::string error_of(const FactorialMixture& prior, const ImageSet& images,
                     const std::vector<Property>& known) {
  return message_of([&] { named_labels(prior, images, known); });
}

TEST(EvaluationClassifier, NeedsNamedFactorsWithLabels) {
  const Vae model = lit_model();
  ImageSet images = lit_images(Key(2), 10);
  const FactorialMixture free({{"free", 2, 1}}, {});
  EXPECT_NE(error_of(free, images, kLeftAndRight).find("without a named factor"),
            std::string::npos);
  const std::vector<Property> renamed = {{"up", {"dark", "bright"}}, kLeftAndRight[1]};
  EXPECT_NE(error_of(model.prior, images, renamed).find("'left'"), std::string::npos);
  images.labels.select(1, 1).fill_(-1);
  EXPECT_NE(error_of(model.prior, images, kLeftAndRight).find("'right'"), std::string::npos);
  EXPECT_EQ(error_of(model.prior, lit_images(Key(2), 10), kLeftAndRight), "no error");
}

TEST(EvaluationClassifier, JsonHasTheDocumentedKeys) {
  ClassifierReport report;
  report.factors = {{"glasses",
                     "glasses",
                     0.99,
                     0.98,
                     {"without", "with"},
                     {0.75, {1, 0.5}, {{4, 0}, {2, 2}}},
                     std::nullopt}};
  report.joint_agreement = 0.75;
  report.samples = 4;
  report.training_labels = 96;
  const Json json = Json::parse(to_json(report).dump());
  EXPECT_EQ(json["training_labels"], 96);
  EXPECT_EQ(json["samples"], 4);
  EXPECT_EQ(json["joint_agreement"], 0.75);
  const Json& factor = json["factors"][0];
  EXPECT_EQ(factor["name"], "glasses");
  EXPECT_EQ(factor["property"], "glasses");
  EXPECT_EQ(factor["own_accuracy"], 0.99);
  EXPECT_EQ(factor["reconstructed_accuracy"], 0.98);
  EXPECT_EQ(factor["agreement"], 0.75);
  EXPECT_EQ(factor["values"][1], "with");
  EXPECT_EQ(factor["agreement_by_value"][1], 0.5);
  EXPECT_EQ(factor["confusion"][1][0], 2);
  EXPECT_FALSE(json.contains("refined_joint_agreement"));
  EXPECT_FALSE(factor.contains("refined"));

  report.factors[0].refined = {0.5, {1, 0}, {{4, 0}, {4, 0}}};
  report.refined_joint_agreement = 0.5;
  const Json refined = Json::parse(to_json(report).dump());
  EXPECT_EQ(refined["refined_joint_agreement"], 0.5);
  EXPECT_EQ(refined["factors"][0]["agreement"], 0.75);
  EXPECT_EQ(refined["factors"][0]["refined"]["agreement"], 0.5);
  EXPECT_EQ(refined["factors"][0]["refined"]["confusion"][1][0], 4);
}

}  // namespace
}  // namespace facet
