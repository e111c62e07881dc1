#include "facet/train/progress_pictures.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include <fmt/format.h>

#include "facet/core/random.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/data/pack.h"
#include "facet/model/generate.h"
#include "facet/prior/sampling.h"
#include "facet/train/step_plan.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

torch::Tensor progress_latents(const Vae& model, Phase phase) {
  if (phase != Phase::pretrain)
    return sample_latents(Key(1).fold("samples"), model.prior, kProgressSamples).z;
  return standard_normal(Key(1).fold("progress"), {kProgressSamples, model.prior.dimensions()},
                         torch::TensorOptions().dtype(kFloat64))
      .to(model.device());
}

/// "joint-800" as a phase and a step; step -1 for other names.
ProgressPicture parse_progress_name(const std::string& name) {
  for (const Phase phase : {Phase::pretrain, Phase::initialise, Phase::joint}) {
    const std::string prefix = fmt::format("{}-", phase_name(phase));
    if (!name.starts_with(prefix)) continue;
    int64_t step = -1;
    const char* end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + prefix.size(), end, step);
    return {phase, read.ptr == end && step >= 0 ? step : -1};
  }
  return {Phase::done, -1};
}

}  // namespace

fs::path progress_picture(const RunFolder& folder, const ProgressPicture& at) {
  return folder.progress() / fmt::format("{}-{}.png", phase_name(at.phase), at.step);
}

int64_t progress_interval(const TrainOptions& options, Phase phase) {
  const int64_t every = options.checkpoint_every;
  const int64_t checkpoints = phase_steps(options, phase) / every;
  return every *
         std::max<int64_t>(1, (checkpoints + kMostProgressPictures - 1) / kMostProgressPictures);
}

void write_progress_picture(const RunFolder& folder, const Vae& model, const ProgressPicture& at) {
  torch::NoGradGuard no_gradient;
  const torch::Tensor pixels = decode_means(model, progress_latents(model, at.phase));
  // [2, 4, C, H, W] to [C, 2 H, 4 W]
  const torch::Tensor sheet = pixels.unflatten(0, {2, kProgressSamples / 2})
                                  .permute({2, 0, 3, 1, 4})
                                  .flatten(3, 4)
                                  .flatten(1, 2);
  fs::create_directories(folder.progress());
  write_png(progress_picture(folder, at), to_images(sheet.unsqueeze(0).contiguous()).front());
}

std::vector<ProgressPicture> progress_pictures(const RunFolder& folder) {
  std::vector<ProgressPicture> pictures;
  std::error_code error;  // most runs of older versions have none
  for (fs::directory_iterator entry(folder.progress(), error), end; !error && entry != end;
       entry.increment(error)) {
    const ProgressPicture at = parse_progress_name(entry->path().stem().string());
    if (entry->path().extension() == ".png" && at.step >= 0) pictures.push_back(at);
  }
  const auto place = [](const ProgressPicture& each) { return std::tuple(each.phase, each.step); };
  std::sort(pictures.begin(), pictures.end(),
            [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return pictures;
}

}  // namespace facet
