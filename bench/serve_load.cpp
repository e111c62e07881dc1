// How fast a running `facet serve` answers: users who ask for one generated picture after another,
// each on a connection of its own. Prints one JSON object with the times that requests took.
//   facet serve runs/demo --port 8080 &  bench_serve_load 8080 [users] [seconds] [states a request]
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "tests/serve/http_client.h"

namespace {

using Clock = std::chrono::steady_clock;

/// A request whose every factor is drawn with a seed of its own.
std::string request_body(uint64_t seed, int states) {
  std::string body;
  for (int i = 0; i < states; ++i)
    body += fmt::format("{}{{\"seed\": {}}}", i == 0 ? "" : ", ", seed + static_cast<uint64_t>(i));
  return "{\"states\": [" + body + "]}";
}

double percentile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_serve_load PORT [users] [seconds] [states]\n");
    return 2;
  }
  const int port = std::atoi(argv[1]), users = argc > 2 ? std::atoi(argv[2]) : 4;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 5;
  const int states = argc > 4 ? std::atoi(argv[4]) : 1;
  std::mutex mutex;
  std::vector<double> times;  // milliseconds
  int failures = 0;
  const auto start = Clock::now();
  std::vector<std::thread> threads;
  for (int user = 0; user < users; ++user)
    threads.emplace_back([&, user] {
      facet::HttpClient client(port);
      for (uint64_t i = 0; Clock::now() - start < std::chrono::duration<double>(seconds); ++i) {
        const auto sent = Clock::now();
        const auto seed = static_cast<uint64_t>(user) * 1000000 + i * 100;
        const int status = client.post("/api/v1/generate", request_body(seed, states)).status;
        const double taken = std::chrono::duration<double, std::milli>(Clock::now() - sent).count();
        const std::lock_guard lock(mutex);
        times.push_back(taken);
        if (status != 200) ++failures;
        if (status == 0) return;
      }
    });
  for (std::thread& thread : threads) thread.join();
  const double passed = std::chrono::duration<double>(Clock::now() - start).count();
  std::sort(times.begin(), times.end());
  fmt::print(
      "{{\"users\": {}, \"states\": {}, \"requests\": {}, \"failures\": {}, "
      "\"requests_per_second\": {:.1f}, \"p50_ms\": {:.2f}, \"p95_ms\": {:.2f}, \"p99_ms\": "
      "{:.2f}, "
      "\"longest_ms\": {:.2f}}}\n",
      users, states, times.size(), failures, static_cast<double>(times.size()) / passed,
      percentile(times, 0.5), percentile(times, 0.95), percentile(times, 0.99), times.back());
  return failures == 0 ? 0 : 1;
}
