// The display of a sweep: on a terminal one line for every run under way, redrawn in place below
// what has been said; elsewhere a plain line of each run now and then. Runs report from their own
// threads.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cli/progress.h"
#include "facet/train/sweep_plan.h"

namespace facet {

class SweepDisplay {
 public:
  SweepDisplay(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes);
  SweepDisplay(const SweepDisplay&) = delete;
  SweepDisplay& operator=(const SweepDisplay&) = delete;
  ~SweepDisplay() { finish(); }

  void started(size_t run);
  void report(size_t run, const StepReport& report);
  void ended(size_t run, const RunOutcome& outcome);
  /// A sentence of one run.
  void notice(size_t run, const std::string& sentence);
  /// A sentence about all.
  void notice(const std::string& sentence);
  /// Takes the redrawn lines away.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  struct Line {
    std::string text;
    StepRate rate;
    Phase phase = Phase::done;
    Clock::time_point last_plain;
  };

  void say(const std::string& text);
  void clear();
  void redraw();

  std::mutex mutex_;
  std::vector<std::string> names_;
  size_t name_width_ = 0;
  bool terminal_;
  size_t columns_ = 80, rows_ = 24;
  std::map<size_t, Line> lines_;  ///< of the runs under way
  size_t drawn_ = 0;              ///< lines on the screen that are to be redrawn
  size_t ended_ = 0;
  Clock::time_point last_drawn_;
};

}  // namespace facet
