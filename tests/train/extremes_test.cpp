// Data sets at the edge: all of them train to finite bounds.
#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/eval/bounds.h"
#include "facet/train/trainer.h"
#include "tests/temporary_folder.h"
#include "tests/train/runs.h"

namespace facet {
namespace {

/// Images of 16x16, all for training.
Pack training_pack(const torch::Tensor& images) {
  Pack pack;
  pack.images = images;
  pack.labels = torch::empty({images.size(0), 0}, kInt32);
  pack.split = torch::zeros({images.size(0)}, kUInt8);
  pack.origin = "a test";
  return pack;
}

torch::Tensor noise_images(int64_t count) {
  return torch::arange(count * 256).square().remainder(251).to(kUInt8).view({count, 1, 16, 16});
}

class ExtremesTest : public testing::Test {
 protected:
  ExtremesTest() {
    config_.model.likelihood.kind = "gaussian";
    config_.model.likelihood.minimum_stddev = 0.05;
    config_.model.network = {"custom", {8, 8}, {2, 2}, 3};
    config_.model.factors = {{"only", 3, 2}};
    config_.train.batch_size = 4;
    config_.train.pretrain.steps = 5;
    config_.train.initialise.steps = 5;
    config_.train.joint.steps = 20;
    config_.train.log_every = 5;
  }
  /// The bound on its own images after training.
  double bound(const Pack& pack) {
    const RunFolder run{folder_ / std::to_string(runs_++)};
    Trainer trainer(config_, pack, run, torch::kCPU, false, {});
    EXPECT_TRUE(trainer.run());
    const ImageSet images = select_images(pack, {Split::train}, config_.data, false, torch::kCPU);
    return evaluate(trainer.model(), images, pack.properties, "train", {.merge = true}).elbo;
  }

  TemporaryFolder folder_;
  Config config_;
  int runs_ = 0;
};

TEST_F(ExtremesTest, OneImageInAll) {
  config_.train.batch_size = 1;
  config_.model.factors = {{"only", 1, 2}};
  EXPECT_TRUE(std::isfinite(bound(training_pack(noise_images(1)))));
}

TEST_F(ExtremesTest, ConstantImages) {
  for (const int64_t value : {0, 128, 255}) {
    const torch::Tensor images = torch::full({12, 1, 16, 16}, value, kUInt8);
    EXPECT_TRUE(std::isfinite(bound(training_pack(images)))) << value;
  }
}

TEST_F(ExtremesTest, FarMoreComponentsThanImages) {
  config_.model.factors = {{"only", 200, 2}};
  EXPECT_TRUE(std::isfinite(bound(training_pack(noise_images(12)))));
}

TEST_F(ExtremesTest, OneDimension) {
  config_.model.factors = {{"first", 3, 1}, {"second", 2, 1}};
  EXPECT_TRUE(std::isfinite(bound(training_pack(noise_images(40)))));
}

TEST_F(ExtremesTest, AComponentWithOneImageAndOneWithAllOthers) {
  torch::Tensor images = torch::full({20, 1, 16, 16}, 10, kUInt8);
  images[0].fill_(250);
  config_.model.factors = {{"only", 2, 2}};
  EXPECT_TRUE(std::isfinite(bound(training_pack(images))));
}

TEST_F(ExtremesTest, ALabelThatNoImageHasAndOneThatAllHave) {
  Pack pack = training_pack(noise_images(20));
  pack.labels = torch::zeros({20, 1}, kInt32);
  pack.properties = {{"kind", {"all", "none"}}};
  config_.model.factors = {{"kind", 2, 2, "kind", {}}, {"free", 2, 2, "", {}}};
  config_.train.joint.label_weight = {10, 10, 0, "linear"};
  EXPECT_TRUE(std::isfinite(bound(pack)));
}

}  // namespace
}  // namespace facet
