// Who of the ranks lives. Gloo says that a connection has failed, but not whose fault it was: every
// rank also counts in the store, from a thread of its own, how often it was alive and to how many
// exchanges it has come. When an exchange fails, the counts that stand still name the lost rank.
// The first rank to find it writes it to the store, so that all give the same reason. On GPUs the
// host may wait for one that waits for a lost rank: there every rank also guards the next one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace facet {

/// What is done when a rank is lost, without being asked for a reason.
struct RankGuard {
  std::chrono::milliseconds patience{};  ///< with the next rank, when there is no sign of life
  std::function<void()> leave = {};      ///< called once, by the thread of the watch
};

class RankWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// `store` is used by this watch alone: a call may block for good when the network is cut.
  /// `names` are those of all ranks for messages, "rank 2 (process 812 on node7)".
  RankWatch(c10::intrusive_ptr<c10d::Store> store, int64_t rank, std::vector<std::string> names,
            std::string store_host, std::chrono::milliseconds interval, RankGuard guard = {});
  ~RankWatch();

  /// Counts an exchange to which this rank has come.
  void enter() { ++state_->entered; }
  /// Why an exchange has failed: what another rank has written, or who is lost. Takes a few
  /// intervals. `message` is that of the exchange.
  std::string reason(const std::string& message);
  /// Writes a reason for all ranks, unless there is one. Waits a few intervals at most.
  void publish(const std::string& reason);
  std::chrono::milliseconds interval() const { return state_->interval; }
  /// Whether the guard has found that a rank is lost.
  bool lost() const { return state_->lost; }

  /// The names of keys in the store.
  static std::string alive_key(int64_t rank);
  static const char* failure_key() { return "failure"; }

 private:
  struct Sight {
    std::string value;
    Clock::time_point changed;
    int64_t entered = 0;
  };
  /// Shared with the thread, which outlives this object where it is blocked.
  struct State {
    c10::intrusive_ptr<c10d::Store> store;
    int64_t rank = 0;
    std::chrono::milliseconds interval;
    std::atomic<int64_t> entered{0};
    std::mutex mutex;
    std::condition_variable wake;
    bool stop = false, looking = false;
    bool store_lost = false, ended = false;
    RankGuard guard;
    std::string guarded_name;  ///< of the next rank
    Sight guarded;
    std::atomic<bool> lost = false;
    Clock::time_point answered;
    std::string to_publish, failure;
    std::vector<Sight> ranks;
  };

  static void keep_watching(const std::shared_ptr<State>& state);
  static void look(State& state);
  static void look_at_next(State& state);
  static void leave(State& state, const std::string& reason);
  bool store_silent(const State& state) const;
  /// Empty while it cannot be told.
  std::string lost_ranks(const State& state) const;
  std::string latest_rank(const State& state, const std::string& message) const;

  std::vector<std::string> names_;
  std::string store_host_;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace facet
