#include "facet/train/config.h"

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"

namespace facet {

void PretrainOptions::visit(OptionVisitor& visitor) {
  visitor.option("steps", steps, "Gradient steps with a N(0, I) prior, before the mixtures.",
                 at_least(0));
  visitor.option("kl_weight", kl_weight, "Weight of the KL term.");
}

void InitialiseOptions::visit(OptionVisitor& visitor) {
  visitor.option("images", images,
                 "Number of training images to encode; 0: all. At most as many as fit into 4 GB.",
                 at_least(0));
  visitor.option("untangle", untangle,
                 "With several factors: transform the latent space to separate properties.");
  visitor.option("kmeans_iterations", kmeans_iterations,
                 "Iterations of k-means, which initialises the components.", at_least(1));
  visitor.option("passes", passes,
                 "Exact updates of the mixtures from all those encodings, before the steps.",
                 at_least(0));
  visitor.option("steps", steps, "Natural-gradient steps of the mixtures on those encodings.",
                 at_least(0));
}

void PseudoLabelOptions::visit(OptionVisitor& visitor) {
  visitor.option(
      "weight", weight,
      "Their weight relative to that of labels: a strongly augmented view of every image "
      "of the batch has to get the value of which the model is sure. 0 turns them off.",
      at_least(0));
  visitor.option("threshold", threshold,
                 "The assignment probability from which the model is sure of a value.",
                 between(0.5, 1));
  visitor.option("align", align,
                 "Scale assignment probabilities so that values are as frequent as among labels.");
}

void JointOptions::visit(OptionVisitor& visitor) {
  visitor.renamed("hold_steps", "freeze_prior_steps");
  visitor.renamed("asked_weight", "consistency_weight");
  visitor.renamed("revive_every", "refit_every");
  visitor.option("steps", steps, "Steps that train networks and mixtures together.", at_least(0));
  visitor.option("freeze_prior_steps", freeze_prior_steps,
                 "Number of steps at the start in which the mixtures of free factors are frozen. "
                 "After untangling, the encoder has to learn its variances again, and components "
                 "could die before it has.",
                 at_least(0));
  visitor.option("kl_weight", kl_weight, "Weight of KL[z]; 1 is the bound itself.");
  visitor.option("label_weight", label_weight,
                 "Delta, the weight of the cross-entropy of the labels of named factors.");
  visitor.option("labelled_batch", labelled_batch,
                 "Size of an additional batch of labelled images per step for the cross-entropy, "
                 "useful if labels are few; 0 uses the labels in the ordinary batch.",
                 at_least(0));
  visitor.option("augment_labelled", augment_labelled,
                 "Augment the images of the labelled batch: random shifts, stretches, blur, noise, "
                 "contrast and brightness.");
  visitor.option("pseudo_labels", pseudo_labels,
                 "Values that the model gives to unlabelled images, in steps with labels.");
  visitor.option("consistency_weight", consistency_weight,
                 "Weight of the consistency loss: in samples drawn with random values of the named "
                 "factors, the encoder has to find those values. It applies in steps with labels "
                 "while label_weight is positive; 0 turns it off.",
                 at_least(0));
  visitor.option("named_rate", named_rate,
                 "Learning rate of components that are updated by Adam (of named factors, and of "
                 "the prior 'point_mass'), as a multiple of the networks'.",
                 at_least(0));
  visitor.option("balance", balance,
                 "Weight of rare values in the cross-entropy: frequency^-balance, 0 to 1.",
                 between(0, 1));
  visitor.option("refit_every", refit_every,
                 "Steps between exact updates of the mixtures from newly made encodings of "
                 "initialise.images images, with the prior 'mixture'. They end with one after the "
                 "last step. 0: never.",
                 at_least(0));
  visitor.option(
      "merge_and_split", merge_and_split,
      "With those updates, components of free factors merge and split where this raises "
      "the goal; with the goal 'evidence' not in the last quarter of the phase, but after "
      "its end.");
  visitor.option("move_goal", move_goal,
                 "What merges and splits raise: 'evidence', the bound of all training images, with "
                 "what the components' parameters cost; 'held_out', the bound that images left out "
                 "would have, which keeps more components.",
                 one_of({"evidence", "held_out"}));
}

void TrainOptions::visit(OptionVisitor& visitor) {
  visitor.option("batch_size", batch_size, "Images per step.", at_least(1));
  visitor.option("batch_parts", batch_parts,
                 "Parts in which a batch is computed: on several ranks, each of which has "
                 "consecutive ones, or one after another, for images so large that a whole batch "
                 "does not fit into memory. The step is the same, but for rounding, which depends "
                 "on the parts and not on the ranks. 0: one per rank.",
                 at_least(0));
  visitor.option("reduce", reduce,
                 "How ranks add their gradients: 'exact' in the order of parts, so that any number "
                 "of ranks gives the same bits; 'fast' each its own first, and then all, with "
                 "rounding that depends on the number of ranks.",
                 one_of({"exact", "fast"}));
  visitor.option("precision", precision,
                 "Precision of the networks' multiplications on a GPU: float32, TF32 (10 mantissa "
                 "bits) or bfloat16. Sums and weights are always float32, the prior float64. A CPU "
                 "always computes in float32.",
                 one_of({"fp32", "tf32", "bf16"}));
  visitor.option("pretrain", pretrain, "Phase 1: the networks.");
  visitor.option("initialise", initialise, "Phase 2: the mixtures.");
  visitor.option("joint", joint, "Phase 3: networks and mixtures together.");
  visitor.option("learning_rate", learning_rate,
                 "Adam's learning rate over all gradient steps, pretrain and joint.");
  visitor.option("adam", adam, "The networks' optimizer.");
  visitor.option("average_decay", average_decay,
                 "Decay per step of an exponential moving average of weights and prior over the "
                 "joint steps, which evaluations and the model file use; 0: no averaging.",
                 between(0, 0.99999));
  visitor.option("input_noise", input_noise,
                 "Standard deviation, in units of x, of noise added to the encoder's input in "
                 "training.",
                 at_least(0));
  visitor.option("step_size", step_size, "The size of natural-gradient steps.");
  visitor.option("hyperprior_every", hyperprior_every,
                 "Steps between updates of the hyperprior of free factors, with the prior "
                 "'mixture': m0, s0, a0 and b0 of every dimension and c0, which start at "
                 "model.hyperprior, take their best values for the components. 0: never.",
                 at_least(0));
  visitor.option("log_every", log_every, "Steps per line of metrics.", at_least(1));
  visitor.option("evaluate_every", evaluate_every,
                 "Steps between evaluations on the valid split, if there is one; 0: never.",
                 at_least(0));
  visitor.option(
      "keep_best", keep_best,
      "Keep the model with the best bound on the valid split as best.safetensors, beside "
      "the last one.");
  visitor.option("patience", patience,
                 "End the joint phase early after so many evaluations on the valid split without a "
                 "better bound; 0: never.",
                 at_least(0));
  visitor.option("checkpoint_every", checkpoint_every, "Steps between checkpoints.", at_least(1));
}

void Config::visit(OptionVisitor& visitor) {
  visitor.option("seed", seed, "Seed of all random numbers in training.", at_least(0));
  visitor.option("data", data, "The training data.");
  visitor.option("model", model, "Networks, likelihood and prior.");
  visitor.option("train", train, "The training procedure.");
}

Config read_config(const std::filesystem::path& path, const std::vector<std::string>& settings) {
  const std::string object = path.string();
  Json json = parse_config(read_text(path, "reading the config"), object);
  for (const std::string& setting : settings) apply_setting(json, setting);
  Config config;
  read_options(config, json, object);
  return config;
}

Config read_saved_config(const std::filesystem::path& path,
                         const std::vector<std::string>& settings) {
  const std::string object = path.string();
  Config config;
  read_options(config, parse_config(read_text(path, "reading the config"), object), object,
               OldNames::accept);
  if (settings.empty()) return config;
  Json json = write_options(config);
  for (const std::string& setting : settings) apply_setting(json, setting);
  read_options(config, json, object);
  return config;
}

Config with_batch_parts(Config config, int64_t ranks) {
  if (config.train.batch_parts == 0) config.train.batch_parts = ranks;
  return config;
}

Config with_absolute_pack(Config config) {
  if (!config.data.pack.empty())
    config.data.pack = std::filesystem::absolute(config.data.pack).lexically_normal().string();
  return config;
}

std::string first_difference(const Config& one, const Config& other) {
  const Json first = write_options(one), second = write_options(other);
  // Both have every option, so that a patch only replaces values or changes the length of a list.
  const auto patch = Json::diff(first, second);
  if (patch.empty()) return "";
  std::string path = patch[0]["path"].get<std::string>();
  if (path.ends_with("/-")) path.resize(path.size() - 2);  // a longer list: show all of it
  const Json::json_pointer pointer(path);
  const auto text = [&](const Json& json) {
    return json.contains(pointer) ? json[pointer].dump() : std::string("nothing");
  };
  std::string key = path.substr(1);
  std::replace(key.begin(), key.end(), '/', '.');
  return fmt::format("{}: {}, {}", key, text(first), text(second));
}

Config extended(Config saved, const Config& given) {
  TrainOptions& train = saved.train;
  if (given.train.batch_parts > 0) train.batch_parts = given.train.batch_parts;
  train.reduce = given.train.reduce;
  train.joint.steps = given.train.joint.steps;
  train.log_every = given.train.log_every;
  train.evaluate_every = given.train.evaluate_every;
  train.keep_best = given.train.keep_best;
  train.patience = given.train.patience;
  train.checkpoint_every = given.train.checkpoint_every;
  return saved;
}

std::string difference_on_resume(const Config& saved, Config given) {
  given.data.pack = saved.data.pack;
  if (given.train.batch_parts == 0) given.train.batch_parts = saved.train.batch_parts;
  for (size_t i = 0; i < std::min(given.model.factors.size(), saved.model.factors.size()); ++i)
    given.model.factors[i].values = saved.model.factors[i].values;
  return first_difference(saved, given);
}

}  // namespace facet
