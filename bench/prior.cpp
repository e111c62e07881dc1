// Google Benchmark of the prior alone: the terms of the bound with their gradient, and the E-step
// with the natural-gradient step, for a batch of 64 blocks of 64 dimensions and K components.
#include <benchmark/benchmark.h>

#include "facet/core/process.h"
#include "facet/core/torch.h"
#include "facet/prior/factorial_mixture.h"

namespace {

struct Case {
  facet::FactorialMixture mixture;
  facet::BlockEncoding block;

  explicit Case(int64_t components) : mixture({{"factor", components, 64}}, {}) {
    const auto options = torch::TensorOptions().dtype(facet::kFloat64);
    const facet::Key key(1);
    const torch::Tensor ones = torch::ones({components, 64}, options);
    mixture.posteriors[0] = facet::FactorPosterior::from_mean(
        {facet::standard_normal(key, {components, 64}, options), 100 * ones, 50 * ones, 50 * ones},
        torch::full({components}, 100.0, options));
    block = {facet::standard_normal(key.fold("mean"), {64, 64}, options),
             facet::uniform(key.fold("variance"), {64, 64}, options) + 0.1};
  }
};

void TermsAndGradient(benchmark::State& state) {
  Case c(state.range(0));
  c.block.mean.requires_grad_();
  c.block.variance.requires_grad_();
  for (auto _ : state) {
    const auto terms = facet::factor_terms(c.block, c.mixture.posteriors[0].parameters(), {});
    (terms.kl_z + terms.kl_r).sum().backward();
  }
}
BENCHMARK(TermsAndGradient)->Arg(64)->Arg(512)->Arg(4096)->Unit(benchmark::kMillisecond);

void NaturalGradientStep(benchmark::State& state) {
  Case c(state.range(0));
  const auto rho = torch::full({}, 0.001, facet::kFloat64);
  for (auto _ : state) {
    const auto responsibilities = facet::e_step(c.block, c.mixture.posteriors[0], {});
    facet::natural_step(c.mixture.posteriors[0],
                        facet::conjugate_posterior(facet::statistics(c.block, responsibilities),
                                                   781.25, c.mixture.hyperpriors[0]),
                        rho);
  }
}
BENCHMARK(NaturalGradientStep)->Arg(64)->Arg(512)->Arg(4096)->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  facet::use_all_processors();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
