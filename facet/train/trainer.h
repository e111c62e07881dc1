// Training in the paper's three phases: the networks alone with a N(0, I) prior; the mixtures alone
// on encodings of the still encoder; then both together, where every step is an E-step, an Adam
// step on the networks, an E-step with the new encoder, and a natural-gradient step on the
// mixtures. The trainer never prints: it reports through callbacks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "facet/data/batches.h"
#include "facet/eval/bounds.h"
#include "facet/model/objective.h"
#include "facet/model/vae.h"
#include "facet/train/adam.h"
#include "facet/train/checkpoint.h"
#include "facet/train/config.h"
#include "facet/train/event_file.h"
#include "facet/train/guard.h"
#include "facet/train/run_folder.h"

namespace facet {

/// Averages over the steps since the last report.
struct StepReport {
  Phase phase = Phase::pretrain;
  int64_t step = 0, phase_steps = 0;  ///< done, and in all, of this phase
  int64_t total_step = 0;             ///< done over all phases
  double elbo = 0, reconstruction = 0, kl_z = 0, kl_r = 0;
  double gradient_norm = 0, learning_rate = 0, kl_weight = 0, step_size = 0;
  double label_weight = 0;
  double label_log_likelihood = 0;  ///< of the labels in a batch, mean over the known ones
  double hyperprior = 0;            ///< lines eq:elbo:d and eq:elbo:e, a training image's share
  struct Factor {
    std::string name;
    double kl_z = 0, kl_r = 0;
    int64_t components = 0;
    int64_t living = 0;  ///< components that hold more than one training image in expectation
    double perplexity = 0;
  };
  std::vector<Factor> factors;  ///< empty in pre-training, which has no mixture
};

struct TrainingCallbacks {
  std::function<void(const StepReport&)> report;                        ///< every log_every steps
  std::function<void(const Evaluation&, const StepReport&)> evaluated;  ///< on the valid split
  std::function<void(const std::string&)> notice;                       ///< a sentence for the user
  std::function<bool()> stop;  ///< true saves and ends the run early
};

class Trainer {
 public:
  /// Starts a run in an empty folder, or continues the one that is there.
  Trainer(const Config& config, const Pack& pack, const RunFolder& folder, torch::Device device,
          bool resume, TrainingCallbacks callbacks);

  /// Trains to the end; false where `stop` ended it early. Either way the run folder holds the
  /// state and the model.
  bool run();

  Vae& model() { return *model_; }
  int64_t image_count() const { return images_.count(); }
  const Progress& progress() const { return progress_; }

  /// One step of a phase, for tests and measurements; run() does these and the bookkeeping.
  void pretrain_step();
  void initialise_step();
  void joint_step();
  /// Encodes images and places the components; run() does it when phase 2 begins.
  void place_components();

 private:
  int64_t phase_steps(Phase phase) const;
  int64_t gradient_step() const;
  double learning_rate() const;
  Key step_key() const;
  std::string position_text() const;
  void advance();
  void optimise(const torch::Tensor& loss, const NamedTensors& trail);
  torch::Tensor factor_labels(const torch::Tensor& labels) const;
  std::optional<Batches> labelled_batches() const;
  torch::Tensor labelled_batch_loss(const std::vector<FactorParameters>& parameters);
  void revive_components();
  void natural_gradient_step(const std::vector<BlockEncoding>& blocks, const torch::Tensor& labels,
                             double rho, bool named_too);
  void accumulate(const torch::Tensor& reconstruction, const std::vector<torch::Tensor>& kl_z,
                  const std::vector<torch::Tensor>& kl_r);
  void accumulate_labels(const BoundTerms& terms, const torch::Tensor& labels);
  const std::vector<BlockEncoding>& cached_encodings();
  torch::Tensor known_labels(size_t factor) const;
  void untangle_factors();
  void require_finite(const torch::Tensor& number, const NamedTensors& trail);
  StepReport take_report();
  void log(const StepReport& report);
  void evaluate_valid(const StepReport& report);
  void save();

  Config config_;
  RunFolder folder_;
  TrainingCallbacks callbacks_;
  torch::Device device_;
  Key key_;
  std::shared_ptr<Vae> model_;
  Adam adam_;
  ImageSet images_;
  Batches batches_;
  std::optional<Batches> labelled_;  ///< of labelled images only, where the config asks for them
  std::optional<ImageSet> valid_;
  std::vector<Property> properties_;
  Progress progress_;
  torch::Tensor gradient_norm_;
  std::vector<BlockEncoding> encodings_;  ///< phase 2: of every image it uses, one a factor
  torch::Tensor encoding_labels_;  ///< and their labels, [n, I]; undefined without named factors
  std::vector<int64_t> label_columns_;  ///< the data's property that names each factor, -1 for none
  std::vector<torch::Tensor> value_weights_;  ///< weight of each value in the cross-entropy, [K]
  NamedOptimizers named_;
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<EventFile> events_;
  std::string last_checkpoint_;  ///< "step 100 of phase joint"
};

}  // namespace facet
