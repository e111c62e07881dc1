// The kernels against the formulas that they stand for: the same public functions on the CPU, where
// LibTorch's own operations compute them, and on a GPU. Sizes are odd, gradients are compared too.
#include "facet/cuda/ops.h"

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"
#include "facet/model/objective.h"
#include "facet/nets/adam.h"
#include "tests/close.h"

namespace facet {
namespace {

/// Rounding of float32 over sums of a few hundred numbers.
constexpr double float_relative = 2e-5, float_absolute = 2e-5;

class Kernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::available() ||
        !cuda::draws(torch::TensorOptions().dtype(kFloat32).device(torch::kCUDA)))
      GTEST_SKIP() << "NO CARD OR NO KERNELS IN THIS BUILD: nothing of facet/cuda is tested";
  }
};

torch::Tensor floats(const Key& key, torch::IntArrayRef shape, double scale = 1) {
  return (scale * normal64(key, shape)).to(kFloat32);
}
/// A copy on the GPU that gradients flow to, as they do to the original.
torch::Tensor on_card(const torch::Tensor& tensor) {
  return tensor.detach().to(torch::kCUDA).requires_grad_(tensor.requires_grad());
}
torch::Tensor back(const torch::Tensor& tensor) { return tensor.detach().to(torch::kCPU); }
torch::Tensor counter(int64_t step) {
  return torch::full({}, step, torch::TensorOptions().dtype(kInt64).device(torch::kCUDA));
}

testing::AssertionResult float_close(const torch::Tensor& gpu, const torch::Tensor& expected) {
  return close(back(gpu), expected, float_relative, float_absolute);
}

TEST_F(Kernels, DrawsDependOnKeyStepAndPlaceAlone) {
  const auto options = torch::TensorOptions().dtype(kFloat32).device(torch::kCUDA);
  const Key key(3);
  const auto draw = [&](int64_t step, int64_t count) {
    return back(standard_normal(key.at(counter(step)), {count}, options));
  };
  EXPECT_TRUE(torch::equal(draw(5, 1003), draw(5, 1003)));
  EXPECT_TRUE(torch::equal(draw(5, 1003).narrow(0, 0, 10), draw(5, 10)));
  EXPECT_FALSE(torch::equal(draw(5, 10), draw(6, 10)));
  EXPECT_FALSE(torch::equal(
      draw(5, 10), back(standard_normal(key.fold("other").at(counter(5)), {10}, options))));
}

TEST_F(Kernels, DrawsHaveTheMomentsOfTheirDistributions) {
  for (const auto type : {kFloat32, kFloat64}) {
    const auto options = torch::TensorOptions().dtype(type).device(torch::kCUDA);
    // Of a million draws a mean is off by a thousandth, a fourth moment by a hundredth.
    const torch::Tensor normal = back(standard_normal(Key(1), {1000000}, options)).to(kFloat64);
    EXPECT_NEAR(normal.mean().item<double>(), 0, 5e-3);
    EXPECT_NEAR(normal.square().mean().item<double>(), 1, 7e-3);
    EXPECT_NEAR(normal.pow(4).mean().item<double>(), 3, 5e-2);
    const torch::Tensor unit = back(uniform(Key(2), {1000000}, options)).to(kFloat64);
    EXPECT_NEAR(unit.mean().item<double>(), 0.5, 2e-3);
    EXPECT_NEAR(unit.var().item<double>(), 1.0 / 12, 1e-3);
    EXPECT_TRUE(unit.ge(0).logical_and(unit.lt(1)).all().item<bool>());
  }
}

/// What an encoder's head gives on the CPU: mean, log variance, and z with noise given.
std::vector<torch::Tensor> plain_draw(const torch::Tensor& head, const torch::Tensor& noise) {
  const auto halves = head.chunk(2, 1);
  const torch::Tensor log_variance = halves[1].clamp(-2, 1.5);
  return {halves[0], log_variance, halves[0] + torch::exp(0.5 * log_variance) * noise};
}

TEST_F(Kernels, AnEncodingAndItsDrawAreTheFormulas) {
  const Key key(4);
  const torch::Tensor head = floats(key, {7, 26}, 2).requires_grad_(), gpu = on_card(head);
  const torch::Tensor step = counter(9);
  const auto [mean, log_variance, z] = cuda::draw_encoding(gpu, -2, 1.5, key.value(), step);
  const torch::Tensor noise =
      back(cuda::standard_normal(key.value(), step, {7, 13}, gpu.options().requires_grad(false)));
  const auto expected = plain_draw(head, noise);
  EXPECT_TRUE(torch::equal(back(mean), expected[0].detach()));
  EXPECT_TRUE(torch::equal(back(log_variance), expected[1].detach()));
  EXPECT_TRUE(float_close(z, expected[2]));
  EXPECT_TRUE(float_close(cuda::sample_latent(mean, log_variance, key.value(), step), expected[2]));

  std::vector<torch::Tensor> weights;
  for (size_t i = 0; i < 3; ++i) weights.push_back(floats(key.fold(i), {7, 13}));
  (expected[0] * weights[0] + expected[1] * weights[1] + expected[2] * weights[2]).sum().backward();
  (mean * on_card(weights[0]) + log_variance * on_card(weights[1]) + z * on_card(weights[2]))
      .sum()
      .backward();
  EXPECT_TRUE(float_close(gpu.grad(), head.grad()));
}

TEST_F(Kernels, AnEncodingWithoutADrawHasTheSameGradient) {
  const torch::Tensor head = floats(Key(5), {5, 6}, 2).requires_grad_(), gpu = on_card(head);
  const auto expected = plain_draw(head, torch::zeros({5, 3}));
  const auto [mean, log_variance] = cuda::split_encoding(gpu, -2, 1.5);
  const torch::Tensor z = cuda::sample_latent(mean, log_variance, 6, {});
  const torch::Tensor noise = back(cuda::standard_normal(6, {}, {5, 3}, mean.options()));
  (expected[0] + torch::exp(0.5 * expected[1]) * noise).square().sum().backward();
  z.square().sum().backward();
  EXPECT_TRUE(float_close(gpu.grad(), head.grad()));
}

TEST_F(Kernels, KlToAStandardNormalIsTheFormula) {
  const torch::Tensor mean = floats(Key(6), {9, 33}).requires_grad_(),
                      log_variance = floats(Key(7), {9, 33}).requires_grad_(),
                      card_mean = on_card(mean), card_log_variance = on_card(log_variance);
  const torch::Tensor weights = floats(Key(8), {9});
  const torch::Tensor expected = standard_normal_kl({mean, log_variance}),
                      kl = standard_normal_kl({card_mean, card_log_variance});
  EXPECT_TRUE(float_close(kl, expected));
  (expected * weights).sum().backward();
  (kl * on_card(weights)).sum().backward();
  EXPECT_TRUE(float_close(card_mean.grad(), mean.grad()));
  EXPECT_TRUE(float_close(card_log_variance.grad(), log_variance.grad()));
}

TEST_F(Kernels, LikelihoodsAreTheFormulasInBothOrdersOfMemory) {
  for (const std::string kind : {"bernoulli", "gaussian"})
    for (const auto format : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast})
      for (const int64_t channels : {1, 3}) {
        const auto likelihood = make_likelihood({.kind = kind, .minimum_stddev = 0.1});
        const torch::Tensor pixels =
            uniform(Key(9), {5, channels, 7, 9}, kFloat32).mul(256).to(kUInt8);
        const torch::Tensor x = likelihood->from_pixels(pixels);
        EXPECT_TRUE(torch::equal(back(likelihood->from_pixels(on_card(pixels))), x));
        const int64_t numbers = channels * likelihood->numbers_per_value();
        const torch::Tensor output = floats(Key(10), {5, numbers, 7, 9}, 2).requires_grad_();
        const torch::Tensor gpu =
            output.detach().to(torch::kCUDA).contiguous(format).requires_grad_();
        const torch::Tensor weights = floats(Key(11), {5});
        const torch::Tensor expected = likelihood->log_density(x, output),
                            density = likelihood->log_density(on_card(x), gpu);
        EXPECT_TRUE(float_close(density, expected)) << kind;
        (expected * weights).sum().backward();
        (density * on_card(weights)).sum().backward();
        // A Gaussian's derivatives are of the size of 1 / deviation^2.
        EXPECT_TRUE(close(back(gpu.grad()), output.grad(), 1e-4, 1e-3)) << kind;
      }
}

FactorialMixture random_mixture(const std::vector<FactorOptions>& factors) {
  FactorialMixture prior(factors, {.m0 = 0.2, .s0 = 1.3, .a0 = 0.7, .b0 = 0.4, .c0 = 1.1});
  for (size_t i = 0; i < prior.size(); ++i)
    prior.posteriors[i] =
        random_posterior(Key(20).fold(i), factors[i].components, factors[i].dimensions);
  return prior;
}
FactorialMixture on_card(FactorialMixture prior) {
  prior.to(torch::kCUDA);
  return prior;
}
/// One factor more than a launch takes, with sizes around those of the kernels' tiles.
std::vector<FactorOptions> odd_factors() {
  return {{"a", 3, 5},  {"b", 65, 64}, {"c", 130, 67}, {"d", 1, 1}, {"e", 600, 3},
          {"f", 8, 16}, {"g", 9, 9},   {"h", 64, 8},   {"i", 2, 2}};
}

struct Encodings {
  torch::Tensor mean, log_variance, labels;

  Encodings(const FactorialMixture& prior, int64_t images)
      : mean(floats(Key(21), {images, prior.dimensions()}).requires_grad_()),
        log_variance((floats(Key(22), {images, prior.dimensions()}, 0.5) - 1).requires_grad_()),
        labels(torch::full({images, static_cast<int64_t>(prior.size())}, -1, kInt64)) {
    // Every third image has a label of the second and of the third factor.
    for (int64_t b = 0; b < images; b += 3) {
      labels[b][1] = b % 65;
      labels[b][2] = 2 * b % 130;
    }
  }
};

/// A number that everything with a gradient goes into.
torch::Tensor weighted(const std::vector<FactorTerms>& terms) {
  torch::Tensor sum = torch::zeros({}, terms[0].kl_z.options());
  for (size_t i = 0; i < terms.size(); ++i) {
    const auto weights = [&](const char* purpose) {
      return normal64(Key(23).fold(purpose).fold(i), terms[i].kl_z.sizes())
          .to(terms[i].kl_z.device());
    };
    sum = sum + (weights("z") * terms[i].kl_z).sum() +
          (weights("label") * terms[i].label_log_likelihood).sum();
  }
  return sum;
}

TEST_F(Kernels, ThePriorsTermsAndTheirGradientAreTheFormulas) {
  for (const int64_t images : {1, 70}) {
    const FactorialMixture prior = random_mixture(odd_factors()), card_prior = on_card(prior);
    const Encodings x(prior, images);
    const torch::Tensor mean = on_card(x.mean), log_variance = on_card(x.log_variance);
    const std::vector<FactorParameters> none(prior.size());
    const auto expected = factor_terms(prior, x.mean, x.log_variance, none, x.labels);
    const auto terms = factor_terms(card_prior, mean, log_variance, none, on_card(x.labels));
    for (size_t i = 0; i < prior.size(); ++i) {
      // The variance is rounded to float32 before both; its exponential may differ in the last bit.
      EXPECT_TRUE(close(back(terms[i].responsibilities), expected[i].responsibilities, 1e-4, 1e-6));
      EXPECT_TRUE(close(back(terms[i].kl_z), expected[i].kl_z, 1e-6, 1e-5));
      EXPECT_TRUE(close(back(terms[i].kl_r), expected[i].kl_r, 1e-5, 1e-5));
      EXPECT_TRUE(
          close(back(terms[i].label_log_likelihood), expected[i].label_log_likelihood, 1e-5, 1e-5));
    }
    weighted(expected).backward();
    weighted(terms).backward();
    EXPECT_TRUE(close(back(mean.grad()), x.mean.grad(), 1e-4, 1e-3));
    EXPECT_TRUE(close(back(log_variance.grad()), x.log_variance.grad(), 1e-4, 1e-3));
  }
}

TEST_F(Kernels, GradientsFlowToParametersThatStandForAPosterior) {
  const FactorialMixture prior = random_mixture({{"a", 5, 3}, {"b", 4, 6}});
  const FactorialMixture card_prior = on_card(prior);
  const Encodings x(random_mixture(odd_factors()), 9);
  const auto gradients = [&](const FactorialMixture& mixture, torch::Device device) {
    const torch::Tensor mean = x.mean.detach().narrow(1, 0, 9).to(device).requires_grad_(),
                        spread = x.log_variance.detach().narrow(1, 0, 9).to(device);
    std::vector<FactorParameters> parameters(2);
    parameters[1] = mixture.posteriors[1].parameters();
    parameters[1].components.m.requires_grad_();
    weighted(factor_terms(mixture, mean, spread, parameters, {})).backward();
    return std::pair(back(mean.grad()), back(parameters[1].components.m.grad()));
  };
  const auto [mean, m] = gradients(prior, torch::kCPU);
  const auto [card_mean, card_m] = gradients(card_prior, torch::kCUDA);
  EXPECT_TRUE(close(card_mean, mean, 1e-4, 1e-4));
  EXPECT_TRUE(close(card_m, m, 1e-5, 1e-5));
}

testing::AssertionResult same_posterior(const FactorPosterior& gpu, const FactorPosterior& other,
                                        double relative) {
  const NaturalNormalGamma &a = gpu.components, &b = other.components;
  const std::vector<std::pair<torch::Tensor, torch::Tensor>> pairs = {{a.log_alpha, b.log_alpha},
                                                                      {a.alpha, b.alpha},
                                                                      {a.alpha_mu, b.alpha_mu},
                                                                      {a.alpha_mu2, b.alpha_mu2},
                                                                      {gpu.counts, other.counts}};
  for (const auto& [found, expected] : pairs)
    if (const auto result = close(back(found), expected, relative, relative); !result)
      return result;
  return testing::AssertionSuccess();
}

TEST_F(Kernels, TheNaturalGradientStepIsTheFormula) {
  FactorialMixture prior = random_mixture(odd_factors());
  const FactorialMixture before = random_mixture(odd_factors());
  FactorialMixture card_prior = on_card(prior);
  const Encodings x(prior, 70);
  std::vector<bool> moves(prior.size(), true);
  moves[5] = false;
  natural_gradient_update(prior, x.mean, x.log_variance, x.labels, {11.5, number(0.3)}, moves);
  natural_gradient_update(card_prior, on_card(x.mean), on_card(x.log_variance), on_card(x.labels),
                          {11.5, number(0.3).to(torch::kCUDA)}, moves);
  for (size_t i = 0; i < prior.size(); ++i)
    EXPECT_TRUE(same_posterior(card_prior.posteriors[i], prior.posteriors[i], 1e-5)) << i;
  EXPECT_TRUE(same_posterior(card_prior.posteriors[5], before.posteriors[5], 0));
}

TEST_F(Kernels, ABlockInFloat64HasTheSameTermsAndStep) {
  const Hyperprior hyperprior;
  FactorPosterior posterior = random_posterior(Key(31), 150, 33);
  FactorPosterior gpu = posterior.to(torch::kCUDA);
  const BlockEncoding block = random_block(Key(32), 65, 33);
  const BlockEncoding card_block{on_card(block.mean), on_card(block.variance)};
  const FactorTerms expected = factor_terms(block, posterior, {}),
                    terms = factor_terms(card_block, gpu, {});
  EXPECT_TRUE(close(back(terms.kl_z), expected.kl_z, 1e-10, 1e-10));
  EXPECT_TRUE(close(back(terms.kl_r), expected.kl_r, 1e-9, 1e-10));
  EXPECT_TRUE(close(back(terms.responsibilities), expected.responsibilities, 1e-9, 1e-12));
  natural_gradient_update(posterior, block, {}, {3, number(0.7)}, hyperprior);
  natural_gradient_update(gpu, card_block, {}, {3, number(0.7).to(torch::kCUDA)}, hyperprior);
  EXPECT_TRUE(same_posterior(gpu, posterior, 1e-10));
}

TEST_F(Kernels, LossesAreTheFormulasWithTheirGradients) {
  const auto losses = [](torch::Device device) {
    std::vector<torch::Tensor> results;
    const auto leaf = [&](uint64_t seed, torch::ScalarType type) {
      results.push_back(normal64(Key(seed), {67}).to(type).to(device).set_requires_grad(true));
      return results.back();
    };
    BoundTerms terms;
    terms.reconstruction = leaf(40, kFloat32);
    for (uint64_t i = 0; i < 3; ++i)
      terms.factors.push_back({{}, leaf(41 + i, kFloat64), leaf(51 + i, kFloat64), {}});
    const torch::Tensor weight = number(0.3).to(device);
    const torch::Tensor loss = batch_loss(terms, {}, {weight, {}, {}});
    const torch::Tensor first = pretrain_loss(terms.reconstruction, leaf(60, kFloat32), weight);
    (2 * loss + 3 * first).backward();
    std::vector<torch::Tensor> all = {back(loss), back(first)};
    for (const torch::Tensor& tensor : results) all.push_back(back(tensor.grad()));
    return all;
  };
  const auto expected = losses(torch::kCPU), found = losses(torch::kCUDA);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(close(found[i], expected[i], 1e-6, 1e-7)) << i;
}

TEST_F(Kernels, SumsOfAMetricsLineAreAddedUp) {
  const torch::Tensor sums = torch::ones({3}, kFloat64).to(torch::kCUDA);
  const torch::Tensor values = normal64(Key(61), {101});
  const torch::Tensor labels = torch::tensor({-1, 4, 0, -1}, kInt64);
  std::vector<cuda::SummedTerm> terms = {{0, {}},
                                         {1, on_card(values)},
                                         {1, on_card(values.to(kFloat32))},
                                         {2, on_card(labels), cuda::SummedTerm::What::known}};
  for (int i = 0; i < 70; ++i) terms.push_back({0, {}});  // more than a launch takes
  cuda::add_to_sums(sums, terms);
  EXPECT_TRUE(close(back(sums),
                    torch::tensor({72.0, 1 + 2 * values.mean().item<double>(), 3.0}, kFloat64),
                    1e-7, 1e-7));
}

TEST_F(Kernels, AdamIsTheFormula) {
  for (const double largest : {0.0, 3.0}) {
    const torch::Tensor gradients = floats(Key(70), {1003});
    torch::Tensor parameters = floats(Key(71), {1003});
    AdamMoments moments{floats(Key(72), {1003}, 0.1), floats(Key(73), {1003}).square()};
    const torch::Tensor gpu = on_card(parameters), first = on_card(moments.first),
                        second = on_card(moments.second), card_gradients = on_card(gradients);
    const torch::Tensor shadow = torch::empty({1003}, gpu.options().dtype(torch::kBFloat16));
    const torch::Tensor norm = cuda::gradient_norm(card_gradients);
    EXPECT_TRUE(close(back(norm), gradients.to(kFloat64).norm(), 1e-6));
    AdamOptions options;
    options.weight_decay = 0.5;
    const double shortening =
        largest > 0 ? std::min(1.0, largest / gradients.norm().item<double>()) : 1.0;
    adam_update(parameters, shortening * gradients, moments, torch::full({}, 5, kInt64),
                number(0.01), options);
    cuda::adam_step(gpu, card_gradients, first, second, shadow,
                    {options.beta1, options.beta2, options.epsilon, largest, options.weight_decay,
                     number(0.01).to(torch::kCUDA), counter(5), norm});
    EXPECT_TRUE(close(back(gpu), parameters, 1e-6, 1e-6));
    EXPECT_TRUE(close(back(first), moments.first, 1e-5, 1e-7));
    EXPECT_TRUE(close(back(second), moments.second, 1e-5, 1e-7));
    EXPECT_TRUE(torch::equal(shadow, gpu.to(torch::kBFloat16)));
  }
}

}  // namespace
}  // namespace facet
