// A sweep: one run for every combination of some options' values, each in its own run folder, so
// that every command works on it. Runs share the data and are otherwise independent: the result of
// each is, bit for bit, that of `facet train` with its config. Several processes may work on one
// sweep: each run is claimed by one of them (train/run_queue.h).
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "facet/core/claim.h"
#include "facet/train/shard.h"
#include "facet/train/sweep_plan.h"
#include "facet/train/trainer.h"

namespace facet {

/// The data of all runs: a pack that several runs use is loaded once and is on the device once.
class SharedPacks {
 public:
  explicit SharedPacks(const SweepPlan& plan);
  const Pack& of(const Config& config) const;

 private:
  std::map<std::string, std::shared_ptr<Pack>> packs_;  ///< by the options that determine them
};

struct SweepOptions {
  std::filesystem::path folder;
  torch::Device device = torch::kCPU;
  size_t jobs = 1;   ///< runs at the same time, each in its own host thread and CUDA stream
  Shard shard = {};  ///< the runs that this process takes
  std::chrono::milliseconds renew_claims = kRenewClaim;
};

/// Called from the threads of the runs, several at the same time.
struct SweepCallbacks {
  /// The callbacks for the training of a run.
  std::function<TrainingCallbacks(size_t run)> training;
  /// Evaluates a trained run and writes its files, eval.json last.
  std::function<void(Trainer&, const Pack&, const SweepRun&, const RunFolder&)> finish;
  std::function<void(size_t run)> started;
  std::function<void(size_t run, const RunOutcome&)> ended;
  /// The outcome of a run as it is now, which other processes may have changed. May be empty.
  std::function<RunOutcome(size_t run)> latest;
  /// A sentence on a run that another process has. May be empty.
  std::function<void(size_t run, const std::string& sentence)> held;
};

/// Trains the runs of the shard that are not finished, resuming those that were started, also by
/// processes that have died; those that others are training are left to them. If a run fails, the
/// others go on. `outcomes` has one entry per run, with its results so far, and is updated.
void run_sweep(const SweepPlan& plan, const SharedPacks& packs, const SweepOptions& options,
               const SweepCallbacks& callbacks, std::vector<RunOutcome>& outcomes);

}  // namespace facet
