#include "facet/train/sweep.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>

#include <c10/util/Exception.h>

#include "facet/core/device.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/cuda/cuda_graph.h"
#include "facet/train/run_queue.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

/// The options that determine which data are loaded.
std::string data_key(const Config& config) {
  const Json data = write_options(config.data);
  return config.data.pack.empty() ? data["portraits"].dump() : config.data.pack;
}

/// Thrown out of a run that another process has by now: unlike a run that is told to stop, it must
/// not save its state over that of the other.
struct RunTakenOver {};

/// Trains one run to the end, or until it is told to stop.
RunState train_run(const SweepRun& run, const Pack& pack, const RunFolder& folder,
                   torch::Device device, const TrainingCallbacks& training,
                   const SweepCallbacks& callbacks) {
  folder.remove_temporary_files();  // the run is claimed
  // A run that was killed before it saved its first state cannot be resumed.
  const bool started = folder.has_checkpoint();
  if (!started) {
    fs::remove(folder.config());
    fs::remove(folder.metrics());
  }
  Trainer trainer(run.config, pack, folder, device, started, training);
  if (!trainer.run()) return RunState::stopped;
  callbacks.finish(trainer, pack, run, folder);
  return RunState::finished;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void note_failure(RunOutcome& outcome, const std::string& text) {
  outcome.state = RunState::failed;
  outcome.failure = first_line(text);
  outcome.error = std::current_exception();
}

void train_noting_failures(const SweepRun& run, const Pack& pack, const SweepOptions& options,
                           const TrainingCallbacks& training, const SweepCallbacks& callbacks,
                           RunOutcome& outcome) {
  const RunFolder folder{options.folder / run.name};
  const auto start = std::chrono::steady_clock::now();
  outcome.failure.clear();
  try {
    outcome.state = train_run(run, pack, folder, options.device, training, callbacks);
    if (outcome.state == RunState::finished)
      outcome.evaluation = Json::parse(read_text(folder.evaluation(), "reading the evaluation"));
  } catch (const RunTakenOver&) {
    outcome.state = RunState::stopped;
  } catch (const c10::Error& error) {
    note_failure(outcome, error.what_without_backtrace());
  } catch (const std::exception& error) {
    note_failure(outcome, error.what());
  }
  outcome.seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

SharedPacks::SharedPacks(const SweepPlan& plan) {
  for (const SweepRun& run : plan.runs) {
    std::shared_ptr<Pack>& pack = packs_[data_key(run.config)];
    if (pack) continue;
    pack = std::make_shared<Pack>(load_data(run.config.data));
    pack->shared = std::make_shared<SharedPixels>();
  }
}

const Pack& SharedPacks::of(const Config& config) const { return *packs_.at(data_key(config)); }

void run_sweep(const SweepPlan& plan, const SharedPacks& packs, const SweepOptions& options,
               const SweepCallbacks& callbacks, std::vector<RunOutcome>& outcomes) {
  fs::create_directories(options.folder);
  remove_left_overs(options.folder, LeftOvers::of_the_dead);  // others may be at work
  RunQueue queue(plan, options, callbacks, outcomes);
  std::exception_ptr failure;  // outside the runs' training, such as a full disk
  std::mutex failing;
  const auto work = [&] {
    const cuda::StreamScope stream(options.device);
    while (const auto claimed = queue.next()) {
      const size_t index = claimed->index;
      TrainingCallbacks training = callbacks.training(index);
      training.stop = [stop = training.stop, &claim = *claimed->claim] {
        if (claim.lost()) throw RunTakenOver();
        return stop && stop();
      };
      callbacks.started(index);
      const SweepRun& run = plan.runs[index];
      train_noting_failures(run, packs.of(run.config), options, training, callbacks,
                            outcomes[index]);
      callbacks.ended(index, outcomes[index]);
    }
  };
  prepare_for_threads(options.device);
  std::vector<std::thread> threads;
  const auto work_noting_failures = [&] {
    try {
      work();
    } catch (...) {
      queue.close();  // current runs go on, no others start
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
    }
  };
  for (size_t i = 0; i < std::min(options.jobs, plan.runs.size()); ++i) {
    try {
      threads.emplace_back(work_noting_failures);
    } catch (const std::system_error&) {  // fewer runs at a time
      if (threads.empty()) throw;
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  // What those left who died between a run's last file and their release. Claims of other runs
  // stay: who sees ours on them, if only for a moment, would leave them to us.
  for (const fs::path& run : claimed_things(options.folder))
    if (is_finished({run})) Claim::take(run);
}

}  // namespace facet
