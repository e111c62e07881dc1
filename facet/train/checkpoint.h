// The state of a training run, enough to continue it bit for bit: the phase and step, the networks
// and their optimizer, the prior's natural parameters, and the sums of the current metrics line.
// There is no random state: random numbers are functions of the seed and the step.
#pragma once

#include <filesystem>
#include <string>

#include "facet/model/vae.h"
#include "facet/nets/adam.h"
#include "facet/train/average.h"
#include "facet/train/phase.h"

namespace facet {

struct Progress {
  Phase phase = Phase::pretrain;
  int64_t step = 0;  ///< completed steps of this phase
  int64_t metrics_lines = 0;
  torch::Tensor sums;  ///< float64 sums of the metrics since the last line
  NamedTensors state;  ///< further tensors of the learner
};

/// `average` may be null, here and below. `data` is the fingerprint of the data set (data/pack.h).
void write_checkpoint(const std::filesystem::path& path, const Vae& model, const Adam& adam,
                      const WeightAverage* average, const Progress& progress,
                      const std::string& data);
/// `sums` of the result is on the CPU, with the length it has in the file; `state` is restored in
/// place. Throws an Error if the run was begun with other data.
Progress read_checkpoint(const std::filesystem::path& path, Vae& model, Adam& adam,
                         WeightAverage* average, const NamedTensors& state,
                         const std::string& data);

}  // namespace facet
