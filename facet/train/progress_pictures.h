// Small pictures of how a model learns: the same draws at several checkpoints of a run, one PNG
// each. The explorer shows them over training time; the weights of all these steps are not kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "facet/model/vae.h"
#include "facet/train/config.h"
#include "facet/train/phase.h"
#include "facet/train/run_folder.h"

namespace facet {

inline constexpr int64_t kProgressSamples = 8;        ///< in each picture, in two rows
inline constexpr int64_t kMostProgressPictures = 60;  ///< of a phase

struct ProgressPicture {
  Phase phase;
  int64_t step;  ///< of the phase
};

std::filesystem::path progress_picture(const RunFolder& folder, const ProgressPicture& at);

/// Steps between two pictures of a phase: those of some checkpoints, so that a long run has few.
int64_t progress_interval(const TrainOptions& options, Phase phase);

/// Draws the first samples of `facet sample`; before there are components, decoded standard normal
/// vectors, always the same.
void write_progress_picture(const RunFolder& folder, const Vae& model, const ProgressPicture& at);

/// The pictures that a run has, in the order of training.
std::vector<ProgressPicture> progress_pictures(const RunFolder& folder);

}  // namespace facet
