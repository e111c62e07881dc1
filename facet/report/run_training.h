// A whole training run, from its config to its evaluation: what `facet train` and every run of a
// sweep do. Progress goes to callbacks.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "facet/core/rank_place.h"
#include "facet/train/callbacks.h"
#include "facet/train/config.h"
#include "facet/train/shard.h"
#include "facet/train/sweep_plan.h"

namespace facet {

class Trainer;
struct Pack;

struct TrainingRequest {
  Config config;
  std::filesystem::path folder;
  std::string device = "auto";
  bool resume = false;
  std::optional<RankPlace> place = {};          ///< among ranks that train it together
  std::chrono::milliseconds rank_timeout = {};  ///< after which a rank that does not answer is lost
};

/// What is known before the first step.
struct TrainingStart {
  int64_t network_parameters = 0, images = 0;
  std::string device;  ///< "cpu" or "cuda:0"
  double memory = 0;   ///< an estimate of the bytes that it needs there
};

struct TrainingEvents {
  TrainingCallbacks training;
  std::function<void(const TrainingStart&)> started;
  std::function<void()> trained;  ///< everything is saved; the evaluation follows
};

/// Trains a run to its end and finishes it. Nothing where `training.stop` ended it early; the run
/// folder then holds what it goes on from. The first rank evaluates; others get empty evaluations.
std::optional<Evaluation> train_run(const TrainingRequest& request, const TrainingEvents& events);

/// Writes a sheet of samples and then the evaluation of a trained run: on the test split, or, in a
/// pack without one, on the train split. A run with an evaluation is a finished one.
Evaluation finish_run(Trainer& trainer, const Pack& pack, const Config& config,
                      const RunFolder& folder);

struct SweepRequest {
  std::filesystem::path folder;
  std::string device = "auto";
  int64_t jobs = 0;  ///< runs at the same time; 0: as many as fit on a GPU, one on the CPU
  Shard shard = {};  ///< the runs that this process takes
};

/// Called from the threads of the runs, several at a time.
struct SweepEvents {
  std::function<void(size_t jobs, const std::string& device)> begin;  ///< before the first run
  std::function<void(size_t run)> started;
  std::function<void(size_t run, const StepReport&)> report;
  std::function<void(size_t run, const std::string& sentence)> notice;
  std::function<void(size_t run, const RunOutcome&)> ended;
  std::function<RunOutcome(size_t run)> latest;  ///< as it is now, by whatever process
  std::function<void(size_t run, const std::string& sentence)> held;  ///< by another process
  std::function<bool()> stop;
};

/// Trains and finishes every run of a sweep that is not finished and that no other process has;
/// `outcomes` has one entry per run, and is brought up to date.
void train_sweep(const SweepPlan& plan, const SweepRequest& request, const SweepEvents& events,
                 std::vector<RunOutcome>& outcomes);

}  // namespace facet
