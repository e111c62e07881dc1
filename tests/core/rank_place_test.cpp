#include "facet/core/rank_place.h"

#include <map>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "tests/contains.h"
#include "tests/message_of.h"

namespace facet {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<RankPlace> place_with(const Variables& variables) {
  return find_rank_place([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return {};
    return found->second;
  });
}

TEST(RankPlace, IsThatOfTorchrun) {
  Variables variables = {{"RANK", "2"},
                         {"WORLD_SIZE", "3"},
                         {"LOCAL_RANK", "1"},
                         {"MASTER_ADDR", "node1"},
                         {"MASTER_PORT", "1234"}};
  const auto place = place_with(variables);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 2);
  EXPECT_EQ(place->size, 3);
  EXPECT_EQ(place->local_rank, 1);
  EXPECT_EQ(place->address, "node1");
  EXPECT_EQ(place->port, 1234);
  variables["RANK"] = "0";
  EXPECT_TRUE(place_with(variables)->hosts_store);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_FALSE(place_with(variables)->hosts_store);
}

TEST(RankPlace, IsThatOfASlurmTask) {
  Variables variables = {
      {"SLURM_JOB_ID", "77"},       {"SLURM_STEP_ID", "0"},
      {"SLURM_PROCID", "1"},        {"SLURM_NTASKS", "4"},
      {"SLURM_LOCALID", "1"},       {"SLURM_JOB_NODELIST", "node[03-05,7],login1"},
      {"SLURM_STEP_NUM_TASKS", "2"}};
  const auto place = place_with(variables);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 1);
  EXPECT_EQ(place->size, 2) << "tasks of the step, not of the job";
  EXPECT_EQ(place->address, "node03");
  EXPECT_EQ(place->local_rank, 1);
  variables["SLURM_PROCID"] = "0";
  variables["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_FALSE(place_with(variables)) << "a step of one task";
  variables.erase("SLURM_STEP_NUM_TASKS");
  variables.erase("SLURM_STEP_ID");
  EXPECT_FALSE(place_with(variables)) << "the batch script";
  variables["SLURM_NTASKS"] = "1";
  variables["SLURM_STEP_ID"] = "0";
  EXPECT_FALSE(place_with(variables)) << "a job of one task";
}

TEST(RankPlace, IsThatOfAnOpenMpiProcess) {
  Variables variables = {{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
  ASSERT_TRUE(place_with(variables));
  EXPECT_EQ(place_with(variables)->local_rank, 1);
  EXPECT_EQ(place_with(variables)->address, "127.0.0.1");
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  EXPECT_TRUE(contains(message_of([&] { place_with(variables); }), "MASTER_ADDR"));
}

TEST(RankPlace, IsNoneForASingleProcess) {
  EXPECT_FALSE(place_with({}));
  EXPECT_FALSE(place_with({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
}

TEST(RankPlace, IsRefusedWhereVariablesContradict) {
  const auto refusal = [](const Variables& variables) {
    return message_of([&] { place_with(variables); });
  };
  EXPECT_TRUE(contains(refusal({{"WORLD_SIZE", "2"}}), "no RANK beside it"));
  EXPECT_TRUE(contains(refusal({{"RANK", "0"}}), "no WORLD_SIZE beside it"));
  EXPECT_TRUE(contains(refusal({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), "at most 1"));
  EXPECT_TRUE(contains(refusal({{"RANK", "one"}, {"WORLD_SIZE", "2"}}), "'one'"));
  EXPECT_TRUE(contains(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), "MASTER_ADDR"));
}

TEST(RankPlace, FirstHostOfAList) {
  EXPECT_EQ(first_host("node1"), "node1");
  EXPECT_EQ(first_host("node1,node2"), "node1");
  EXPECT_EQ(first_host("gpu-[007,9]"), "gpu-007");
  EXPECT_EQ(first_host("a[1-2],b"), "a1");
}

}  // namespace
}  // namespace facet
