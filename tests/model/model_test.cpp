// The model: likelihoods against naive formulas, the bound's gradient against finite differences,
// ancestral sampling, and model files, of which damaged ones are refused.
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/pack.h"
#include "facet/model/model_file.h"
#include "facet/model/objective.h"
#include "facet/prior/sampling.h"
#include "tests/close.h"
#include "tests/message_of.h"
#include "tests/parameters.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

LikelihoodOptions likelihood_options(const std::string& kind) {
  LikelihoodOptions options;
  options.kind = kind;
  return options;
}

ModelOptions tiny_options(const std::string& likelihood = "bernoulli") {
  ModelOptions options;
  options.likelihood = likelihood_options(likelihood);
  options.network = {.preset = "custom", .channels = {3, 4}, .strides = {1, 2}, .kernel = 3};
  options.factors = {{"hair", 4, 2}, {"smile", 3, 3}};
  return options;
}

constexpr ImageShape kTinyShape{1, 7, 6};

/// A tiny model whose prior looks like a trained one.
std::shared_ptr<Vae> tiny_model(const Key& key, const std::string& likelihood = "bernoulli") {
  auto model = std::make_shared<Vae>(tiny_options(likelihood), kTinyShape, key.fold("networks"));
  for (size_t i = 0; i < model->prior.size(); ++i) {
    const FactorOptions& factor = model->prior.factors[i];
    model->prior.posteriors[i] =
        random_posterior(key.fold("prior").fold(i), factor.components, factor.dimensions);
  }
  return model;
}

torch::Tensor tiny_images(const Key& key, int64_t count) {
  return uniform(key, {count, 1, 7, 6}, kFloat64);
}

TEST(Likelihood, BernoulliDensityIsTheNaiveFormula) {
  const auto likelihood = make_likelihood(likelihood_options("bernoulli"));
  const torch::Tensor x = uniform(Key(1), {3, 1, 2, 4}, kFloat64).gt(0.5).to(kFloat64);
  const torch::Tensor logits = 3 * normal64(Key(2), {3, 1, 2, 4});
  const torch::Tensor p = 1 / (1 + torch::exp(-logits));
  const torch::Tensor naive = (x * torch::log(p) + (1 - x) * torch::log(1 - p)).flatten(1).sum(1);
  EXPECT_TRUE(close(likelihood->log_density(x, logits), naive, 1e-12));
  // A large correct logit costs nothing, a large wrong one costs its size; neither overflows.
  const torch::Tensor one = torch::ones({1, 1, 1, 1}, kFloat64);
  EXPECT_NEAR(likelihood->log_density(one, 1000 * one).item<double>(), 0, 1e-12);
  EXPECT_NEAR(likelihood->log_density(one, -1000 * one).item<double>(), -1000, 1e-9);
}

TEST(Likelihood, GaussianDensityIsTheNaiveFormula) {
  const LikelihoodOptions options = likelihood_options("gaussian");
  const auto likelihood = make_likelihood(options);
  const torch::Tensor x = normal64(Key(3), {3, 3, 2, 2}), output = normal64(Key(4), {3, 6, 2, 2});
  const auto output_at = output.accessor<double, 4>(), x_at = x.accessor<double, 4>();
  for (int64_t n = 0; n < 3; ++n) {
    double sum = 0;
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t i = 0; i < 2; ++i)
        for (int64_t j = 0; j < 2; ++j) {
          const double range = options.maximum_stddev - options.minimum_stddev;
          const double sd =
              options.minimum_stddev + range / (1 + std::exp(-output_at[n][c + 3][i][j]));
          const double offset = (x_at[n][c][i][j] - output_at[n][c][i][j]) / sd;
          sum += -0.5 * offset * offset - std::log(sd * std::sqrt(2 * std::numbers::pi));
        }
    EXPECT_NEAR(likelihood->log_density(x, output)[n].item<double>(), sum, 1e-10 * std::abs(sum));
  }
}

TEST(Likelihood, DrawsHaveTheStatedMeanAndStddev) {
  constexpr int64_t draws = 40'000;
  for (const std::string& kind : likelihood_names()) {
    const auto likelihood = make_likelihood(likelihood_options(kind));
    const torch::Tensor output = normal64(Key(5), {1, 2 * likelihood->numbers_per_value(), 2, 2});
    const torch::Tensor many = output.expand({draws, -1, -1, -1});
    const torch::Tensor x = likelihood->sample(Key(6), many);
    const torch::Tensor sd = likelihood->stddev(output)[0];
    // Five standard errors: sigma / sqrt(n) of a mean, at most sigma / sqrt(n) of a stddev. (For
    // probabilities near 0 or 1 the Bernoulli's would be larger; these logits are moderate.)
    EXPECT_TRUE(close((x.mean(0) - likelihood->mean(output)[0]) / sd, torch::zeros({2, 2, 2}), 0,
                      5 / std::sqrt(draws)));
    EXPECT_TRUE(close(x.std(0) / sd, torch::ones({2, 2, 2}), 0, 5 / std::sqrt(draws)));
  }
}

TEST(Likelihood, PixelsSurviveTheRoundTrip) {
  const torch::Tensor pixels = torch::arange(256, kInt64).to(kUInt8).view({1, 1, 16, 16});
  for (const std::string& kind : likelihood_names()) {
    const auto likelihood = make_likelihood(likelihood_options(kind));
    const torch::Tensor x = likelihood->from_pixels(pixels);
    EXPECT_TRUE(torch::equal(likelihood->to_pixels(x), pixels)) << kind;
    EXPECT_NEAR(x.min().item<double>(), kind == "gaussian" ? -1 : 0, 1e-6);
    EXPECT_NEAR(x.max().item<double>(), 1, 1e-6);
    // Values outside the range are clamped, not wrapped.
    EXPECT_EQ(likelihood->to_pixels(torch::full({1}, 3.0)).item<int64_t>(), 255);
    EXPECT_EQ(likelihood->to_pixels(torch::full({1}, -3.0)).item<int64_t>(), 0);
  }
}

TEST(Likelihood, ImpossibleOptionsAreRefused) {
  LikelihoodOptions options = likelihood_options("gaussian");
  options.minimum_stddev = 0.5;
  EXPECT_THROW(make_likelihood(options), Error);
  EXPECT_NE(message_of([] {
              make_likelihood(likelihood_options("gausian"));
            }).find("did you mean 'gaussian'"),
            std::string::npos);
}

TEST(Bound, IsTheReconstructionMinusBothDivergences) {
  const auto model = tiny_model(Key(7));
  to_float64(*model);
  const torch::Tensor x = tiny_images(Key(8), 5);
  const BoundTerms terms = bound_terms(*model, x, {}, Key(9));
  EXPECT_TRUE(close(terms.bound(),
                    terms.reconstruction - terms.factors[0].kl_z - terms.factors[1].kl_z -
                        terms.factors[0].kl_r - terms.factors[1].kl_r,
                    1e-14, 1e-12));
  // The reconstruction is that of a draw from q(z|x), not of its mean.
  const torch::Tensor z = terms.encoding.sample(Key(9));
  EXPECT_TRUE(
      torch::equal(terms.reconstruction, model->likelihood().log_density(x, model->decode(z))));
  EXPECT_FALSE(torch::equal(z, terms.encoding.mean));
}

TEST(Bound, ReconstructsTheImageNotTheEncodersInput) {
  const auto model = tiny_model(Key(7));
  to_float64(*model);
  const torch::Tensor x = tiny_images(Key(8), 5), seen = x + 0.2 * normal64(Key(10), x.sizes());
  const BoundTerms terms =
      bound_terms(*model, std::vector<FactorParameters>(2), x, seen, {}, Key(9));
  EXPECT_TRUE(torch::equal(terms.encoding.mean, model->encode(seen).mean));
  EXPECT_TRUE(torch::equal(
      terms.reconstruction,
      model->likelihood().log_density(x, model->decode(terms.encoding.sample(Key(9))))));
}

TEST(Bound, OfFloat32NetworksHasAFloat64Prior) {
  const auto model = tiny_model(Key(7));
  const BoundTerms terms = bound_terms(*model, tiny_images(Key(8), 5).to(kFloat32), {}, Key(9));
  EXPECT_EQ(terms.reconstruction.scalar_type(), kFloat32);
  EXPECT_EQ(terms.bound().scalar_type(), kFloat64);
}

/// Checks the gradient of `value` against central differences, for some elements of every
/// parameter.
void check_gradient(Vae& model, const std::function<torch::Tensor()>& value) {
  {
    // Biases start at zero, where ReLUs have no derivative.
    torch::NoGradGuard no_gradient;
    uint64_t number = 0;
    for (auto& [name, parameter] : model.parameters())
      parameter.add_(0.1 * normal64(Key(40).fold(number++), parameter.sizes()));
  }
  value().backward();
  torch::NoGradGuard no_gradient;
  std::mt19937 random(3);
  for (const auto& [name, parameter] : model.parameters()) {
    const torch::Tensor gradient = parameter.grad();
    ASSERT_TRUE(gradient.defined()) << name;
    EXPECT_GT(gradient.abs().max().item<double>(), 0) << name;
    double* numbers = parameter.data_ptr<double>();
    for (int trial = 0; trial < 6; ++trial) {
      const auto index = static_cast<int64_t>(random() % static_cast<uint64_t>(gradient.numel()));
      const double kept = numbers[index], step = 1e-5;
      numbers[index] = kept + step;
      const double above = value().item<double>();
      numbers[index] = kept - step;
      const double below = value().item<double>();
      numbers[index] = kept;
      // The rounding error of a value near 100 gives 1e-14 * 100 / 1e-5 = 1e-7, the third
      // derivative 1e-10.
      const double expected = gradient.flatten()[index].item<double>();
      EXPECT_NEAR((above - below) / (2 * step), expected, 1e-6 + 1e-6 * std::abs(expected))
          << name << " " << index;
    }
  }
}

TEST(Bound, GradientAgreesWithFiniteDifferences) {
  for (const std::string& kind : likelihood_names()) {
    SCOPED_TRACE(kind);
    const auto model = tiny_model(Key(10), kind);
    to_float64(*model);
    const torch::Tensor x = tiny_images(Key(11), 3);
    // Every evaluation recomputes gamma, while the gradient treats gamma as constant: at the
    // optimum both are the same.
    check_gradient(*model, [&] { return bound_terms(*model, x, {}, Key(12)).bound().sum(); });
  }
}

TEST(Bound, GradientWithLabelsAgreesWithFiniteDifferences) {
  const auto model = tiny_model(Key(13));
  to_float64(*model);
  const torch::Tensor x = tiny_images(Key(14), 3);
  const torch::Tensor labels = torch::tensor({2, -1, -1, 0, 1, 2}, kInt64).view({3, 2});
  check_gradient(*model, [&] {
    const BoundTerms terms = bound_terms(*model, x, labels, Key(15));
    return terms.bound().sum() + 3 * terms.factors[0].label_log_likelihood.sum() +
           3 * terms.factors[1].label_log_likelihood.sum();
  });
}

TEST(StandardNormalKl, IsTheFormulaSummedOverDimensions) {
  const Encoding encoding{normal64(Key(16), {4, 3}), normal64(Key(17), {4, 3})};
  torch::Tensor expected = torch::zeros({4}, kFloat64);
  for (int64_t d = 0; d < 3; ++d) {
    const torch::Tensor mean = encoding.mean.select(1, d);
    const torch::Tensor sd = torch::exp(0.5 * encoding.log_variance.select(1, d));
    expected += (sd.square() + mean.square()) / 2 - torch::log(sd) - 0.5;
  }
  EXPECT_TRUE(close(standard_normal_kl(encoding), expected, 1e-13));
}

TEST(Encoding, SamplesHaveItsMomentsAndDependOnTheKeyAlone) {
  const Encoding encoding{torch::full({50'000, 1}, 2.0, kFloat64),
                          torch::full({50'000, 1}, std::log(0.09), kFloat64)};
  const torch::Tensor z = encoding.sample(Key(18));
  EXPECT_NEAR(z.mean().item<double>(), 2.0, 5 * 0.3 / std::sqrt(50'000.0));
  EXPECT_NEAR(z.std().item<double>(), 0.3, 5 * 0.3 / std::sqrt(100'000.0));
  EXPECT_TRUE(torch::equal(z, encoding.sample(Key(18))));
  EXPECT_FALSE(torch::equal(z, encoding.sample(Key(19))));
}

TEST(SampleLatents, DrawsTheFactorsThatAreNotFixed) {
  const auto model = tiny_model(Key(20));
  const LatentSample sample = sample_latents(Key(21), model->prior, 2000, {-1, 2});
  EXPECT_EQ(sample.z.sizes(), (std::vector<int64_t>{2000, 5}));
  EXPECT_TRUE(sample.components.select(1, 1).eq(2).all().item<bool>());
  const torch::Tensor counts = torch::bincount(sample.components.select(1, 0), {}, 4);
  EXPECT_GT(counts.min().item<int64_t>(), 0);

  // The fixed block is drawn from component 2: its medians are that component's means.
  const NormalGamma q = model->prior.posteriors[1].mean();
  const torch::Tensor scale = torch::sqrt((q.s[2] + 1) / q.s[2] * q.b[2] / q.a[2]);
  const torch::Tensor median = std::get<0>(sample.z.narrow(1, 2, 3).median(0));
  EXPECT_TRUE(close(median / scale, q.m[2] / scale, 0, 5 * 1.4 / std::sqrt(2000.0)));

  const LatentSample free = sample_latents(Key(21), model->prior, 2000);
  EXPECT_GT(torch::bincount(free.components.select(1, 1), {}, 3).min().item<int64_t>(), 0);
  EXPECT_TRUE(torch::equal(free.z, sample_latents(Key(21), model->prior, 2000).z));
  // Fixing one factor does not change the draws of the others: a grid varies one factor at a time.
  EXPECT_TRUE(torch::equal(free.z.narrow(1, 0, 2), sample.z.narrow(1, 0, 2)));
}

class ModelFile : public testing::Test {
 protected:
  std::string bytes_of(const Vae& model) {
    write_model(path_, model);
    return read_text(path_, "test");
  }

  /// The Error of reading these bytes as a model, or ""; other exceptions propagate.
  std::string message(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;  // faster than write_text, which calls fsync
    try {
      read_model(path_);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  /// The Error of reading a model file after `change` was applied to its tensors and metadata.
  std::string message_after(const std::function<void(TensorFile&)>& change) {
    write_model(path_, *tiny_model(Key(30)));
    TensorFile file = read_safetensors(path_, "test");
    change(file);
    write_safetensors(folder_ / "changed", file, "test");
    return message(read_text(folder_ / "changed", "test"));
  }

  void expect_message(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "model.safetensors";
};

TEST_F(ModelFile, RoundTripGivesTheSameModel) {
  torch::NoGradGuard no_gradient;
  for (const std::string& kind : likelihood_names()) {
    const auto model = tiny_model(Key(31), kind);
    write_model(path_, *model);
    const auto back = read_model(path_);
    EXPECT_EQ(write_options(back->options()), write_options(model->options()));
    EXPECT_EQ(back->shape(), model->shape());
    const torch::Tensor x = tiny_images(Key(32), 4).to(kFloat32);
    EXPECT_TRUE(torch::equal(back->encode(x).mean, model->encode(x).mean));
    EXPECT_TRUE(torch::equal(back->encode(x).log_variance, model->encode(x).log_variance));
    const torch::Tensor z = normal64(Key(33), {4, 5});
    EXPECT_TRUE(torch::equal(back->decode(z), model->decode(z)));
    for (size_t i = 0; i < model->prior.size(); ++i) {
      const NormalGamma p = model->prior.posteriors[i].mean(), q = back->prior.posteriors[i].mean();
      // The file has mean parameters: the conversion to natural ones costs b a few digits.
      EXPECT_TRUE(close(q.m, p.m, 1e-13));
      EXPECT_TRUE(close(q.s, p.s, 1e-13));
      EXPECT_TRUE(close(q.a, p.a, 1e-13));
      EXPECT_TRUE(close(q.b, p.b, 1e-11));
      EXPECT_TRUE(
          torch::equal(back->prior.posteriors[i].counts, model->prior.posteriors[i].counts));
    }
  }
}

TEST_F(ModelFile, AModelOutlivesItsFile) {
  const auto model = tiny_model(Key(31));
  write_model(path_, *model);
  const auto back = read_model(path_);
  write_text(path_, "", "test");
  EXPECT_TRUE(torch::equal(back->prior.posteriors[0].counts, model->prior.posteriors[0].counts));
  EXPECT_TRUE(torch::equal(back->parameters().front().second, model->parameters().front().second));
}

TEST_F(ModelFile, EveryTruncationIsAnError) {
  const std::string bytes = bytes_of(*tiny_model(Key(34)));
  for (size_t length = 0; length < bytes.size(); length += 97)
    EXPECT_NE(message(bytes.substr(0, length)), "") << length;
  EXPECT_NE(message(bytes.substr(0, bytes.size() - 1)), "");
  EXPECT_NE(message(bytes + "x"), "");
}

TEST_F(ModelFile, FlippedHeaderBytesAreErrorsOrHarmless) {
  const auto model = tiny_model(Key(35));
  const std::string bytes = bytes_of(*model);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  std::mt19937 random(4);
  int errors = 0;
  constexpr int trials = 1500;
  for (int trial = 0; trial < trials; ++trial) {
    std::string damaged = bytes;
    const size_t place = random() % (8 + header);
    damaged[place] ^= static_cast<char>(1 + random() % 255);
    SCOPED_TRACE(testing::Message() << "byte " << place << " is now '" << damaged[place] << "'");
    EXPECT_NO_THROW(errors += message(damaged) != "");  // an Error is caught inside
  }
  // Changes of padding, digits of the hyperprior and a few option values go unnoticed.
  EXPECT_GT(errors, trials * 8 / 10);
}

TEST_F(ModelFile, WeightsThatAreNotFiniteAreRefused) {
  const auto model = tiny_model(Key(36));
  {
    torch::NoGradGuard no_gradient;
    parameter_of(*model, "decoder.stem.weight").view(-1)[3] =
        std::numeric_limits<float>::quiet_NaN();
  }
  expect_message(message(bytes_of(*model)), "'decoder.stem.weight'");
  expect_message(message_after([](TensorFile& file) {
                   file.tensors["prior.hair.m"] = file.tensors["prior.hair.m"] / 0.0;
                 }),
                 "'prior.hair.m'");
}

TEST_F(ModelFile, InvalidPriorParametersAreRefused) {
  // s, a, b or c at or below zero would give NaN.
  for (const char* letter : {"s", "a", "b", "c"}) {
    const std::string name = std::string("prior.smile.") + letter;
    const std::string text = message_after([&](TensorFile& file) {
      file.tensors[name] = file.tensors[name].clone();
      file.tensors[name].view(-1)[1] = -0.5;
    });
    expect_message(text, "'" + name + "'");
  }
}

TEST_F(ModelFile, ErrorsNameMissingAndMisshapenTensors) {
  expect_message(message_after([](TensorFile& file) { file.tensors.erase("encoder.head.bias"); }),
                 "'encoder.head.bias'");
  expect_message(message_after([](TensorFile& file) {
                   file.tensors["prior.hair.c"] = torch::ones({5}, kFloat64);
                 }),
                 "found F64 [5], expected F64 [4]");
  expect_message(message_after([](TensorFile& file) {
                   file.tensors["prior.hair.c"] = torch::ones({4}, kFloat32);
                 }),
                 "found F32 [4], expected F64 [4]");
}

TEST_F(ModelFile, MetadataOfAnImpossibleModelIsRefused) {
  const auto with = [&](const std::string& key, const std::string& text) {
    return message_after([&](TensorFile& file) { file.metadata[key] = text; });
  };
  EXPECT_NE(with("model", ""), "");
  EXPECT_NE(with("model", "[]"), "");
  EXPECT_NE(with("shape", "{}"), "");
  expect_message(with("shape", R"({"channels": 1, "height": -7, "width": 6})"), "height");
  expect_message(with("format", "facet-model-99"), "facet-model-99");
  Json options = write_options(tiny_options());
  options["factors"][0]["components"] = int64_t{1} << 50;
  EXPECT_NE(with("model", options.dump()), "");
}

TEST_F(ModelFile, APackIsNotAModel) {
  Pack pack;
  pack.images = torch::zeros({2, 1, 4, 4}, kUInt8);
  pack.labels = torch::full({2, 1}, -1, kInt32);
  pack.split = torch::zeros({2}, kUInt8);
  pack.properties = {{"hair", {"long", "short"}}};
  write_pack(path_, pack);
  expect_message(message(read_text(path_, "test")), "facet-pack-1");
  write_model(path_, *tiny_model(Key(37)));
  EXPECT_THROW(read_pack(path_), Error);
}

TEST_F(ModelFile, AbsentFilesAndFoldersAreErrors) {
  EXPECT_THROW(read_model(folder_ / "absent"), Error);
  EXPECT_THROW(read_model(folder_.path()), Error);
  EXPECT_THROW(write_model(folder_ / "absent" / "model", *tiny_model(Key(38))), Error);
}

}  // namespace
}  // namespace facet
