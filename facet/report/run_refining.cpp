#include "facet/report/run_refining.h"

#include <fmt/format.h>

#include "facet/core/device.h"
#include "facet/core/error.h"
#include "facet/core/process.h"
#include "facet/core/ranks.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/prior/sampling.h"
#include "facet/report/figures.h"
#include "facet/train/refine_trainer.h"
#include "facet/train/run_lock.h"

namespace facet {

namespace {

constexpr int64_t shown_refined = 12;

RefineConfig refine_config_of(const RefineRequest& request, const RunFolder& folder) {
  const Attempt refining{"refining", folder.path.string()};
  const bool begun = std::filesystem::exists(folder.refiner_state()) ||
                     std::filesystem::exists(folder.refiner_previous_state());
  if (request.resume && !begun) refining.fail("no refiner to resume", "one that was begun");
  if (request.resume && !request.config.empty())
    refining.fail("a config beside --resume", "one of the two");
  if (begun && !request.resume && !request.overwrite)
    refining.fail("a refiner that was begun", "a run without one",
                  "--resume continues it, --overwrite begins anew");
  return request.resume ? resumed_refine_config(folder.refiner_config(), request.settings)
                        : read_refine_config(request.config, request.settings);
}

/// A column per sample: its mean and, below, what the refiner makes of it.
Image draw_refined_samples(const Vae& model, const std::shared_ptr<Refiner>& refiner) {
  const Key key = Key(1).fold("samples");
  const LatentSample samples = sample_latents(key, model.prior, shown_refined);
  const PictureNoise noise = PictureNoise::each(key, shown_refined);
  GridOptions layout;
  layout.columns = shown_refined;
  layout.row_labels = {"mean", "refined"};
  layout.scale = magnification(model.shape());
  return draw_grid(to_images(torch::cat({decode_pictures(model, samples, {}, noise),
                                         decode_pictures(model, samples, {refiner}, noise)})),
                   layout);
}

bool refine_on(const RefineRequest& request, const RefineEvents& events,
               const std::shared_ptr<Ranks>& joined) {
  const Ranks& ranks = *joined;
  const RunFolder folder = RunFolder::open(RunFolder::of(request.run).path);
  std::optional<RunLock> lock;
  if (ranks.first()) lock.emplace(folder.path, "refining the run in");
  const RefineConfig config = refine_config_of(request, folder);
  LoadedRun run = load_run(
      request.run,
      {.device = request.device, .local_rank = request.place ? request.place->local_rank : 0});
  if (!request.pack.empty()) run.config.data.pack = request.pack;
  const Pack pack = load_data(run.config.data);
  if (run.model->device().is_cuda()) {
    // Shapes never change, and the frozen model needs no more than TF32.
    torch::globalContext().setBenchmarkCuDNN(true);
    torch::globalContext().setAllowTF32CuDNN(true);
  }
  RefineCallbacks callbacks{events.report,
                            [&](const std::shared_ptr<Refiner>& refiner) {
                              const Image samples = draw_refined_samples(*run.model, refiner);
                              if (ranks.first()) write_png(folder.refiner_samples(), samples);
                            },
                            events.notice,
                            [&lock, stop = events.stop] {
                              if (lock) lock->require();
                              return stop && stop();
                            }};
  RefineTrainer trainer(config, run, pack, request.resume, std::move(callbacks), {.ranks = joined});
  if (const auto sentence = ranks.remark(); sentence && ranks.first() && events.notice)
    events.notice(*sentence);
  if (events.started && ranks.first())
    events.started({trainer.refiner()->parameter_count(), trainer.image_count(), config.steps,
                    run.model->device().str()});
  return trainer.run();
}

}  // namespace

bool refine_run(const RefineRequest& request, const RefineEvents& events) {
  const auto ranks = request.place ? std::make_shared<Ranks>(
                                         *request.place, request.rank_timeout,
                                         choose_device(request.device, request.place->local_rank))
                                   : std::make_shared<Ranks>();
  try {
    return refine_on(request, events, ranks);
  } catch (const RankLost&) {
    throw;
  } catch (const std::exception& error) {
    ranks->report_failure(library_failure(error).line);
    throw;
  }
}

}  // namespace facet
