// The cost of a step: against counting by hand for a network of one layer, against the model's
// number of parameters, and for the paper's two networks.
#include "facet/train/step_cost.h"

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/data/pack.h"
#include "facet/model/vae.h"

namespace facet {
namespace {

TEST(StepCost, OfOneConvolutionAgreesWithCountingByHand) {
  ModelOptions model;
  model.network = {"custom", {4}, {2}, 3};
  model.factors = {{"factor", 5, 2}};
  const StepCost cost = joint_step_cost(model, {1, 6, 6}, 7);
  // 3x3 pixels of 4 channels with 3x3 kernels: 324 multiply-adds, the same in the decoder.
  const double convolution = 2 * 324, head = 2 * 36 * 4, stem = 2 * 2 * 36;
  const double encoder = convolution + head, decoder = stem + convolution;
  EXPECT_EQ(cost.network_operations, 7 * (3 * (encoder + decoder) - convolution + encoder));
  EXPECT_EQ(cost.prior_operations, 16 * 7 * 5 * 2);
  EXPECT_EQ(cost.pixel_bytes, 7 * 36);
  EXPECT_EQ(cost.prior_bytes, 3 * 8 * (4 * 5 * 2 + 5));
}

TEST(StepCost, CountsTheParametersOfTheModel) {
  for (const char* preset : {"paper28", "small32"}) {
    ModelOptions model;
    model.network.preset = preset;
    const ImageShape shape = {1, 28, 28};
    const Vae vae(model, shape, Key(1));
    double encoder = 0;
    for (const auto& [name, parameter] : vae.encoder().parameters())
      encoder += static_cast<double>(parameter.numel());
    const auto all = static_cast<double>(vae.network_parameters());
    EXPECT_EQ(joint_step_cost(model, shape, 64).parameter_bytes, 4 * (10 * all + encoder))
        << preset;
  }
}

TEST(StepCost, OfThePapersNetworks) {
  ModelOptions small;
  small.network.preset = "paper28";
  EXPECT_NEAR(joint_step_cost(small, {1, 28, 28}, 64).network_operations, 7.516e9, 1e6);
  ModelOptions large;
  large.network.preset = "paper64";
  large.likelihood.kind = "gaussian";
  large.factors = {{"factor", 64, 320}};
  EXPECT_NEAR(joint_step_cost(large, {3, 64, 64}, 64).network_operations, 214.4e9, 1e8);
}

TEST(StepCost, MemoryGrowsWithTheBatchAndTheImages) {
  Config config;
  Pack pack;
  pack.images = torch::empty({1000, 3, 32, 32}, kUInt8);
  const double memory = training_memory(config, pack, torch::kCPU);
  EXPECT_GT(memory, 1000 * 3 * 32 * 32);
  config.train.batch_size = 4096;
  EXPECT_GT(training_memory(config, pack, torch::kCPU), memory);
}

TEST(StepCost, ImagesOfAFileNeedNoMemoryOnTheCpu) {
  Config config;
  Pack pack;
  pack.images = torch::empty({1000, 3, 32, 32}, kUInt8);
  const double drawn = training_memory(config, pack, torch::kCPU);
  config.data.pack = "p-*.safetensors";
  const double images = 1000 * 3 * 32 * 32;
  EXPECT_NEAR(training_memory(config, pack, torch::kCPU), drawn - images, 1);
  EXPECT_EQ(training_memory(config, pack, torch::kCUDA), drawn);
  config.data.binarize = "fixed";
  EXPECT_EQ(training_memory(config, pack, torch::kCPU), drawn);
}

}  // namespace
}  // namespace facet
