// The training display: one line that redraws itself on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <string>

#include "facet/train/trainer.h"

namespace facet {

class ProgressDisplay {
 public:
  ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;
  ~ProgressDisplay() { finish(); }  // an error's message starts on a line of its own

  void report(const StepReport& report);
  void evaluated(const Evaluation& evaluation, const StepReport& report);
  void notice(const std::string& sentence);
  /// Leaves the redrawn line behind.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void line(const std::string& text, bool passing);

  bool terminal_;
  int columns_ = 80;
  bool pending_ = false;  ///< a redrawn line is on the screen
  Clock::time_point phase_start_, last_plain_;
  Phase phase_ = Phase::done;
  int64_t first_step_ = 0;
};

}  // namespace facet
