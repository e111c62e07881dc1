// The same functions on the CPU and on a GPU, where kernels compute, or LibTorch's own operations
// as on a GPU without kernels. Sizes are odd, gradients are compared too.
#include <optional>

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"
#include "facet/model/objective.h"
#include "facet/ops/adam.h"
#include "facet/ops/group_norm.h"
#include "facet/ops/latent.h"
#include "facet/ops/sums.h"
#include "facet/train/consistency.h"
#include "tests/close.h"

namespace facet {
namespace {

/// Rounding of float32 over sums of a few hundred numbers.
constexpr double kFloatRelative = 2e-5, kFloatAbsolute = 2e-5;

bool kernels_here() {
  return cuda::available() && cuda::kernels_available(torch::Device(torch::kCUDA, 0));
}

class Kernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernels_here()) GTEST_SKIP() << "NO GPU WITH KERNELS: nothing of facet/cuda is tested";
  }
};

enum class Computes { kernels, libtorch };

class OnGpu : public testing::TestWithParam<Computes> {
 protected:
  void SetUp() override {
    if (GetParam() == Computes::kernels && !kernels_here())
      GTEST_SKIP() << "NO GPU WITH KERNELS: nothing of facet/cuda is tested";
    if (!cuda::available()) GTEST_SKIP() << "NO GPU: LibTorch's operations are not tested on one";
    if (GetParam() == Computes::libtorch) without_kernels_.emplace();
  }

 private:
  std::optional<cuda::WithoutKernels> without_kernels_;
};
INSTANTIATE_TEST_SUITE_P(By, OnGpu, testing::Values(Computes::kernels, Computes::libtorch),
                         [](const auto& which) {
                           return which.param == Computes::kernels ? "kernels" : "libtorch";
                         });

torch::Tensor floats(const Key& key, torch::IntArrayRef shape, double scale = 1) {
  return (scale * normal64(key, shape)).to(kFloat32);
}
/// A copy on the GPU that gradients flow to, as they do to the original.
torch::Tensor on_gpu(const torch::Tensor& tensor) {
  return tensor.detach().to(torch::kCUDA).requires_grad_(tensor.requires_grad());
}
torch::Tensor back(const torch::Tensor& tensor) { return tensor.detach().to(torch::kCPU); }
torch::Tensor counter(int64_t step) {
  return torch::full({}, step, torch::TensorOptions().dtype(kInt64).device(torch::kCUDA));
}

testing::AssertionResult float_close(const torch::Tensor& gpu, const torch::Tensor& expected) {
  return close(back(gpu), expected, kFloatRelative, kFloatAbsolute);
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

TEST_P(OnGpu, DrawsHaveTheMomentsOfTheirDistributions) {
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

/// z of an encoding on the CPU, with the noise that a GPU draws for this key.
torch::Tensor with_gpu_noise(const torch::Tensor& mean, const torch::Tensor& log_variance,
                             const Key& noise) {
  const auto options = torch::TensorOptions().dtype(kFloat32).device(torch::kCUDA);
  return mean +
         torch::exp(0.5 * log_variance) * back(standard_normal(noise, mean.sizes(), options));
}

TEST_P(OnGpu, AnEncodingAndItsDrawAreTheFormulas) {
  const Key key(4), noise = key.at(counter(9));
  const torch::Tensor head = floats(key, {7, 26}, 2).requires_grad_(), gpu = on_gpu(head);
  const auto [mean, log_variance, z] = ops::draw_encoding(gpu, -2, 1.5, noise);
  const auto [expected_mean, expected_log_variance] = ops::split_encoding(head, -2, 1.5);
  const torch::Tensor expected_z = with_gpu_noise(expected_mean, expected_log_variance, noise);
  EXPECT_TRUE(torch::equal(back(mean), expected_mean.detach()));
  EXPECT_TRUE(torch::equal(back(log_variance), expected_log_variance.detach()));
  EXPECT_TRUE(float_close(z, expected_z));
  EXPECT_TRUE(float_close(ops::sample_latent(mean, log_variance, noise), expected_z));

  std::vector<torch::Tensor> weights;
  for (size_t i = 0; i < 3; ++i) weights.push_back(floats(key.fold(i), {7, 13}));
  (expected_mean * weights[0] + expected_log_variance * weights[1] + expected_z * weights[2])
      .sum()
      .backward();
  (mean * on_gpu(weights[0]) + log_variance * on_gpu(weights[1]) + z * on_gpu(weights[2]))
      .sum()
      .backward();
  EXPECT_TRUE(float_close(gpu.grad(), head.grad()));
}

TEST_P(OnGpu, AnEncodingWithoutADrawHasTheSameGradient) {
  const torch::Tensor head = floats(Key(5), {5, 6}, 2).requires_grad_(), gpu = on_gpu(head);
  const auto [expected_mean, expected_log_variance] = ops::split_encoding(head, -2, 1.5);
  const auto [mean, log_variance] = ops::split_encoding(gpu, -2, 1.5);
  with_gpu_noise(expected_mean, expected_log_variance, Key(6)).square().sum().backward();
  ops::sample_latent(mean, log_variance, Key(6)).square().sum().backward();
  EXPECT_TRUE(float_close(gpu.grad(), head.grad()));
}

TEST_P(OnGpu, KlToAStandardNormalIsTheFormula) {
  const torch::Tensor mean = floats(Key(6), {9, 33}).requires_grad_(),
                      log_variance = floats(Key(7), {9, 33}).requires_grad_(),
                      gpu_mean = on_gpu(mean), gpu_log_variance = on_gpu(log_variance);
  const torch::Tensor weights = floats(Key(8), {9});
  const torch::Tensor expected = ops::standard_normal_kl(mean, log_variance),
                      kl = ops::standard_normal_kl(gpu_mean, gpu_log_variance);
  EXPECT_TRUE(float_close(kl, expected));
  (expected * weights).sum().backward();
  (kl * on_gpu(weights)).sum().backward();
  EXPECT_TRUE(float_close(gpu_mean.grad(), mean.grad()));
  EXPECT_TRUE(float_close(gpu_log_variance.grad(), log_variance.grad()));
}

TEST_P(OnGpu, LikelihoodsAreTheFormulasInBothOrdersOfMemory) {
  for (const std::string kind : {"bernoulli", "gaussian"})
    for (const auto format : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast})
      for (const int64_t channels : {1, 3}) {
        const auto likelihood = make_likelihood({.kind = kind, .minimum_stddev = 0.1});
        const torch::Tensor pixels =
            uniform(Key(9), {5, channels, 7, 9}, kFloat32).mul(256).to(kUInt8);
        const torch::Tensor x = likelihood->from_pixels(pixels);
        EXPECT_TRUE(torch::equal(back(likelihood->from_pixels(on_gpu(pixels))), x));
        const int64_t numbers = channels * likelihood->numbers_per_value();
        const torch::Tensor output = floats(Key(10), {5, numbers, 7, 9}, 2).requires_grad_();
        const torch::Tensor gpu =
            output.detach().to(torch::kCUDA).contiguous(format).requires_grad_();
        const torch::Tensor weights = floats(Key(11), {5});
        const torch::Tensor expected = likelihood->log_density(x, output),
                            density = likelihood->log_density(on_gpu(x), gpu);
        EXPECT_TRUE(float_close(density, expected)) << kind;
        (expected * weights).sum().backward();
        (density * on_gpu(weights)).sum().backward();
        // A Gaussian's derivatives are of the size of 1 / stddev^2.
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
FactorialMixture on_gpu(FactorialMixture prior) {
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

TEST_P(OnGpu, ThePriorsTermsAndTheirGradientAreTheFormulas) {
  for (const int64_t images : {1, 70}) {
    const FactorialMixture prior = random_mixture(odd_factors()), gpu_prior = on_gpu(prior);
    const Encodings x(prior, images);
    const torch::Tensor mean = on_gpu(x.mean), log_variance = on_gpu(x.log_variance);
    const std::vector<FactorParameters> none(prior.size());
    const auto expected = factor_terms(prior, x.mean, x.log_variance, none, x.labels);
    const auto terms = factor_terms(gpu_prior, mean, log_variance, none, on_gpu(x.labels));
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

TEST_P(OnGpu, GradientsFlowToParametersThatStandForAPosterior) {
  const FactorialMixture prior = random_mixture({{"a", 5, 3}, {"b", 4, 6}});
  const FactorialMixture gpu_prior = on_gpu(prior);
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
  const auto [gpu_mean, gpu_m] = gradients(gpu_prior, torch::kCUDA);
  EXPECT_TRUE(close(gpu_mean, mean, 1e-4, 1e-4));
  EXPECT_TRUE(close(gpu_m, m, 1e-5, 1e-5));
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

TEST_P(OnGpu, TheNaturalGradientStepIsTheFormula) {
  FactorialMixture prior = random_mixture(odd_factors());
  const FactorialMixture before = random_mixture(odd_factors());
  FactorialMixture gpu_prior = on_gpu(prior);
  const Encodings x(prior, 70);
  std::vector<bool> moves(prior.size(), true);
  moves[5] = false;
  natural_gradient_update(prior, x.mean, x.log_variance, x.labels, {11.5, number(0.3)}, moves);
  natural_gradient_update(gpu_prior, on_gpu(x.mean), on_gpu(x.log_variance), on_gpu(x.labels),
                          {11.5, number(0.3).to(torch::kCUDA)}, moves);
  for (size_t i = 0; i < prior.size(); ++i)
    EXPECT_TRUE(same_posterior(gpu_prior.posteriors[i], prior.posteriors[i], 1e-5)) << i;
  EXPECT_TRUE(same_posterior(gpu_prior.posteriors[5], before.posteriors[5], 0));
}

TEST_P(OnGpu, ABlockInFloat64HasTheSameTermsAndStep) {
  FactorHyperprior hyperprior(Hyperprior{}, 33);
  hyperprior.components.m += 0.1 * normal64(Key(33), {33});
  hyperprior.components.s *= torch::exp(normal64(Key(34), {33}));
  FactorPosterior posterior = random_posterior(Key(31), 150, 33);
  FactorPosterior gpu = posterior.to(torch::kCUDA);
  const BlockEncoding block = random_block(Key(32), 65, 33);
  const BlockEncoding gpu_block{on_gpu(block.mean), on_gpu(block.variance)};
  const FactorTerms expected = factor_terms(block, posterior, {}),
                    terms = factor_terms(gpu_block, gpu, {});
  EXPECT_TRUE(close(back(terms.kl_z), expected.kl_z, 1e-10, 1e-10));
  EXPECT_TRUE(close(back(terms.kl_r), expected.kl_r, 1e-9, 1e-10));
  EXPECT_TRUE(close(back(terms.responsibilities), expected.responsibilities, 1e-9, 1e-12));
  natural_gradient_update(posterior, block, {}, {3, number(0.7)}, hyperprior);
  natural_gradient_update(gpu, gpu_block, {}, {3, number(0.7).to(torch::kCUDA)},
                          hyperprior.to(torch::kCUDA));
  EXPECT_TRUE(same_posterior(gpu, posterior, 1e-10));
}

TEST_P(OnGpu, StickBreakingWeightsHaveTheSameTermsAndStep) {
  FactorialMixture prior({{"digit", 150, 33}}, Hyperprior{}, torch::kCPU, /*stick_breaking=*/true);
  prior.posteriors[0].assign(random_posterior(Key(35), 150, 33));
  prior.posteriors[0].counts += 1.0;
  FactorialMixture gpu = prior;
  gpu.to(torch::kCUDA);
  const BlockEncoding block = random_block(Key(36), 65, 33);
  const BlockEncoding gpu_block{on_gpu(block.mean), on_gpu(block.variance)};
  const FactorTerms expected = factor_terms(block, prior.posteriors[0], {}),
                    terms = factor_terms(gpu_block, gpu.posteriors[0], {});
  EXPECT_TRUE(close(back(terms.kl_r), expected.kl_r, 1e-9, 1e-10));
  EXPECT_TRUE(close(back(terms.responsibilities), expected.responsibilities, 1e-9, 1e-12));
  natural_gradient_update(prior.posteriors[0], block, {}, {3, number(0.7)}, prior.hyperpriors[0]);
  natural_gradient_update(gpu.posteriors[0], gpu_block, {}, {3, number(0.7).to(torch::kCUDA)},
                          gpu.hyperpriors[0]);
  EXPECT_TRUE(same_posterior(gpu.posteriors[0], prior.posteriors[0], 1e-10));
}

TEST_P(OnGpu, ThePredictiveDensityIsTheFormula) {
  const auto mixture = [](torch::Device device) {
    FactorialMixture prior({{"one", 37, 45}, {"two", 3, 7}}, Hyperprior{}, device);
    for (size_t i = 0; i < 2; ++i) {
      const FactorOptions& factor = prior.factors[i];
      const Key key = Key(50).fold(i);
      const std::vector<int64_t> shape = {factor.components, factor.dimensions};
      const auto positive = [&](const char* name, double scale) {
        return scale * torch::exp(normal64(key.fold(name), shape));
      };
      prior.posteriors[i] = FactorPosterior::from_mean(
          {normal64(key.fold("m"), shape), positive("s", 20), positive("a", 10), positive("b", 3)},
          torch::exp(normal64(key.fold("c"), {factor.components})));
    }
    prior.to(device);
    return prior;
  };
  const torch::Tensor z = floats(Key(51), {70, 52});
  const torch::Tensor expected = predictive_log_density(mixture(torch::kCPU), z);
  const torch::Tensor found =
      back(predictive_log_density(mixture(torch::Device(torch::kCUDA, 0)), on_gpu(z)));
  // Float64 throughout; the libraries' logarithms differ in their last bits.
  EXPECT_TRUE(close(found, expected, 1e-11, 1e-11));
}

TEST_P(OnGpu, LossesAreTheFormulasWithTheirGradients) {
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

TEST_P(OnGpu, SumsOfAMetricsLineAreAddedUp) {
  const torch::Tensor sums = torch::ones({3}, kFloat64).to(torch::kCUDA);
  const torch::Tensor values = normal64(Key(61), {101});
  const torch::Tensor labels = torch::tensor({-1, 4, 0, -1}, kInt64);
  using Term = ops::SummedTerm;
  std::vector<Term> terms = {{0, {}},
                             {1, on_gpu(values)},
                             {1, on_gpu(values.to(kFloat32))},
                             {2, on_gpu(labels), Term::What::known}};
  for (int i = 0; i < 70; ++i) terms.push_back({0, {}});  // more than a launch takes
  ops::add_to_sums(sums, terms);
  EXPECT_TRUE(close(back(sums),
                    torch::tensor({72.0, 1 + 2 * values.mean().item<double>(), 3.0}, kFloat64),
                    1e-7, 1e-7));
}

TEST_P(OnGpu, AdamIsTheFormula) {
  for (const double clip_grad_norm : {0.0, 3.0}) {
    const torch::Tensor gradients = floats(Key(70), {1003}), parameters = floats(Key(71), {1003}),
                        first = floats(Key(72), {1003}, 0.1),
                        second = floats(Key(73), {1003}).square();
    const torch::Tensor gpu = on_gpu(parameters), gpu_first = on_gpu(first),
                        gpu_second = on_gpu(second), gpu_gradients = on_gpu(gradients);
    const torch::Tensor bf16_copy = torch::empty({1003}, gpu.options().dtype(torch::kBFloat16));
    const torch::Tensor norm = ops::gradient_norm(gpu_gradients);
    EXPECT_TRUE(close(back(norm), gradients.to(kFloat64).norm(), 1e-6));
    const auto numbers = [&](torch::Device device, const torch::Tensor& own_norm) {
      return ops::AdamNumbers{0.9,
                              0.999,
                              1e-8,
                              clip_grad_norm,
                              /*weight_decay=*/0.5,
                              number(0.01).to(device),
                              torch::full({}, 5, torch::dtype(kInt64).device(device)),
                              own_norm};
    };
    ops::adam_step(gpu, gpu_gradients, gpu_first, gpu_second, bf16_copy,
                   numbers(torch::kCUDA, norm));
    ops::adam_step(parameters, gradients, first, second, {},
                   numbers(torch::kCPU, ops::gradient_norm(gradients)));
    EXPECT_TRUE(close(back(gpu), parameters, 1e-6, 1e-6));
    EXPECT_TRUE(close(back(gpu_first), first, 1e-5, 1e-7));
    EXPECT_TRUE(close(back(gpu_second), second, 1e-5, 1e-7));
    EXPECT_TRUE(torch::equal(bf16_copy, gpu.to(torch::kBFloat16)));
  }
}

TEST_P(OnGpu, TheLossOfEvenValuesIsThatOfTheCpu) {
  const Key key(31);
  FactorialMixture prior(
      {{"free", 5, 4, "", {}}, {"one", 3, 2, "one", {}}, {"two", 9, 3, "two", {}}}, kHyperprior);
  for (size_t i = 0; i < prior.size(); ++i)
    prior.posteriors[i] =
        random_posterior(key.fold(i), prior.factors[i].components, prior.factors[i].dimensions);
  FactorialMixture gpu_prior = prior;
  gpu_prior.to(torch::Device(torch::kCUDA, 0));
  const torch::Tensor mean = floats(key.fold("mean"), {11, 9}).requires_grad_(),
                      log_variance = floats(key.fold("variance"), {11, 9}).requires_grad_();
  const torch::Tensor gpu_mean = on_gpu(mean), gpu_log_variance = on_gpu(log_variance);
  const torch::Tensor values = torch::arange(33, kInt64).view({11, 3}).remainder(3);
  const torch::Tensor expected = even_value_loss(prior, {mean, log_variance}, values),
                      found = even_value_loss(gpu_prior, {gpu_mean, gpu_log_variance},
                                              values.to(torch::kCUDA));
  EXPECT_TRUE(float_close(found, expected));
  expected.backward();
  found.backward();
  EXPECT_TRUE(float_close(gpu_mean.grad(), mean.grad()));
  EXPECT_TRUE(float_close(gpu_log_variance.grad(), log_variance.grad()));
}

/// What a group norm gives and the gradients of its inputs, for a weighted sum of the result.
std::vector<torch::Tensor> norm_and_gradients(const std::vector<torch::Tensor>& inputs,
                                              torch::ScalarType type, bool silu,
                                              const torch::Tensor& weights) {
  std::vector<torch::Tensor> own;
  for (const torch::Tensor& input : inputs)
    own.push_back(input.defined() ? input.detach().requires_grad_() : input);
  const torch::Tensor result = ops::group_norm(own[0].to(type), {4, own[1], own[2], silu}, own[3]);
  (result.to(kFloat32) * weights).sum().backward();
  std::vector<torch::Tensor> all = {result.detach().to(kFloat32)};
  for (const torch::Tensor& input : own)
    if (input.defined()) all.push_back(input.grad());
  return all;
}

TEST_P(OnGpu, GroupNormIsTheFormulaInBfloat16) {
  const Key key(20);
  const auto rounded = [](const torch::Tensor& numbers) {
    return numbers.to(torch::kBFloat16).to(kFloat32);
  };
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{3, 24, 7, 5}, {1, 40, 1, 1}, {2, 8, 33, 17}, {5, 96, 16, 16}})
    for (const bool silu : {false, true})
      for (const bool modulated : {false, true})
        for (const bool channels_last : {false, true}) {
          SCOPED_TRACE(testing::Message() << torch::IntArrayRef(shape) << (silu ? ", silu" : "")
                                          << (modulated ? ", modulated" : "")
                                          << (channels_last ? ", channels last" : ""));
          const int64_t channels = shape[1];
          std::vector<torch::Tensor> inputs = {
              rounded(floats(key.fold(1), shape) + 0.5), floats(key.fold(2), {channels}),
              floats(key.fold(3), {channels}),
              modulated ? rounded(floats(key.fold(4), {shape[0], 2 * channels})) : torch::Tensor()};
          const torch::Tensor weights = rounded(floats(key.fold(5), shape));
          const auto expected = norm_and_gradients(inputs, kFloat32, silu, weights);
          for (torch::Tensor& input : inputs)
            if (input.defined()) input = input.to(torch::kCUDA);
          if (channels_last) inputs[0] = inputs[0].contiguous(torch::MemoryFormat::ChannelsLast);
          const auto found =
              norm_and_gradients(inputs, torch::kBFloat16, silu, weights.to(torch::kCUDA));
          // A bfloat16 has eight bits: kernels round the result and the image's gradient once,
          // LibTorch's operations after every step.
          const double rounding = GetParam() == Computes::kernels ? 1.0 / 128 : 1.0 / 16;
          ASSERT_EQ(found.size(), expected.size());
          for (size_t i = 0; i < found.size(); ++i)
            EXPECT_TRUE(close(back(found[i]), expected[i], rounding,
                              rounding * expected[i].abs().max().item<double>() + 1e-6))
                << i;
        }
}

}  // namespace
}  // namespace facet
