// The state of a training run, enough to continue it bit for bit: the phase and step, the networks
// and their optimizer, the prior's natural parameters, and the sums of the current metrics line.
// There is no random state: random numbers are functions of the seed and the step.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "facet/model/vae.h"
#include "facet/nets/adam.h"
#include "facet/train/average.h"
#include "facet/train/phase.h"
#include "facet/train/run_folder.h"

namespace facet {

struct Progress {
  Phase phase = Phase::pretrain;
  int64_t step = 0;  ///< completed steps of this phase
  MetricsMark metrics;
  torch::Tensor sums;                  ///< float64 sums of the metrics since the last line
  NamedTensors state;                  ///< further tensors of the learner
  std::optional<int64_t> joint_steps;  ///< that the run was to take; not in states of version 0.1
};

/// What a run is trained on: it cannot be continued with anything else.
struct TrainedOn {
  std::string images;  ///< the fingerprint of the data set (data/pack.h)
  std::string labels;  ///< that of its labels; empty where no factor has a name
};

/// Writes the state, and keeps the one before it as the previous one. `average` may be null, here
/// and below.
void write_checkpoint(const RunFolder& folder, const Vae& model, const Adam& adam,
                      const WeightAverage* average, const Progress& progress,
                      const TrainedOn& data);
/// `path` is one of the two states of a run. `sums` of the result is on the CPU, with the length it
/// has in the file; `state` is restored in place. Throws an Error if the run was begun with other
/// data, or if the file has a NaN.
Progress read_checkpoint(const std::filesystem::path& path, Vae& model, Adam& adam,
                         WeightAverage* average, const NamedTensors& state, const TrainedOn& data);

}  // namespace facet
