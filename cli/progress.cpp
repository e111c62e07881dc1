#include "cli/progress.h"

#include <cmath>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace facet {

std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::lround(seconds));
  if (whole >= 3600) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  return whole >= 60 ? fmt::format("{}m{:02}s", whole / 60, whole % 60) : fmt::format("{}s", whole);
}

namespace {

std::string living_text(const StepReport& report) {
  std::string text;
  for (const StepReport::Factor& factor : report.factors)
    text += fmt::format("{}{}/{}", text.empty() ? "" : " ", factor.living, factor.components);
  return text;
}

}  // namespace

std::string terms_text(const StepReport& report) {
  std::string text;
  if (report.phase != Phase::initialise)
    text = fmt::format("elbo {:.2f} = {:.2f} - {:.2f}", report.elbo, report.reconstruction,
                       report.kl_z);
  else
    text = fmt::format("kl_z {:.2f}", report.kl_z);
  if (report.phase != Phase::pretrain)
    text +=
        fmt::format("{}{:.2f}", report.phase == Phase::initialise ? " kl_r " : " - ", report.kl_r);
  if (!report.factors.empty()) text += "  living " + living_text(report);
  return text;
}

double StepRate::per_second(const std::string& phase, int64_t step) {
  const auto now = std::chrono::steady_clock::now();
  if (phase != phase_) {
    phase_ = phase;
    start_ = now;
    first_step_ = step;
  }
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const auto done = static_cast<double>(step - first_step_);
  return done > 0 && elapsed > 0 ? done / elapsed : 0;
}

std::string StepRate::text(const std::string& phase, int64_t step, int64_t steps) {
  const double rate = per_second(phase, step);
  if (rate == 0) return "";
  return fmt::format("  {:.{}f} steps/s, {} left", rate, rate < 10 ? 1 : 0,
                     duration_text(static_cast<double>(steps - step) / rate));
}

std::string StepRate::text(const StepReport& report) {
  return text(phase_name(report.phase), report.step, report.phase_steps);
}

ProgressDisplay::ProgressDisplay() : terminal_(isatty(STDOUT_FILENO) != 0) {
  winsize size{};
  if (terminal_ && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
    columns_ = size.ws_col;
}

void ProgressDisplay::line(const std::string& text, bool passing) {
  if (terminal_) {
    const std::string shown = passing ? text.substr(0, static_cast<size_t>(columns_ - 1)) : text;
    fmt::print("\r\x1b[K{}{}", shown, passing ? "" : "\n");
    pending_ = passing;
  } else {
    fmt::print("{}\n", text);
  }
  std::fflush(stdout);
}

void ProgressDisplay::report(const StepReport& report) {
  progress(phase_name(report.phase), report.step, report.phase_steps, terms_text(report));
}

void ProgressDisplay::progress(const std::string& phase, int64_t step, int64_t steps,
                               const std::string& text) {
  const auto now = Clock::now();
  if (phase != phase_) {
    phase_ = phase;
    last_plain_ = {};
  }
  const std::string rate = rate_.text(phase, step, steps);
  const double share = static_cast<double>(step) / static_cast<double>(std::max<int64_t>(1, steps));
  if (terminal_) {
    constexpr int width = 16;
    const auto filled = static_cast<size_t>(share * width);
    line(fmt::format("{:<10} [{}{}] {:3.0f} %{}  {}", phase, std::string(filled, '#'),
                     std::string(width - filled, '.'), 100 * share, rate, text),
         true);
    return;
  }
  // A log file wants a line every ten seconds, not every hundred steps.
  const bool last = step == steps;
  if (!last && last_plain_ != Clock::time_point{} && now - last_plain_ < std::chrono::seconds(10))
    return;
  last_plain_ = now;
  line(fmt::format("{} {}/{}{}  {}", phase, step, steps, rate, text), false);
}

void ProgressDisplay::evaluated(const Evaluation& evaluation, const StepReport& report) {
  std::string used;
  for (const FactorEvaluation& factor : evaluation.factors)
    used += fmt::format(" {}/{}", factor.used, factor.components);
  line(fmt::format("{} {}: valid elbo {:.2f} = {:.2f} - {:.2f} - {:.2f}, used{}",
                   phase_name(report.phase), report.step, evaluation.elbo,
                   evaluation.reconstruction, evaluation.kl_z, evaluation.kl_r, used),
       false);
}

void ProgressDisplay::notice(const std::string& sentence) { line(sentence, false); }

void ProgressDisplay::finish() {
  if (pending_) fmt::print("\n");
  pending_ = false;
}

}  // namespace facet
