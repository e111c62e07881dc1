// The runs that a process takes from a sweep, one after another, while other processes take theirs
// from the same folder. A run is claimed (core/claim.h) before anything is done with it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "facet/core/claim.h"
#include "facet/train/sweep.h"

namespace facet {

struct ClaimedRun {
  size_t index;
  std::unique_ptr<Claim> claim;
};

class RunQueue {
 public:
  /// `outcomes` are what is known at the start; next() brings those of other processes up to date.
  RunQueue(const SweepPlan& plan, const SweepOptions& options, const SweepCallbacks& callbacks,
           std::vector<RunOutcome>& outcomes);

  /// The next run to train, or nothing when all are finished or left to others. A run whose owner
  /// gives no sign of life is waited for until it does or can be taken over. Threads may share it.
  std::optional<ClaimedRun> next();
  /// From now on there is none.
  void close();

 private:
  bool stopped(size_t run) const;
  /// Nothing where another process has the run, or where nothing is left to do (`closed_` says so).
  std::unique_ptr<Claim> claim(size_t run);
  /// Whether to look again at runs that others have, after some time.
  bool wait_for_owners(const std::vector<size_t>& runs);

  const SweepPlan& plan_;
  const SweepOptions& options_;
  const SweepCallbacks& callbacks_;
  std::vector<RunOutcome>& outcomes_;
  std::mutex mutex_;
  std::vector<bool> closed_;           ///< runs that this process need not look at any more
  std::map<size_t, int64_t> renewed_;  ///< of claims on other machines, when first seen
};

}  // namespace facet
