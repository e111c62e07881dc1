// A sweep: one config trained once for every combination of some options' values, each as a run
// folder of its own, so that every command works on it. Runs share the data and do not know of each
// other: each is, bit for bit, what `facet train` makes of its config.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "facet/train/sweep_plan.h"
#include "facet/train/trainer.h"

namespace facet {

/// The data that runs are trained on: what several of them name is loaded once, and is once on the
/// device.
class SharedPacks {
 public:
  explicit SharedPacks(const SweepPlan& plan);
  const Pack& of(const Config& config) const;

 private:
  std::map<std::string, std::shared_ptr<Pack>> packs_;  ///< by the options that name them
};

struct SweepOptions {
  std::filesystem::path folder;
  torch::Device device = torch::kCPU;
  size_t jobs = 1;  ///< runs at the same time, each in its own host thread and CUDA stream
};

/// Called from the threads of the runs, several at a time.
struct SweepCallbacks {
  /// What a run is to be told while it trains, and asked whether it shall stop.
  std::function<TrainingCallbacks(size_t run)> training;
  /// Evaluates a trained run and writes what it leaves behind: eval.json at last.
  std::function<void(Trainer&, const Pack&, const SweepRun&, const RunFolder&)> finish;
  std::function<void(size_t run)> started;
  std::function<void(size_t run, const RunOutcome&)> ended;
};

/// Trains what is not finished yet: runs that were begun go on, others start. One that fails does
/// not keep the others from going on. `outcomes` has one entry a run, with what is known of earlier
/// sittings, and is brought up to date.
void run_sweep(const SweepPlan& plan, const SharedPacks& packs, const SweepOptions& options,
               const SweepCallbacks& callbacks, std::vector<RunOutcome>& outcomes);

}  // namespace facet
