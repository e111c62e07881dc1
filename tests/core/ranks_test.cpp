// The exchanges between ranks, which are threads here; tests/cli/ranks_test.cpp has processes.
#include "facet/core/ranks.h"

#include <filesystem>
#include <sched.h>
#include <thread>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/network.h"
#include "facet/core/rank_exchange.h"
#include "facet/core/rank_store.h"
#include "facet/core/torch.h"
#include "tests/contains.h"

namespace facet {
namespace {

using namespace std::chrono_literals;

/// Runs `act` as every one of `size` ranks at the same time; what each has thrown.
std::vector<std::string> as_ranks(int64_t size, const std::function<void(Ranks&)>& act) {
  const RankStore store;
  std::vector<std::string> thrown(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        Ranks ranks({.rank = rank,
                     .size = size,
                     .address = "127.0.0.1",
                     .port = store.port(),
                     .store_of_starter = true,
                     .attempt = "0"},
                    3s);
        act(ranks);
      } catch (const std::exception& error) {
        thrown[static_cast<size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

const std::vector<std::string> kNothingThrown(3);

TEST(Ranks, GatherRowsInTheirOrder) {
  const torch::Tensor all = torch::arange(12, kFloat32).view({6, 2});
  const std::vector<int64_t> rows = {1, 0, 5};
  EXPECT_EQ(as_ranks(3,
                     [&](Ranks& ranks) {
                       const int64_t begin[] = {0, 1, 1};
                       const auto rank = static_cast<size_t>(ranks.rank());
                       const torch::Tensor own = all.narrow(0, begin[rank], rows[rank]);
                       EXPECT_TRUE(torch::equal(ranks.gather(own, rows), all));
                     }),
            kNothingThrown);
}

torch::Tensor sum_of_rows(Ranks& ranks, const torch::Tensor& own,
                          const std::vector<int64_t>& rows) {
  torch::Tensor sum = torch::empty({own.size(1)});
  ranks.sum_rows(own, rows, sum);
  return sum;
}

TEST(Ranks, AddRowsInTheirOrderWhoeverHasThem) {
  // Numbers whose sum depends on the order in which they are added; not a multiple of three.
  const torch::Tensor all = torch::randn({7, 1000}).mul_(torch::logspace(-4, 4, 7).view({7, 1}));
  torch::Tensor expected = all[0].clone();
  for (int64_t row = 1; row < 7; ++row) expected.add_(all[row]);
  ASSERT_FALSE(torch::equal(expected, all.narrow(0, 0, 3).sum(0) + all.narrow(0, 3, 4).sum(0)));
  for (const std::vector<int64_t>& rows : std::vector<std::vector<int64_t>>{{2, 2, 3}, {5, 1, 1}})
    EXPECT_EQ(as_ranks(3,
                       [&](Ranks& ranks) {
                         const auto rank = static_cast<size_t>(ranks.rank());
                         const int64_t begin[] = {0, rows[0], rows[0] + rows[1]};
                         const torch::Tensor own = all.narrow(0, begin[rank], rows[rank]);
                         EXPECT_TRUE(torch::equal(sum_of_rows(ranks, own, rows), expected));
                       }),
              kNothingThrown);
}

TEST(Ranks, AddTheirRowsInPlace) {
  for (const int64_t columns : {2, 3, 1000}) {  // fewer than ranks, as many, and not a multiple
    const torch::Tensor all = torch::randn({3, columns});
    const torch::Tensor expected = all[0] + all[1] + all[2];
    EXPECT_EQ(as_ranks(3,
                       [&](Ranks& ranks) {
                         torch::Tensor own = all[ranks.rank()].clone();
                         ranks.sum_rows(own.unsqueeze(0), {1, 1, 1}, own);
                         EXPECT_TRUE(torch::equal(own, expected)) << columns;
                       }),
              kNothingThrown);
  }
}

TEST(Ranks, ShareNumbersAndTexts) {
  EXPECT_EQ(
      as_ranks(3,
               [](Ranks& ranks) {
                 torch::Tensor sum = torch::full({5}, static_cast<double>(ranks.rank()), kFloat32);
                 ranks.sum(sum);
                 EXPECT_TRUE(torch::equal(sum, torch::full({5}, 3.0, kFloat32)));
                 EXPECT_TRUE(ranks.any(ranks.rank() == 1));
                 EXPECT_FALSE(ranks.any(false));
                 EXPECT_EQ(ranks.broadcast(ranks.rank() == 2 ? "from two" : "", 2), "from two");
                 EXPECT_EQ(ranks.broadcast(ranks.rank() == 2 ? "" : "other", 2), "");
                 ranks.agree("the weather", "fine");
               }),
      kNothingThrown);
}

TEST(Ranks, OneThatHasJoinedExchangesWithItself) {
  const torch::Tensor rows = torch::randn({3, 10});
  EXPECT_EQ(as_ranks(1,
                     [&](Ranks& ranks) {
                       EXPECT_FALSE(ranks.alone());
                       EXPECT_TRUE(torch::equal(sum_of_rows(ranks, rows, {3}),
                                                rows[0] + rows[1] + rows[2]));
                       EXPECT_TRUE(torch::equal(ranks.gather(rows, {3}), rows));
                       EXPECT_TRUE(ranks.any(true));
                       ranks.barrier();
                     }),
            std::vector<std::string>(1));
  Ranks alone;
  EXPECT_TRUE(torch::equal(sum_of_rows(alone, rows, {3}), rows[0] + rows[1] + rows[2]));
}

TEST(Ranks, WaitForPacketsWithoutInterruptingWhoComputes) {
  if (!gloo_available()) GTEST_SKIP() << "ranks exchange through the store";
  if (sched_getscheduler(0) != SCHED_OTHER) GTEST_SKIP() << "a priority was chosen for the tests";
  EXPECT_EQ(
      as_ranks(3,
               [&](Ranks& ranks) {
                 EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
                 ranks.barrier();
                 int patient = 0;
                 for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
                   patient += sched_getscheduler(std::stoi(task.path().filename())) == SCHED_BATCH;
                 EXPECT_GE(patient, 3) << "at least one per rank that waits for packets";
                 ranks.barrier();
               }),
      kNothingThrown);
}

TEST(Ranks, NameWhoDisagrees) {
  const auto thrown = as_ranks(3, [](Ranks& ranks) {
    ranks.agree("the config", ranks.rank() == 2 ? "a=1\nb=3\n" : "a=1\nb=2\n");
  });
  for (const std::string& line : thrown)
    EXPECT_TRUE(contains(line, "found b=3 at rank 2") && contains(line, "b=2 as at rank 0"))
        << line;
}

TEST(Ranks, SayWhyARankFailed) {
  const auto thrown = as_ranks(3, [](Ranks& ranks) {
    if (ranks.rank() == 1) {
      ranks.report_failure("no space on the disk");
      return;
    }
    ranks.barrier();
  });
  EXPECT_EQ(thrown[1], "");
  for (const std::string& line : {thrown[0], thrown[2]})
    EXPECT_TRUE(contains(line, "a failure of rank 1") && contains(line, "no space on the disk"))
        << line;
}

TEST(Ranks, NameWhoComesLate) {
  const auto thrown = as_ranks(3, [](Ranks& ranks) {
    if (ranks.rank() == 2) std::this_thread::sleep_for(3500ms);
    ranks.barrier();
  });
  for (const std::string& line : {thrown[0], thrown[1]})
    EXPECT_TRUE(contains(line, "rank 2") && contains(line, "not at work in time")) << line;
}

TEST(Network, FindsListeners) {
  const RankStore store;
  EXPECT_FALSE(port_is_free(store.port()));
  EXPECT_TRUE(wait_for_listener("localhost", store.port(), 1s));
  EXPECT_EQ(own_address("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(own_address("no-such-host.invalid"), "");
}

}  // namespace
}  // namespace facet
