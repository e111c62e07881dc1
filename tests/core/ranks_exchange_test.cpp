// The ways in which tensors get from rank to rank, side by side: through the store they arrive as
// they do through Gloo, to the bit.
#include <thread>

#include <gtest/gtest.h>

#include "facet/core/rank_exchange.h"
#include "facet/core/rank_join.h"
#include "facet/core/rank_store.h"
#include "facet/core/torch.h"

namespace facet {
namespace {

using namespace std::chrono_literals;

using Act = std::function<std::vector<torch::Tensor>(RankExchange&, const RankPlace&)>;

/// What `act` gives at every one of `size` ranks, through Gloo or through the store.
std::vector<std::vector<torch::Tensor>> results_of(int64_t size, bool gloo, const Act& act) {
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
      const RankStorePointer own = open_rank_store(place, false, 5s);
      const auto exchange =
          gloo ? make_gloo_exchange(own, place, 5s) : make_store_exchange(own, place);
      try {
        results[static_cast<size_t>(rank)] = act(*exchange, place);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return results;
}

/// Different numbers at every rank; their sum depends on the order in which they are added.
torch::Tensor numbers_of(int64_t rank, std::vector<int64_t> shape) {
  return torch::linspace(-1, 1, torch::empty(shape).numel(), kFloat32)
      .mul_(std::pow(10.0, static_cast<double>(rank)))
      .sin()
      .view(shape);
}

std::vector<torch::Tensor> exchange_all(RankExchange& exchange, const RankPlace& place) {
  std::vector<torch::Tensor> results;
  for (int repeat = 0; repeat < 3; ++repeat) {
    torch::Tensor all = torch::empty({place.size, 5, 3}, kFloat64);
    exchange.all_gather(all, numbers_of(place.rank + repeat, {5, 3}).to(kFloat64));
    // Rank r gets r + 1 rows of everybody, more than a value of the store holds.
    std::vector<int64_t> to, from(static_cast<size_t>(place.size), place.rank + 1);
    int64_t rows = 0;
    for (int64_t rank = 0; rank < place.size; ++rank) to.push_back(rank + 1);
    for (const int64_t count : to) rows += count;
    torch::Tensor received = torch::empty({place.size * (place.rank + 1), 600001}, kFloat32);
    exchange.all_to_all(received, numbers_of(place.rank, {rows, 600001}), from, to);
    results.insert(results.end(), {all, received});
  }
  torch::Tensor bytes = torch::empty({place.size, 2}, kUInt8);
  exchange.all_gather(bytes, torch::full({2}, place.rank, kUInt8));
  torch::Tensor sum = numbers_of(place.rank, {1000});
  exchange.sum(sum);
  results.insert(results.end(), {bytes, sum});
  return results;
}

TEST(RankExchanges, ThroughTheStoreAreThoseOfGloo) {
  if (!gloo_available()) GTEST_SKIP() << "NOT TESTED: the store beside Gloo, which is not here";
  for (const int64_t size : {1, 2, 3}) {
    const auto expected = results_of(size, true, exchange_all),
               found = results_of(size, false, exchange_all);
    for (size_t rank = 0; rank < expected.size(); ++rank) {
      ASSERT_EQ(expected[rank].size(), found[rank].size());
      // Gloo adds in an order of its own: up to the rounding of a sum of so many numbers.
      for (size_t i = 0; i + 1 < found[rank].size(); ++i)
        EXPECT_TRUE(torch::equal(found[rank][i], expected[rank][i])) << "tensor " << i;
      EXPECT_TRUE(torch::allclose(found[rank].back(), expected[rank].back(), 0, 1e-6));
      EXPECT_TRUE(torch::equal(found[rank].back(), found[0].back())) << "the same at all ranks";
    }
  }
}

TEST(RankExchanges, ThroughTheStoreGatherInOrder) {
  const auto found = results_of(3, false, [](RankExchange& exchange, const RankPlace& place) {
    torch::Tensor all = torch::empty({3, 2}, kInt64);
    exchange.all_gather(all, torch::full({2}, 7 + place.rank, kInt64));
    return std::vector<torch::Tensor>{all};
  });
  for (const auto& of_rank : found)
    EXPECT_TRUE(torch::equal(of_rank[0], torch::tensor({7, 7, 8, 8, 9, 9}, kInt64).view({3, 2})));
}

TEST(RankExchanges, ThroughTheStoreLeaveNothingBehind) {
  const RankStore store;
  const RankPlace place{.rank = 0,
                        .size = 1,
                        .address = "127.0.0.1",
                        .port = store.port(),
                        .store_of_starter = true,
                        .attempt = "0"};
  const RankStorePointer own = open_rank_store(place, false, 5s);
  const auto exchange = make_store_exchange(own, place);
  torch::Tensor all = torch::empty({1, 4}, kFloat32);
  exchange->all_gather(all, torch::zeros({4}, kFloat32));
  const int64_t keys = own->getNumKeys();
  for (int repeat = 0; repeat < 20; ++repeat)
    exchange->all_gather(all, torch::zeros({4}, kFloat32));
  EXPECT_LE(own->getNumKeys(), keys + 1);
}

}  // namespace
}  // namespace facet
