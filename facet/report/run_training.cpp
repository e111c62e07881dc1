#include "facet/report/run_training.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "facet/core/device.h"
#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/process.h"
#include "facet/core/ranks.h"
#include "facet/core/torch.h"
#include "facet/cuda/cuda_graph.h"
#include "facet/data/image_file.h"
#include "facet/eval/bounds.h"
#include "facet/report/figures.h"
#include "facet/train/run_lock.h"
#include "facet/train/step_cost.h"
#include "facet/train/sweep.h"
#include "facet/train/trainer.h"

namespace facet {

namespace {

/// As many as fit into the GPU's free memory; on the CPU one, which has all threads.
size_t job_count(int64_t wanted, const SweepPlan& plan, const SharedPacks& packs,
                 torch::Device device) {
  if (wanted > 0) return std::min(static_cast<size_t>(wanted), plan.runs.size());
  if (device.is_cpu()) return 1;
  double largest = 1;
  for (const SweepRun& run : plan.runs)
    largest = std::max(largest, training_memory(run.config, packs.of(run.config), device));
  const double fitting = 0.8 * static_cast<double>(cuda::free_memory(device)) / largest;
  return static_cast<size_t>(std::clamp(fitting, 1.0, static_cast<double>(plan.runs.size())));
}

/// Runs side by side share the threads of the CPU.
void share_threads(size_t jobs, torch::Device device) {
  if (device.is_cpu() && jobs > 1)
    torch::set_num_threads(std::max(1, torch::get_num_threads() / static_cast<int>(jobs)));
}

std::optional<Evaluation> train_on(const TrainingRequest& request, const TrainingEvents& events,
                                   const std::shared_ptr<Ranks>& joined, torch::Device device) {
  const Ranks& ranks = *joined;
  std::optional<RunLock> lock;
  if (ranks.first()) {
    lock.emplace(request.folder, request.resume ? "resuming the run in" : "starting a run in");
    // Says that a run is there, before any work is done.
    if (!request.resume && std::filesystem::exists(RunFolder{request.folder}.config()))
      RunFolder::create(request.folder);
  }
  const Pack pack = load_data(request.config.data);
  // The trainer makes the folder of a new run, after all checks of the config.
  const RunFolder folder =
      request.resume ? RunFolder::open(request.folder) : RunFolder{request.folder};
  // The first rank decides for all, as it soon writes a checkpoint.
  const bool anew = joined->any(ranks.first() && request.resume && folder.never_saved());
  if (anew && ranks.first() && events.training.notice)
    events.training.notice("the run was ended before its first checkpoint: it starts anew");
  TrainingCallbacks training = events.training;
  training.stop = [&lock, stop = events.training.stop] {
    if (lock) lock->require();
    return stop && stop();
  };
  Trainer trainer(request.config, pack, folder, device, request.resume && !anew,
                  std::move(training), {.ranks = joined});
  if (const auto sentence = ranks.remark(); sentence && ranks.first() && events.training.notice)
    events.training.notice(*sentence);
  if (ranks.first())
    events.started({trainer.model().network_parameters(), trainer.image_count(), device.str(),
                    training_memory(with_batch_parts(request.config, ranks.size()), pack, device)});
  if (!trainer.run()) return {};
  if (!ranks.first()) return Evaluation();
  if (const auto sentence = trainer.overfitting(); sentence && events.training.notice)
    events.training.notice(*sentence);
  events.trained();
  return finish_run(trainer, pack, request.config, folder);
}

}  // namespace

std::optional<Evaluation> train_run(const TrainingRequest& request, const TrainingEvents& events) {
  const torch::Device device =
      choose_device(request.device, request.place ? request.place->local_rank : 0);
  const auto ranks = request.place
                         ? std::make_shared<Ranks>(*request.place, request.rank_timeout, device)
                         : std::make_shared<Ranks>();
  try {
    return train_on(request, events, ranks, device);
  } catch (const RankLost&) {
    throw;
  } catch (const std::exception& error) {
    ranks->report_failure(library_failure(error).line);
    throw;
  }
}

Evaluation finish_run(Trainer& trainer, const Pack& pack, const Config& config,
                      const RunFolder& folder) {
  const bool has_test = pack.split.eq(static_cast<int64_t>(Split::test)).any().item<bool>();
  const std::string split = has_test ? "test" : "train";
  const ImageSet images =
      select_images(pack, {parse_split(split)}, config.data, false, trainer.model().device());
  const Evaluation evaluation = evaluate(trainer.model(), images, pack.properties, split,
                                         {.merge = true, .mirror = config.data.mirror});
  if (!std::isfinite(evaluation.elbo))
    throw NotFinite({.doing = "evaluating the run",
                     .object = folder.path.string(),
                     .found = fmt::format("NaN or infinity in the bound on {} images", split),
                     .expected = "a finite one",
                     .cause = "did training diverge?"});
  write_png(folder.samples(), draw(sample_figure(trainer.model(), {})));
  write_text(folder.evaluation(), to_json(evaluation).dump(2) + "\n", "saving the evaluation");
  return evaluation;
}

void train_sweep(const SweepPlan& plan, const SweepRequest& request, const SweepEvents& events,
                 std::vector<RunOutcome>& outcomes) {
  const torch::Device device = choose_device(request.device);
  const SharedPacks packs(plan);
  const size_t jobs = job_count(request.jobs, plan, packs, device);
  share_threads(jobs, device);
  events.begin(jobs, device.str());
  SweepCallbacks callbacks;
  callbacks.training = [&events](size_t run) {
    return TrainingCallbacks{
        [&events, run](const StepReport& report) { events.report(run, report); },
        {},
        [&events, run](const std::string& sentence) { events.notice(run, sentence); },
        events.stop};
  };
  callbacks.finish = [](Trainer& trainer, const Pack& pack, const SweepRun& run,
                        const RunFolder& folder) { finish_run(trainer, pack, run.config, folder); };
  callbacks.started = events.started;
  callbacks.ended = events.ended;
  callbacks.latest = events.latest;
  callbacks.held = events.held;
  run_sweep(plan, packs, {request.folder, device, jobs, request.shard}, callbacks, outcomes);
}

}  // namespace facet
