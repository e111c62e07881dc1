#include "cli/sweep_display.h"

#include <algorithm>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace facet {

namespace {

constexpr auto between_redraws = std::chrono::milliseconds(100);
constexpr auto between_plain_lines = std::chrono::seconds(10);  // as `facet train` has it

}  // namespace

SweepDisplay::SweepDisplay(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes)
    : terminal_(isatty(STDOUT_FILENO) != 0) {
  ended_ = static_cast<size_t>(
      std::count_if(outcomes.begin(), outcomes.end(),
                    [](const RunOutcome& outcome) { return outcome.state == RunState::finished; }));
  for (const SweepRun& run : plan.runs) {
    names_.push_back(run.name);
    name_width_ = std::max(name_width_, run.name.size());
  }
  winsize size{};
  if (terminal_ && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 &&
      size.ws_row > 4) {
    columns_ = size.ws_col;
    rows_ = size.ws_row;
  }
}

void SweepDisplay::clear() {
  if (drawn_ > 0) fmt::print("\x1b[{}A\r\x1b[J", drawn_);
  drawn_ = 0;
}

void SweepDisplay::redraw() {
  clear();
  const size_t most = rows_ - 3;  // the screen must not scroll, or lines could not be drawn over
  size_t shown = 0;
  for (const auto& [run, line] : lines_) {
    if (shown == most) break;
    const std::string text = fmt::format("{:<{}}  {}", names_[run], name_width_, line.text);
    fmt::print("{}\n", text.substr(0, columns_ - 1));
    ++shown;
  }
  fmt::print("{} of {} runs done, {} under way\n", ended_, names_.size(), lines_.size());
  drawn_ = shown + 1;
  last_drawn_ = Clock::now();
  std::fflush(stdout);
}

void SweepDisplay::say(const std::string& text) {
  clear();
  fmt::print("{}\n", text);
  if (terminal_ && !lines_.empty()) redraw();
  std::fflush(stdout);
}

void SweepDisplay::started(size_t run) {
  const std::lock_guard lock(mutex_);
  lines_[run].text = "starting";
  if (terminal_)
    redraw();
  else
    say(fmt::format("{}: starting", names_[run]));
}

void SweepDisplay::report(size_t run, const StepReport& report) {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  Line& line = lines_[run];
  line.text = fmt::format("{} {}/{}{}  {}", phase_name(report.phase), report.step,
                          report.phase_steps, line.rate.text(report), terms_text(report));
  if (terminal_) {
    if (now - last_drawn_ >= between_redraws) redraw();
    return;
  }
  const bool due = report.phase != line.phase || report.step == report.phase_steps ||
                   now - line.last_plain >= between_plain_lines;
  if (!due) return;
  line.phase = report.phase;
  line.last_plain = now;
  say(fmt::format("{}: {}", names_[run], line.text));
}

void SweepDisplay::ended(size_t run, const RunOutcome& outcome) {
  const std::lock_guard lock(mutex_);
  lines_.erase(run);
  if (outcome.state != RunState::stopped) ++ended_;
  std::string text = fmt::format("{}: {}", names_[run], state_name(outcome.state));
  if (outcome.state == RunState::finished)
    text += fmt::format(", {} elbo {:.2f}, in {}", outcome.evaluation["split"].get<std::string>(),
                        outcome.evaluation["elbo"].get<double>(), duration_text(outcome.seconds));
  if (outcome.state == RunState::failed) text += ": " + outcome.failure;
  say(text);
}

void SweepDisplay::notice(size_t run, const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  if (terminal_)
    lines_[run].text = sentence;
  else
    say(fmt::format("{}: {}", names_[run], sentence));
}

void SweepDisplay::notice(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  say(sentence);
}

void SweepDisplay::finish() {
  const std::lock_guard lock(mutex_);
  clear();
  std::fflush(stdout);
}

}  // namespace facet
