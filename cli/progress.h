// The training display: one line that redraws itself on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <string>

#include "facet/train/callbacks.h"

namespace facet {

/// "3m20s".
std::string duration_text(double seconds);

/// "elbo -92.1 = -80.2 - 8.2 - 3.7  living 61/64": what a report says of the bound.
std::string terms_text(const StepReport& report);

/// Steps a second, measured from the first report of a phase on.
class StepRate {
 public:
  /// "  12 steps/s, 3m20s left"; empty at a phase's first report.
  std::string text(const std::string& phase, int64_t step, int64_t steps);
  std::string text(const StepReport& report);

 private:
  double per_second(const std::string& phase, int64_t step);  ///< 0 where it cannot be told yet

  std::chrono::steady_clock::time_point start_;
  std::string phase_;
  int64_t first_step_ = 0;
};

class ProgressDisplay {
 public:
  ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;
  ~ProgressDisplay() { finish(); }  // an error's message starts on a line of its own

  void report(const StepReport& report);
  /// `step` of `steps` of a phase are done; `text` says how it goes.
  void progress(const std::string& phase, int64_t step, int64_t steps, const std::string& text);
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
  StepRate rate_;
  Clock::time_point last_plain_;
  std::string phase_;
};

}  // namespace facet
