// The config of a run: everything that determines its results. It is read from JSON with comments,
// changed by --set, and saved with all defaults in the run folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "facet/data/data_options.h"
#include "facet/model/model_options.h"
#include "facet/nets/adam_options.h"
#include "facet/train/schedule.h"

namespace facet {

/// Phase 1: the networks, with a N(0, I) prior.
struct PretrainOptions {
  int64_t steps = 100000;
  Schedule kl_weight{0.0, 1.0, 20000, "linear"};

  void visit(OptionVisitor& visitor);
};

/// Phase 2: the mixtures, on the encodings of a fixed encoder.
struct InitialiseOptions {
  int64_t images = 20000;
  bool untangle = true;
  int64_t kmeans_iterations = 30;
  int64_t steps = 0;
  int64_t passes = 20;

  void visit(OptionVisitor& visitor);
};

/// Values that the model gives to unlabelled images itself (train/pseudo_labels.h).
struct PseudoLabelOptions {
  double weight = 0.0;
  double threshold = 0.95;
  bool align = true;

  void visit(OptionVisitor& visitor);
};

/// Phase 3: networks and mixtures together.
struct JointOptions {
  int64_t steps = 200000;
  int64_t freeze_prior_steps = 0;
  Schedule kl_weight{1.0, 1.0, 0, "linear"};
  Schedule label_weight{1000.0, 1000.0, 0, "linear"};
  int64_t labelled_batch = 0;
  bool augment_labelled = true;
  PseudoLabelOptions pseudo_labels;
  double consistency_weight = 0.0;
  double named_rate = 30.0;
  double balance = 0.5;
  int64_t refit_every = 5000;
  bool merge_and_split = true;
  std::string move_goal = "evidence";

  void visit(OptionVisitor& visitor);
};

struct TrainOptions {
  int64_t batch_size = 64;
  int64_t batch_parts = 0;
  std::string reduce = "exact";
  std::string precision = "tf32";
  PretrainOptions pretrain;
  InitialiseOptions initialise;
  JointOptions joint;
  Schedule learning_rate{1e-4, 1e-4, 0, "linear"};
  AdamOptions adam;
  double average_decay = 0.0;
  double input_noise = 0.0;
  StepSize step_size;
  int64_t hyperprior_every = 200;
  int64_t log_every = 100;
  int64_t evaluate_every = 2000;
  bool keep_best = true;
  int64_t patience = 0;
  int64_t checkpoint_every = 1000;

  void visit(OptionVisitor& visitor);
};

struct Config {
  int64_t seed = 1;
  DataOptions data;
  ModelOptions model;
  TrainOptions train;

  void visit(OptionVisitor& visitor);
};

/// Reads a file and applies the "key=value" settings in order.
Config read_config(const std::filesystem::path& path,
                   const std::vector<std::string>& settings = {});

/// The config that a run saved, also where an older version wrote it, with settings applied.
Config read_saved_config(const std::filesystem::path& path,
                         const std::vector<std::string>& settings = {});

/// The config with the number of parts of a batch that a run of so many ranks has.
Config with_batch_parts(Config config, int64_t ranks);

/// The config with an absolute path of the pack: a run can be used from another working directory.
Config with_absolute_pack(Config config);

/// The first option in which two configs differ, as "key: one, other"; empty if they are equal.
std::string first_difference(const Config& one, const Config& other);

/// The same for resuming a run whose config is `saved`: the path of the pack may differ, and so may
/// the names of values, which training has filled in.
std::string difference_on_resume(const Config& saved, Config given);

/// The config of a run that goes on with other numbers where that is possible: a longer or shorter
/// joint phase, how often it reports, evaluates and saves, and how ranks divide a batch.
Config extended(Config saved, const Config& given);

}  // namespace facet
