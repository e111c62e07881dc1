// What ranks pay for their exchanges on this machine: the time of a small one, which is latency,
// and of gradients of several sizes, exact and fast. docs/scale.md builds its model on these
// numbers.
//   bench_exchange [ranks]
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "facet/core/rank_store.h"
#include "facet/core/ranks.h"
#include "facet/core/torch.h"

namespace {

using namespace facet;
using Clock = std::chrono::steady_clock;

/// The median of the times that an exchange takes, in microseconds.
double median_time(const std::function<void()>& exchange) {
  constexpr size_t repeats = 201;
  std::vector<double> times(repeats);
  for (double& time : times) {
    const auto begin = Clock::now();
    exchange();
    time = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[repeats / 2];
}

void measure(Ranks& ranks) {
  const auto say = [&](const std::string& what, double microseconds) {
    if (ranks.first()) fmt::print("{:28}{:10.0f} us\n", what, microseconds);
  };
  const std::vector<int64_t> one_each(static_cast<size_t>(ranks.size()), 1);
  say("any()", median_time([&] { ranks.any(false); }));
  const torch::Tensor number = torch::zeros({1}, kFloat64);
  say("gather(), a number", median_time([&] { ranks.gather(number, one_each); }));
  for (const int64_t parameters : {1 << 16, 194394, 1 << 22}) {
    torch::Tensor gradient = torch::zeros({1, parameters}, kFloat32);
    say(fmt::format("sum_rows(), {} kB", parameters / 256), median_time([&] {
          torch::Tensor sum = gradient[0];
          ranks.sum_rows(gradient, one_each, sum);
        }));
    say(fmt::format("sum(), {} kB", parameters / 256), median_time([&] { ranks.sum(gradient); }));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t size = argc > 1 ? std::atoi(argv[1]) : 2;
  at::set_num_threads(1);
  const RankStore store;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      Ranks ranks({.rank = rank,
                   .size = size,
                   .address = "127.0.0.1",
                   .port = store.port(),
                   .store_of_starter = true,
                   .attempt = "0"},
                  std::chrono::seconds(60));
      measure(ranks);
    });
  for (std::thread& thread : threads) thread.join();
}
