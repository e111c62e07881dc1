// The config of a refiner's training: everything that determines its result, beside the run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "facet/core/options.h"
#include "facet/nets/adam_options.h"
#include "facet/nets/unet_options.h"

namespace facet {

struct RefineConfig {
  int64_t seed = 1;
  UnetOptions network;
  int64_t steps = 6000;
  int64_t batch_size = 128;
  int64_t batch_parts = 0;
  double learning_rate = 4e-4;
  int64_t warmup_steps = 300;
  double final_rate = 0.02;
  AdamOptions adam{.clip_grad_norm = 1.0};
  double average_decay = 0.999;
  double mean_noise = 0.05;
  double mean_dropout = 0.1;
  double guidance = 1.5;
  double time_stddev = 1.0;
  int64_t log_every = 50;
  int64_t checkpoint_every = 1000;

  void visit(OptionVisitor& visitor);
  /// The learning rate of a step: a rise over the warm-up times a fall over all steps, both linear.
  double rate_at(int64_t step) const;
};

/// The file, or the defaults if the path is empty, with "key=value" settings applied in order.
RefineConfig read_refine_config(const std::filesystem::path& path,
                                const std::vector<std::string>& settings);

/// The config that a run saved, with settings applied. Throws an Error if they change more than the
/// number of steps, the parts of a batch and how often it reports and saves.
RefineConfig resumed_refine_config(const std::filesystem::path& path,
                                   const std::vector<std::string>& settings);

}  // namespace facet
