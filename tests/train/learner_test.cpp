// Training steps: plans depend on phase and step alone, tensors are never reallocated, streamed
// images give the same run, and a failed GPU leaves the last checkpoint.
#include "facet/train/learner.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/train/trainer.h"
#include "facet/train/training_data.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"
#include "tests/train/runs.h"

namespace facet {
namespace {

/// 240 training portraits of 16x16, a named factor with labels for one image in twenty, a free one.
Config learner_config() {
  Config config;
  config.data.portraits = {300, 16, 1};
  config.data.label_fraction = 0.05;
  config.model.likelihood.kind = "gaussian";
  config.model.likelihood.minimum_stddev = 0.1;
  config.model.network = {"custom", {4, 6}, {2, 2}, 3};
  config.model.factors = {{"glasses", 2, 2, "glasses", {}}, {"free", 3, 2, "", {}}};
  config.train.batch_size = 16;
  config.train.pretrain.steps = 20;
  config.train.initialise = {50, true, 5, 20};
  config.train.joint.steps = 20;
  config.train.learning_rate = {2e-3, 1e-3, 0, "linear"};
  config.train.log_every = 10;
  config.train.checkpoint_every = 10;
  config.train.evaluate_every = 0;
  return config;
}

/// A planner with everything it needs.
struct Planning {
  Config config = learner_config();
  ImageSet images = select_images(portraits(300), {Split::train}, config.data, true, torch::kCPU);
  torch::Tensor labels =
      factor_labels(images.labels, find_label_columns(config.model.factors, portraits(300)));
  Batches batches{images, Key(1), 16}, labelled{images, Key(2), 4};

  StepPlanner planner(bool with_labelled) {
    return {config, Key(3), batches, with_labelled ? &labelled : nullptr, labels};
  }
};

TEST(UsableLabels, AreOfDataWithTheModelsPropertiesAndValues) {
  Pack pack = portraits(60);
  const Config config = with_value_names(learner_config(), pack);
  const std::vector<FactorOptions>& factors = config.model.factors;
  const auto usable = [&] {
    return usable_labels(factors, pack,
                         select_images(pack, {Split::train}, config.data, true, torch::kCPU));
  };
  const torch::Tensor labels = usable();
  ASSERT_TRUE(labels.defined());
  EXPECT_TRUE(labels.ge(0).any().item<bool>());
  for (Property& property : pack.properties)
    std::reverse(property.values.begin(), property.values.end());
  EXPECT_FALSE(usable().defined()) << "other values have these numbers";
  pack.properties.clear();
  pack.labels = torch::empty({pack.count(), 0}, kInt32);
  EXPECT_FALSE(usable().defined());
}

TEST(StepPlan, IsAFunctionOfPhaseAndStepAlone) {
  Planning one, other;
  StepPlanner forward = one.planner(true), alone = other.planner(true);
  for (const Phase phase : {Phase::pretrain, Phase::initialise, Phase::joint}) {
    StepPlan last;
    for (int64_t step = 0; step < 40; ++step) last = forward.plan(phase, step);
    const StepPlan plan = alone.plan(phase, 39);
    EXPECT_TRUE(torch::equal(plan.images, last.images));
    EXPECT_EQ(plan.labelled.defined(), phase == Phase::joint);
    if (plan.labelled.defined()) {
      EXPECT_TRUE(torch::equal(plan.labelled, last.labelled));
    }
    EXPECT_EQ(plan.learning_rate, last.learning_rate);
    EXPECT_EQ(plan.gradient_step, phase == Phase::pretrain ? 39 : 20 + 39);
  }
}

TEST(StepPlan, MixturesAreFrozenOnlyAtTheStartOfTheJointPhase) {
  Planning planning;
  planning.config.train.joint.freeze_prior_steps = 5;
  StepPlanner planner = planning.planner(false);
  EXPECT_EQ(planner.plan(Phase::joint, 4).step_size, 0.0);
  EXPECT_GT(planner.plan(Phase::joint, 5).step_size, 0.0);
  EXPECT_GT(planner.plan(Phase::initialise, 0).step_size, 0.0);
}

TEST(Learner, FrozenMixturesDoNotChange) {
  Config config = learner_config();
  config.data.label_fraction = 0;
  config.train.joint.freeze_prior_steps = 3;
  config.train.joint.refit_every = 1;
  const TemporaryFolder folder;
  Trainer trainer(config, portraits(300), {folder.path() / "run"}, torch::kCPU, false, {});
  trainer.place_components();
  const auto natural = [&] { return trainer.model().prior.posteriors[1].components.alpha.clone(); };
  const torch::Tensor placed = natural();
  for (int i = 0; i < 3; ++i) trainer.joint_step();
  EXPECT_TRUE(torch::equal(natural(), placed));
  trainer.joint_step();
  EXPECT_FALSE(torch::equal(natural(), placed));
}

TEST(StepPlan, IsSupervisedIfTheBatchHasALabel) {
  Planning planning;
  StepPlanner planner = planning.planner(false);
  int64_t supervised = 0;
  for (int64_t step = 0; step < 30; ++step) {
    const StepPlan plan = planner.plan(Phase::joint, step);
    EXPECT_EQ(plan.supervised,
              planning.labels.index_select(0, plan.images).ge(0).any().item<bool>());
    supervised += plan.supervised;
    EXPECT_FALSE(planner.plan(Phase::pretrain, step).supervised);
    EXPECT_TRUE(planning.planner(true).plan(Phase::joint, step).supervised)
        << "has a labelled batch";
  }
  EXPECT_GT(supervised, 5);  // twelve labels in fifteen batches
  EXPECT_LT(supervised, 25);
  planning.config.train.joint.label_weight = {100, 0, 10, "step"};
  StepPlanner falling = planning.planner(true);
  EXPECT_TRUE(falling.plan(Phase::joint, 9).supervised);
  EXPECT_FALSE(falling.plan(Phase::joint, 10).supervised);
}

TEST(EncodedImages, AreFewerWhereTheirEncodingsWouldNotFit) {
  Config config;
  config.model.factors = {{"one", 5, 40, "", {}}, {"other", 5, 24, "", {}}};
  config.train.initialise.images = 0;
  EXPECT_EQ(encoded_images(config, 50'000), 50'000);
  EXPECT_FALSE(too_many_encodings(config, 50'000));
  EXPECT_EQ(encoded_images(config, 10'000'000), 3'906'250);  // 64 dimensions of 16 bytes in 4 GB
  EXPECT_EQ(too_many_encodings(config, 10'000'000),
            "the encodings of 10000000 images need 10.2 GB, more than 4.0: the mixtures are fitted "
            "to 3906250 of them, chosen anew for every fit");
  config.train.initialise.images = 20'000;
  EXPECT_EQ(encoded_images(config, 10'000'000), 20'000);
  EXPECT_FALSE(too_many_encodings(config, 10'000'000));
}

TEST(PlanTable, GivesThePlansInOrderInTheSameMemory) {
  PlanTable table(3, 2, torch::kCPU);
  const StepSlots& slots = table.slots();
  const void* const address = slots.images.data_ptr();
  std::vector<StepPlan> plans;
  for (int64_t step = 0; step < PlanTable::capacity; ++step)
    plans.push_back({step, step + 100, 0.1, 0.2, 0.3, 0.4, 1.0 / static_cast<double>(step + 1),
                     true, torch::tensor({step, step + 1, step + 2}),
                     torch::tensor({step + 7, step})});
  for (int round = 0; round < 2; ++round) {
    table.fill(plans);
    for (const StepPlan& plan : plans) {
      table.advance();
      EXPECT_EQ(slots.step.item<int64_t>(), plan.step);
      EXPECT_EQ(slots.gradient_step.item<int64_t>(), plan.gradient_step);
      EXPECT_EQ(slots.learning_rate.item<double>(), 0.1);
      EXPECT_EQ(slots.named_rate.item<double>(), 0.2);
      EXPECT_EQ(slots.kl_weight.item<double>(), 0.3);
      EXPECT_EQ(slots.label_weight.item<double>(), 0.4);
      EXPECT_EQ(slots.step_size.item<double>(), plan.step_size);
      EXPECT_TRUE(torch::equal(slots.images, plan.images));
      EXPECT_TRUE(torch::equal(slots.labelled, plan.labelled));
    }
  }
  EXPECT_EQ(slots.images.data_ptr(), address);
}

TEST(Learner, StepsReallocateNoTensor) {
  Config config = learner_config();
  config.model.factors[1].components = 12;
  config.train.initialise.images = 8;  // fewer than components, so that some are dead
  config.train.joint.labelled_batch = 4;
  config.train.joint.refit_every = 5;
  Learner learner(config, portraits(300), torch::kCPU, {}, {});
  const auto addresses = [&] {
    std::vector<const void*> result = {
        learner.sums().data_ptr(),
        learner.model().strategy().optimizers().at("glasses").moments().second.data_ptr()};
    for (const auto& [name, parameter] : learner.model().parameters()) {
      result.push_back(parameter.data_ptr());
      result.push_back(parameter.grad().data_ptr());
    }
    for (const FactorPosterior& posterior : learner.model().prior.posteriors)
      for (const torch::Tensor& numbers :
           {posterior.components.log_alpha, posterior.components.alpha,
            posterior.components.alpha_mu, posterior.components.alpha_mu2, posterior.counts})
        result.push_back(numbers.data_ptr());
    return result;
  };
  const auto before = addresses();
  learner.step(Phase::pretrain, 0);
  learner.place_components();
  learner.step(Phase::initialise, 0);
  for (int64_t step = 0; step < 12; ++step) learner.step(Phase::joint, step);
  EXPECT_EQ(addresses(), before);
  EXPECT_FALSE(learner.find_not_finite());
}

TEST(Learner, StepsCanBeTakenInAnyOrder) {
  Learner straight(learner_config(), portraits(300), torch::kCPU, {}, {}),
      other(learner_config(), portraits(300), torch::kCPU, {}, {});
  straight.step(Phase::pretrain, 7);
  other.step(Phase::pretrain, 3);
  other.step(Phase::pretrain, 7);
  straight.step(Phase::pretrain, 3);
  // The sums depend on the batches and their order: `other` saw the same two in another order.
  EXPECT_EQ(straight.sums()[0].item<double>(), 2);
  Learner again(learner_config(), portraits(300), torch::kCPU, {}, {});
  again.step(Phase::pretrain, 7);
  again.step(Phase::pretrain, 3);
  EXPECT_TRUE(torch::equal(again.sums(), straight.sums()));
  EXPECT_FALSE(torch::equal(again.sums(), other.sums()));
}

TEST(Trainer, StreamedImagesGiveTheSameRun) {
  TemporaryFolder folder;
  Config config = learner_config();
  config.data.binarize = "draw";
  config.model.likelihood.kind = "bernoulli";
  config.train.joint.labelled_batch = 4;
  for (const bool streamed : {false, true})
    ASSERT_TRUE(Trainer(config, portraits(300), {folder / (streamed ? "streamed" : "resident")},
                        torch::kCPU, false, {}, {.stream_images = streamed})
                    .run());
  for (const char* file : {"state.safetensors", "metrics.jsonl", "model.safetensors"})
    expect_same_file(folder / "streamed" / file, folder / "resident" / file);
}

TEST(Trainer, AFailedGpuEndsTheRunWithOneLineAndLeavesTheCheckpoint) {
  TemporaryFolder folder;
  const RunFolder run{folder / "run"}, straight{folder / "straight"};
  const Config config = learner_config();
  TrainingCallbacks callbacks;
  callbacks.stop = [calls = 0]() mutable -> bool {
    if (++calls == 15)  // between two checkpoints
      TORCH_CHECK(false, "CUDA error: an illegal memory access was encountered\nmore lines");
    return false;
  };
  const std::string message = message_of(
      [&] { Trainer(config, portraits(300), run, torch::kCPU, false, callbacks).run(); });
  for (const char* part : {"step 14 of phase pretrain", "stopped working", "illegal memory access",
                           "at step 10 of phase pretrain, is unchanged", "--resume"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  ASSERT_TRUE(Trainer(config, portraits(300), run, torch::kCPU, true, {}).run());
  ASSERT_TRUE(Trainer(config, portraits(300), straight, torch::kCPU, false, {}).run());
  expect_same_file(run.state(), straight.state());
  expect_same_file(run.metrics(), straight.metrics());
}

TEST(Trainer, OtherErrorsAreNotBlamedOnTheGpu) {
  TemporaryFolder folder;
  TrainingCallbacks callbacks;
  callbacks.stop = []() -> bool { TORCH_CHECK(false, "sizes do not match"); };
  EXPECT_THROW(
      Trainer(learner_config(), portraits(300), {folder / "run"}, torch::kCPU, false, callbacks)
          .run(),
      c10::Error);
}

}  // namespace
}  // namespace facet
