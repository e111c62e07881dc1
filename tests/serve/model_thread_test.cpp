// The thread of the networks: work in the background leaves it to people while they ask for things.
#include "facet/serve/model_thread.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace facet {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

TEST(ModelThread, WorkInTheBackgroundWaitsForAPause) {
  ModelThread thread;
  thread.run([] {});
  const auto asked = Clock::now();
  Clock::time_point began;
  thread.run_in_pause([&] { began = Clock::now(); });
  EXPECT_GE(began - asked, milliseconds(250));  // 300 after the request, which ended just before
}

TEST(ModelThread, WorkInTheBackgroundIsDoneWithoutAPauseToo) {
  ModelThread thread;
  std::atomic<bool> ending = false;
  std::atomic<int> requests = 0;
  std::thread people([&] {
    while (!ending) {
      thread.run([&] { ++requests; });
      std::this_thread::sleep_for(milliseconds(10));
    }
  });
  while (requests == 0) std::this_thread::yield();
  const auto began = Clock::now();
  for (int n = 0; n < 2; ++n) thread.run_in_pause([] {});
  EXPECT_GE(Clock::now() - began, milliseconds(900));  // each waited half a second
  ending = true;
  people.join();
  EXPECT_GE(requests, 2);
}

TEST(ModelThread, NothingIsAskedSoNothingWaits) {
  ModelThread thread;
  std::this_thread::sleep_for(milliseconds(5));
  int done = 0;
  const auto began = Clock::now();
  for (int n = 0; n < 1000; ++n) thread.run_in_pause([&] { ++done; });
  EXPECT_EQ(done, 1000);
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(60));  // 300 with a pause before each
}

}  // namespace
}  // namespace facet
