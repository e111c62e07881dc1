#include "facet/core/torch.h"
#include "facet/data/batch_part.h"
#include "facet/train/learner.h"
#include "tests/train/runs.h"

namespace facet {
namespace {

TEST(BatchParts, CoverTheBatchInOrder) {
  for (const int64_t parts : {1, 3, 7, 9}) {
    int64_t next = 0;
    for (const BatchPart& part : parts_of_batch(7, parts)) {
      EXPECT_EQ(part.begin(), next);
      EXPECT_GT(part.count(), 0);
      next += part.count();
    }
    EXPECT_EQ(next, 7);
  }
}

TEST(BatchParts, DrawWhatTheWholeBatchDraws) {
  const Key key = Key(5).fold("noise");
  const torch::TensorOptions options = torch::TensorOptions().dtype(kFloat32);
  const torch::Tensor normal = standard_normal(key.fold(2), {10, 3}, options);
  const torch::Tensor level = uniform(key.fold(2), {10}, options);
  for (const BatchPart& part : parts_of_batch(10, 3)) {
    const Key own = part.rows(key).fold(2);
    EXPECT_TRUE(torch::equal(standard_normal(own, {part.count(), 3}, options), part.rows(normal)));
    EXPECT_TRUE(torch::equal(uniform(own, {part.count()}, options), part.rows(level)));
  }
}

Config config_with(const std::string& prior, int64_t parts) {
  Config config;
  config.data.portraits = {200, 16, 1};
  config.data.labels_per_value = 20;
  config.data.mirror = true;
  config.model.prior = prior;
  config.model.likelihood.kind = "gaussian";
  config.model.network.preset = "custom";
  config.model.network.channels = {8, 8};
  config.model.network.strides = {2, 2};
  config.model.factors = {{"free", prior == "normal" ? 1 : 4, 3, "", {}}};
  if (prior == "mixture") config.model.factors.push_back({"glasses", 2, 2, "glasses", {}});
  config.train.batch_size = 22;
  config.train.batch_parts = parts;
  config.train.joint.labelled_batch = 4;  // fewer than parts
  config.train.joint.pseudo_labels.weight = 0.5;
  config.train.joint.pseudo_labels.threshold = 0.5;
  config.train.joint.consistency_weight = prior == "mixture" ? 0.5 : 0.0;
  config.train.input_noise = 0.1;
  // Adam's first steps have the size of the learning rate whatever the gradient: with tiny
  // gradients rounding would decide their sign.
  config.train.adam.epsilon = 1.0;
  return config;
}

/// The weights, the prior and the metrics after two steps of pre-training and three joint ones.
std::vector<torch::Tensor> after_steps(const std::string& prior, int64_t parts) {
  Learner learner(config_with(prior, parts), portraits(200), torch::kCPU, {}, {});
  for (int64_t step = 0; step < 2; ++step) learner.step(Phase::pretrain, step);
  learner.place_components();
  learner.clear_encodings();
  learner.sums().zero_();
  for (int64_t step = 0; step < 3; ++step) learner.step(Phase::joint, step);
  std::vector<torch::Tensor> result = {learner.adam().parameters().clone(), learner.sums().clone()};
  for (const FactorPosterior& posterior : learner.model().prior.posteriors)
    for (const auto& [name, tensor] : posterior.tensors()) result.push_back(tensor.clone());
  for (const auto& [name, tensor] : learner.state()) result.push_back(tensor.clone());
  return result;
}

TEST(BatchParts, TakeTheStepOfTheWholeBatch) {
  for (const std::string prior : {"mixture", "point_mass", "vamp", "normal"}) {
    const auto whole = after_steps(prior, 1), parts = after_steps(prior, 6);
    ASSERT_EQ(whole.size(), parts.size());
    for (size_t i = 0; i < whole.size(); ++i) {
      const double size = whole[i].abs().max().item<double>();
      const double off = (whole[i] - parts[i]).abs().max().item<double>();
      EXPECT_LE(off, 1e-4 * size) << prior << ", tensor " << i;
    }
  }
}

}  // namespace
}  // namespace facet
