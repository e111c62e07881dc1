// Ranks on several hosts: network namespaces with addresses of their own, joined by a switch, so
// that a cable can be pulled. They need root; without it the tests are skipped.
#include <array>
#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include "tests/cli/run_program.h"
#include "tests/contains.h"

namespace facet {
namespace {

constexpr int kHosts = 3;

/// Hosts 10.77.0.1 to 10.77.0.3, and a switch.
class Hosts {
 public:
  Hosts() {
    made_ = ip({"netns", "add", switch_}) &&
            ip({"-n", switch_, "link", "add", "sw", "type", "bridge"}) &&
            ip({"-n", switch_, "link", "set", "sw", "up"});
    for (int host = 0; host < kHosts && made_; ++host) {
      const std::string name = this->name(host), port = fmt::format("port{}", host);
      made_ = ip({"netns", "add", name}) &&
              ip({"-n", switch_, "link", "add", port, "type", "veth", "peer", "name", "eth0",
                  "netns", name}) &&
              ip({"-n", switch_, "link", "set", port, "master", "sw", "up"}) &&
              ip({"-n", name, "address", "add", address(host) + "/24", "dev", "eth0"}) &&
              ip({"-n", name, "link", "set", "eth0", "up"}) &&
              ip({"-n", name, "link", "set", "lo", "up"});
    }
  }
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;
  ~Hosts() {
    for (int host = 0; host < kHosts; ++host) ip({"netns", "del", name(host)});
    ip({"netns", "del", switch_});
  }

  /// False where this is not allowed here.
  bool made() const { return made_; }
  std::string name(int host) const { return fmt::format("facet-{}-{}", getpid(), host); }
  static std::string address(int host) { return fmt::format("10.77.0.{}", host + 1); }
  /// Nothing arrives from then on, and nobody is told.
  bool pull_cable(int host) const {
    return ip({"-n", switch_, "link", "set", fmt::format("port{}", host), "down"});
  }

 private:
  static bool ip(std::vector<std::string> words) {
    words.insert(words.begin(), "ip");
    return RunningProgram(words).wait().status == 0;
  }

  std::string switch_ = fmt::format("facet-{}-switch", getpid());
  bool made_ = false;
};

class RanksOnHosts : public testing::Test {
 protected:
  void SetUp() override {
    if (!hosts_.made())
      GTEST_SKIP() << "NOT TESTED: ranks on several hosts, because network namespaces cannot be "
                      "made here (root and iproute2 are needed)";
    write_text(folder_ / "config.json", tiny_config(R"("batch_parts": 3, "pretrain": {"steps": 20},
                 "initialise": {"steps": 5}, "joint": {"steps": 200}, "log_every": 5,
                 "checkpoint_every": 20, "evaluate_every": 0,
                 "learning_rate": {"start": 1e-3, "end": 1e-3})"),
               "test");
  }

  using Process = std::unique_ptr<RunningProgram>;
  std::array<Process, kHosts> start(const std::string& out) {
    std::array<Process, kHosts> ranks;
    for (int rank = 0; rank < kHosts; ++rank) {
      std::vector<std::string> command = {"ip",
                                          "netns",
                                          "exec",
                                          hosts_.name(rank),
                                          "env",
                                          fmt::format("RANK={}", rank),
                                          "WORLD_SIZE=3",
                                          "MASTER_ADDR=" + Hosts::address(0),
                                          "MASTER_PORT=29500"};
      const auto train_it =
          facet_command({"train", "config.json", "--out", out, "--rank-timeout", "6"});
      command.insert(command.end(), train_it.begin(), train_it.end());
      ranks[static_cast<size_t>(rank)] =
          std::make_unique<RunningProgram>(command, ProgramOptions{.folder = folder_.path()});
    }
    return ranks;
  }
  ProgramResult train(std::vector<std::string> more) {
    more.insert(more.begin(), "train");
    return run_facet(more, {.folder = folder_.path()});
  }
  void expect_same_run(const std::string& one, const std::string& other) {
    for (const char* file : {"metrics.jsonl", "model.safetensors", "state.safetensors"})
      EXPECT_TRUE(read_text(folder_ / one / file, "test") ==
                  read_text(folder_ / other / file, "test"))
          << file << " of " << other;
  }

  Hosts hosts_;
  TemporaryFolder folder_;
};

TEST_F(RanksOnHosts, GiveWhatOneProcessGivesAndEndWhenACableIsPulled) {
  for (const Process& rank : start("three")) {
    const ProgramResult result = rank->wait();
    EXPECT_EQ(result.status, 0) << result.err;
  }
  ASSERT_EQ(train({"config.json", "--out", "one"}).status, 0);
  expect_same_run("one", "three");

  const auto ranks = start("cut");
  ASSERT_TRUE(wait_until([&] { return contains(ranks[0]->printed(), "joint"); }));
  ASSERT_TRUE(hosts_.pull_cable(2));
  const auto begin = std::chrono::steady_clock::now();
  for (int rank = 0; rank < kHosts; ++rank) {
    const ProgramResult result = ranks[static_cast<size_t>(rank)]->wait();
    EXPECT_EQ(result.status, 1) << result.err;
    EXPECT_EQ(count_of(result.err, "\n"), 1u) << result.err;
    // Those who still reach each other miss the third, which sees that it is cut off.
    expect_parts(result.err,
                 {rank == 2 ? "cannot be reached" : "no sign of life of rank 2", "--resume"});
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(taken.count(), 6.0 + 2.0);  // the time-out, and what a busy machine needs
  EXPECT_EQ(train({"--out", "cut", "--resume"}).status, 0);
  expect_same_run("one", "cut");
}

}  // namespace
}  // namespace facet
