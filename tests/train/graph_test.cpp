// On a GPU: a run with captured graphs is, bit for bit, the same as one without.
#include <cstdio>
#include <thread>

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/cuda/cuda_graph.h"
#include "facet/cuda/gpu.h"
#include "facet/train/learner.h"

namespace facet {
namespace {

/// Skips a test without a GPU, and says so: skipping is not passing.
#define NEEDS_A_GPU()                                                                 \
  if (!cuda::available()) {                                                           \
    std::fprintf(stderr, "*** NOT TESTED: captured graphs need a GPU, none found\n"); \
    GTEST_SKIP() << "no GPU";                                                         \
  }

Config named_config(int64_t labelled_batch) {
  Config config;
  config.data.portraits = {300, 16, 1};
  config.data.label_fraction = 0.05;  // some batches have labels, others none
  config.model.likelihood.kind = "gaussian";
  config.model.likelihood.minimum_stddev = 0.1;
  config.model.network = {"custom", {8, 16}, {2, 2}, 3};
  config.model.factors = {{"glasses", 2, 2, "glasses", {}}, {"free", 12, 6, "", {}}};
  config.train.batch_size = 16;
  config.train.pretrain.steps = 30;
  config.train.initialise = {100, true, 5, 30};
  config.train.joint.steps = 30;
  config.train.joint.labelled_batch = labelled_batch;
  config.train.joint.consistency_weight = labelled_batch > 0 ? 20 : 0;
  config.train.joint.refit_every = 7;
  config.train.learning_rate = {2e-3, 1e-3, 0, "linear"};
  return config;
}

/// Everything that the steps of all phases change, copied to the CPU.
NamedTensors trained(const Config& config, const Pack& pack, const StepOptions& options) {
  Learner learner(config, pack, torch::Device(torch::kCUDA, 0), options, {});
  const auto all_steps = [&](Phase phase) {
    for (int64_t step = 0; step < phase_steps(config.train, phase); ++step)
      learner.step(phase, step);
  };
  all_steps(Phase::pretrain);
  learner.place_components();
  all_steps(Phase::initialise);
  learner.clear_encodings();
  all_steps(Phase::joint);
  EXPECT_FALSE(learner.find_not_finite());
  const bool untangled = config.model.factors.size() > 1;  // which resets Adam's count
  EXPECT_EQ(learner.adam().steps(),
            config.train.joint.steps + (untangled ? 0 : config.train.pretrain.steps));
  NamedTensors result = {{"sums", learner.sums()},
                         {"first moments", learner.adam().moments().first},
                         {"second moments", learner.adam().moments().second}};
  for (const auto& entry : learner.model().parameters()) result.push_back(entry);
  for (const FactorPosterior& posterior : learner.model().prior.posteriors) {
    result.emplace_back("alpha_mu", posterior.components.alpha_mu);
    result.emplace_back("alpha_mu2", posterior.components.alpha_mu2);
    result.emplace_back("counts", posterior.counts);
  }
  for (auto& [name, tensor] : result) tensor = tensor.detach().to(torch::kCPU).clone();
  return result;
}

void expect_same(const NamedTensors& one, const NamedTensors& other) {
  ASSERT_EQ(one.size(), other.size());
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_TRUE(torch::equal(one[i].second, other[i].second))
        << one[i].first << ", off by "
        << (one[i].second - other[i].second).abs().max().item<double>();
}

TEST(CudaGraphCache, CapturedStepsAreTheSameAsUncapturedOnes) {
  NEEDS_A_GPU();
  const Pack pack = make_portraits(named_config(0).data.portraits);
  for (const int64_t labelled_batch : {0, 4}) {
    const Config config = named_config(labelled_batch);
    const NamedTensors uncaptured = trained(config, pack, {.capture = false});
    expect_same(trained(config, pack, {.capture = false}), uncaptured);  // deterministic by itself
    expect_same(trained(config, pack, {}), uncaptured);
  }
}

TEST(CudaGraphCache, PseudoInputsAreUpdatedInCapturedSteps) {
  NEEDS_A_GPU();
  Config config = named_config(0);
  config.model.prior = "vamp";
  config.model.factors = {{"free", 12, 6, "", {}}};
  config.train.initialise.steps = 0;
  const Pack pack = make_portraits(config.data.portraits);
  const NamedTensors captured = trained(config, pack, {});
  expect_same(captured, trained(config, pack, {.capture = false}));
  config.train.joint.steps = 1;
  const NamedTensors start = trained(config, pack, {});
  int found = 0;
  for (size_t i = 0; i < start.size(); ++i) {
    if (!start[i].first.starts_with("pseudo_inputs")) continue;
    ++found;
    EXPECT_GT((captured[i].second - start[i].second).abs().max().item<double>(), 1e-3);
  }
  EXPECT_EQ(found, 1);
}

TEST(CudaGraphCache, StreamedImagesGiveTheSameSteps) {
  NEEDS_A_GPU();
  Config config = named_config(4);
  config.data.binarize = "draw";
  config.model.likelihood.kind = "bernoulli";
  const Pack pack = make_portraits(config.data.portraits);
  expect_same(trained(config, pack, {.stream_images = true}), trained(config, pack, {}));
}

TEST(CudaGraphCache, ParallelRunsAreTheSameAsSingleOnes) {
  NEEDS_A_GPU();
  const Config config = named_config(4);
  const Pack pack = make_portraits(config.data.portraits);
  const NamedTensors alone = trained(config, pack, {});
  std::vector<NamedTensors> parallel(12);  // more streams than LibTorch has in its pool
  std::vector<std::thread> threads;
  for (NamedTensors& result : parallel)
    threads.emplace_back([&] {
      const cuda::StreamScope stream(torch::Device(torch::kCUDA, 0));
      result = trained(config, pack, {});
    });
  for (std::thread& thread : threads) thread.join();
  for (const NamedTensors& result : parallel) expect_same(result, alone);
}

TEST(CudaGraphCache, KindsAreCapturedSeparatelyAndAgainAfterForget) {
  NEEDS_A_GPU();
  const torch::Device gpu(torch::kCUDA, 0);
  cuda::CudaGraphCache graphs(gpu);
  torch::Tensor sum = torch::zeros({}, torch::dtype(kFloat64).device(gpu));
  int bodies = 0;
  const auto add = [&](double number) {
    return [&, number] {
      ++bodies;
      sum += number;
    };
  };
  for (int i = 0; i < 10; ++i) {
    graphs.step(1, add(1));
    graphs.step(2, add(100));
  }
  EXPECT_EQ(sum.item<double>(), 1010);
  EXPECT_EQ(bodies, 8) << "three without a graph and one captured, per kind";
  graphs.forget(1);
  for (int i = 0; i < 10; ++i) graphs.step(1, add(2));
  EXPECT_EQ(sum.item<double>(), 1030);
}

}  // namespace
}  // namespace facet
