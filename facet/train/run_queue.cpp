#include "facet/train/run_queue.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

namespace facet {

RunQueue::RunQueue(const SweepPlan& plan, const SweepOptions& options,
                   const SweepCallbacks& callbacks, std::vector<RunOutcome>& outcomes)
    : plan_(plan), options_(options), callbacks_(callbacks), outcomes_(outcomes) {
  for (size_t run = 0; run < plan.runs.size(); ++run)
    closed_.push_back(!options.shard.has(run) || outcomes[run].state == RunState::finished);
}

bool RunQueue::stopped(size_t run) const {
  const TrainingCallbacks training = callbacks_.training(run);
  return training.stop && training.stop();
}

std::unique_ptr<Claim> RunQueue::claim(size_t run) {
  const std::filesystem::path folder = options_.folder / plan_.runs[run].name;
  const RunOutcome known = outcomes_[run];
  const auto look = [&] {
    if (callbacks_.latest) outcomes_[run] = callbacks_.latest(run);
    const RunOutcome& latest = outcomes_[run];
    // Another process has tried it meanwhile, and it would fail again. A later start may try.
    const bool failed = latest.state == RunState::failed &&
                        (known.state != RunState::failed || latest.seconds != known.seconds);
    closed_[run] = failed || latest.state == RunState::finished;
  };
  if (is_finished({folder})) look();  // a claim of every run that others have finished takes long
  if (closed_[run]) return nullptr;
  std::unique_ptr<Claim> claim = Claim::take(folder, options_.renew_claims);
  if (!claim) return nullptr;
  std::error_code ignored;  // opening the folder makes an NFS client ask for its present contents
  std::filesystem::directory_iterator(folder, ignored);
  look();  // again, because from here on nobody else changes it
  return closed_[run] ? nullptr : std::move(claim);
}

bool RunQueue::wait_for_owners(const std::vector<size_t>& runs) {
  using Life = ClaimHolder::Life;
  std::map<size_t, std::string> alive;
  for (const size_t run : runs) {
    const auto holder = claim_holder(options_.folder / plan_.runs[run].name);
    if (!holder || holder->life == Life::dead) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return true;
    }
    const bool first = renewed_.emplace(run, holder->renewed).second;
    if (holder->life == Life::alive || renewed_[run] != holder->renewed)
      alive[run] = holder->name;
    else if (first && callbacks_.held)
      callbacks_.held(run, fmt::format("waiting for a sign of life of {}", holder->name));
  }
  if (alive.size() < runs.size()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return true;
  }
  for (const auto& [run, owner] : alive) {
    closed_[run] = true;
    if (callbacks_.held) callbacks_.held(run, fmt::format("left to {}", owner));
  }
  return false;
}

std::optional<ClaimedRun> RunQueue::next() {
  const std::lock_guard lock(mutex_);
  for (;;) {
    std::vector<size_t> held;
    for (size_t run = 0; run < plan_.runs.size(); ++run) {
      if (closed_[run]) continue;
      if (stopped(run)) return {};
      if (auto claimed = claim(run)) {
        closed_[run] = true;
        return ClaimedRun{run, std::move(claimed)};
      }
      if (!closed_[run]) held.push_back(run);
    }
    if (held.empty() || !wait_for_owners(held)) return {};
  }
}

void RunQueue::close() {
  const std::lock_guard lock(mutex_);
  std::fill(closed_.begin(), closed_.end(), true);
}

}  // namespace facet
