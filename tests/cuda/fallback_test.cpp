// Training on a GPU that our kernels do not run on: LibTorch's own operations compute, steps run
// directly, and the user has nothing to set.
#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/cuda/cuda_graph.h"
#include "facet/cuda/gpu.h"
#include "facet/data/import.h"
#include "facet/train/learner.h"

namespace facet {
namespace {

class WithoutKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::available()) GTEST_SKIP() << "NO GPU: training without kernels is not tested";
  }
  torch::Device device_{torch::kCUDA, 0};
  cuda::WithoutKernels without_kernels_;
};

Config small_config() {
  Config config;
  config.data.portraits = {300, 16, 1};
  config.data.label_fraction = 0.2;
  config.model.likelihood.kind = "gaussian";
  config.model.likelihood.minimum_stddev = 0.1;
  config.model.network = {"custom", {8, 16}, {2, 2}, 3};
  config.model.factors = {{"glasses", 2, 2, "glasses", {}}, {"free", 12, 6, "", {}}};
  config.train.batch_size = 16;
  config.train.pretrain.steps = 30;
  config.train.initialise = {100, true, 5, 30};
  config.train.joint.steps = 10;
  config.train.joint.labelled_batch = 4;
  config.train.joint.consistency_weight = 20;
  config.train.adam.clip_grad_norm = 100;
  config.train.adam.weight_decay = 0.01;
  config.train.learning_rate = {2e-3, 2e-3, 0, "linear"};
  return config;
}

TEST_F(WithoutKernels, EveryPhaseTrains) {
  const Config config = small_config();
  for (const std::string precision : {"fp32", "tf32", "bf16"}) {
    Config own = config;
    own.train.precision = precision;
    Learner learner(own, make_portraits(own.data.portraits), device_, {}, {});
    EXPECT_FALSE(learner.model().accelerated()) << precision;
    const auto all_steps = [&](Phase phase) {
      for (int64_t step = 0; step < phase_steps(own.train, phase); ++step)
        learner.step(phase, step);
      EXPECT_FALSE(learner.find_not_finite()) << precision;
    };
    const torch::Tensor before = learner.adam().parameters().clone();
    all_steps(Phase::pretrain);
    EXPECT_FALSE(torch::equal(learner.adam().parameters(), before)) << "the networks have moved";
    learner.place_components();
    const torch::Tensor counts = learner.model().prior.posteriors[1].counts;
    const torch::Tensor placed = counts.clone();
    all_steps(Phase::initialise);
    EXPECT_FALSE(torch::equal(counts, placed)) << "the components have moved";
    learner.clear_encodings();
    all_steps(Phase::joint);
    // A natural-gradient step moves images between components and loses none.
    EXPECT_NEAR(counts.sum().item<double>(),
                12 * own.model.hyperprior.c0 + static_cast<double>(learner.image_count()), 1e-6);
  }
}

TEST_F(WithoutKernels, StepsAreNotCaptured) {
  cuda::CudaGraphCache graphs(device_);
  int bodies = 0;
  for (int i = 0; i < 10; ++i) graphs.step(1, [&] { ++bodies; });
  EXPECT_EQ(bodies, 10);
}

}  // namespace
}  // namespace facet
