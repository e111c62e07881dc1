// Steps of ranks, which are threads here, against those of one process: the same to the bit. On a
// GPU one rank exchanges through NCCL inside captured steps, and two share the GPU through the
// host.
#include <thread>

#include <gtest/gtest.h>

#include "facet/core/device.h"
#include "facet/core/rank_store.h"
#include "facet/core/ranks.h"
#include "facet/core/torch.h"
#include "facet/train/learner.h"
#include "tests/train/runs.h"

namespace facet {
namespace {

/// Labels, a labelled batch and conditional samples: networks are passed several times per part.
Config rank_config(int64_t parts) {
  Config config;
  config.data.portraits = {200, 16, 1};
  config.data.labels_per_value = 20;
  config.model.likelihood.kind = "gaussian";
  config.model.network = {"custom", {8, 16}, {2, 2}, 3};
  config.model.factors = {{"free", 4, 3, "", {}}, {"glasses", 2, 2, "glasses", {}}};
  config.train.batch_size = 22;
  config.train.batch_parts = parts;
  config.train.joint.labelled_batch = 4;
  config.train.joint.consistency_weight = 0.5;
  return config;
}

/// The weights, the prior and the metrics after so many steps that they are captured.
std::vector<torch::Tensor> after_rank_steps(const Config& config, torch::Device device,
                                            std::shared_ptr<Ranks> ranks) {
  Learner learner(config, portraits(200), device, {.ranks = std::move(ranks)}, {});
  for (int64_t step = 0; step < 6; ++step) learner.step(Phase::pretrain, step);
  learner.place_components();
  learner.clear_encodings();
  learner.sums().zero_();
  for (int64_t step = 0; step < 8; ++step) learner.step(Phase::joint, step);
  std::vector<torch::Tensor> result = {learner.adam().parameters().cpu(), learner.sums().cpu()};
  for (const FactorPosterior& posterior : learner.model().prior.posteriors)
    for (const auto& [name, tensor] : posterior.tensors()) result.push_back(tensor.cpu());
  return result;
}

/// What every one of `size` ranks has after its steps.
std::vector<std::vector<torch::Tensor>> of_ranks(int64_t size, const Config& config,
                                                 torch::Device device) {
  portraits(200);  // made before threads want them
  prepare_for_threads(device);
  const RankStore store;
  std::vector<std::vector<torch::Tensor>> results(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      const RankPlace place{.rank = rank,
                            .size = size,
                            .address = "127.0.0.1",
                            .port = store.port(),
                            .store_of_starter = true,
                            .attempt = "0"};
      try {
        const auto ranks = std::make_shared<Ranks>(place, std::chrono::seconds(60), device);
        EXPECT_EQ(ranks->remark().has_value(), device.is_cuda() && size > 1);
        results[static_cast<size_t>(rank)] = after_rank_steps(config, device, ranks);
        ranks->barrier();
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return results;
}

void expect_steps_of_one_process(int64_t size, int64_t parts) {
  const torch::Device device = choose_device("auto");
  const Config config = rank_config(parts);
  const auto expected = after_rank_steps(config, device, {});
  for (const auto& found : of_ranks(size, config, device)) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_TRUE(torch::equal(found[i], expected[i])) << "tensor " << i;
  }
}

TEST(RankSteps, OfOneRankAreThoseOfNone) {
  expect_steps_of_one_process(1, 1);
  expect_steps_of_one_process(1, 3);
}

TEST(RankSteps, OfTwoRanksAreThoseOfNone) { expect_steps_of_one_process(2, 3); }

}  // namespace
}  // namespace facet
