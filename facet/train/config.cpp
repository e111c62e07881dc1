#include "facet/train/config.h"

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"

namespace facet {

void PretrainOptions::visit(OptionVisitor& visitor) {
  visitor.option("steps", steps, "Gradient steps with a N(0, I) prior before the mixtures come in.",
                 at_least(0));
  visitor.option("kl_weight", kl_weight, "Weight of the KL term.");
}

void InitialiseOptions::visit(OptionVisitor& visitor) {
  visitor.option("images", images, "Training images to encode for it; 0 takes all.", at_least(0));
  visitor.option("untangle", untangle,
                 "With several factors: choose latent coordinates in which properties come apart.");
  visitor.option("kmeans_iterations", kmeans_iterations,
                 "Iterations of k-means that place the components.", at_least(1));
  visitor.option("steps", steps, "Natural-gradient steps of the mixtures on those encodings.",
                 at_least(0));
}

void JointOptions::visit(OptionVisitor& visitor) {
  visitor.option("steps", steps, "Steps of networks and mixtures together.", at_least(0));
  visitor.option(
      "freeze_prior_steps", freeze_prior_steps,
      "The first steps, in which natural gradients leave free factors' mixtures where "
      "phase 2 has put them: untangled coordinates begin with wrong variances, and components die "
      "before the encoder has found the right ones.",
      at_least(0));
  visitor.option("kl_weight", kl_weight, "Weight of KL[z]; 1 is the bound itself.");
  visitor.option("label_weight", label_weight,
                 "Delta, the weight of the cross-entropy of named factors' labels.");
  visitor.option("labelled_batch", labelled_batch,
                 "So many labelled images a step, besides the batch, give the cross-entropy; 0 "
                 "takes the labels that happen to be in the batch. For few labels.",
                 at_least(0));
  visitor.option("augment_labelled", augment_labelled,
                 "Move, stretch, soften and light the images of that labelled batch at random.");
  visitor.option(
      "consistency_weight", consistency_weight,
      "Weight of the cross-entropy of what the encoder sees in images drawn from the "
      "model with named factors at random values: samples learn to show what they are "
      "asked for. In steps that have labels, while label_weight is positive; 0 for never.",
      at_least(0));
  visitor.option("named_rate", named_rate,
                 "Learning rate of components that move by gradients (named factors', and those of "
                 "the prior 'point_mass'), in multiples of the networks'.",
                 at_least(0));
  visitor.option(
      "balance", balance,
      "How much rare values count more in the cross-entropy: frequency^-balance, 0 to 1.",
      between(0, 1));
  visitor.option("revive_every", revive_every,
                 "Steps between revivals of free factors' dead components, in the first three "
                 "quarters of the phase; 0 for never.",
                 at_least(0));
}

void TrainOptions::visit(OptionVisitor& visitor) {
  visitor.option("batch_size", batch_size, "Images in a step.", at_least(1));
  visitor.option("precision", precision,
                 "What the networks multiply on a GPU: float32, TF32 (ten bits of mantissa) or "
                 "bfloat16; sums and weights are float32, the prior float64. A CPU computes in "
                 "float32 whatever this says.",
                 one_of({"fp32", "tf32", "bf16"}));
  visitor.option("pretrain", pretrain, "Phase 1: networks alone.");
  visitor.option("initialise", initialise, "Phase 2: mixtures alone.");
  visitor.option("joint", joint, "Phase 3: networks and mixtures.");
  visitor.option("learning_rate", learning_rate,
                 "Adam's learning rate over all gradient steps, pretrain and joint.");
  visitor.option("adam", adam, "The networks' optimizer.");
  visitor.option("average_decay", average_decay,
                 "Evaluations and the model file take a running mean of weights and prior over the "
                 "joint steps, in which a step's share is multiplied by this after each further "
                 "one; 0 takes the last step's.",
                 between(0, 0.99999));
  visitor.option("input_noise", input_noise,
                 "Deviation of the noise, in units of x, on images as the encoder sees them when "
                 "their bound is raised.",
                 at_least(0));
  visitor.option("step_size", step_size, "The natural-gradient steps' size.");
  visitor.option("log_every", log_every, "Steps that one line of metrics averages.", at_least(1));
  visitor.option("evaluate_every", evaluate_every,
                 "Steps between evaluations on the valid split, where there is one; 0 for never.",
                 at_least(0));
  visitor.option("checkpoint_every", checkpoint_every, "Steps between checkpoints.", at_least(1));
}

void Config::visit(OptionVisitor& visitor) {
  visitor.option("seed", seed, "Seed of everything random in training.", at_least(0));
  visitor.option("data", data, "What to train on.");
  visitor.option("model", model, "Networks, likelihood and prior.");
  visitor.option("train", train, "How to train.");
}

Config read_config(const std::filesystem::path& path, const std::vector<std::string>& settings) {
  const std::string object = path.string();
  Json json = parse_config(read_text(path, "reading the config"), object);
  for (const std::string& setting : settings) apply_setting(json, setting);
  Config config;
  read_options(config, json, object);
  return config;
}

Config with_absolute_pack(Config config) {
  if (!config.data.pack.empty())
    config.data.pack = std::filesystem::absolute(config.data.pack).lexically_normal().string();
  return config;
}

std::string first_difference(const Config& one, const Config& other) {
  const Json first = write_options(one), second = write_options(other);
  // Both have every option, so a patch only replaces values or changes the length of a list.
  const auto patch = Json::diff(first, second);
  if (patch.empty()) return "";
  std::string path = patch[0]["path"].get<std::string>();
  if (path.ends_with("/-")) path.resize(path.size() - 2);  // a longer list: show it whole
  const Json::json_pointer pointer(path);
  const auto text = [&](const Json& json) {
    return json.contains(pointer) ? json[pointer].dump() : std::string("nothing");
  };
  std::string key = path.substr(1);
  std::replace(key.begin(), key.end(), '/', '.');
  return fmt::format("{}: {}, {}", key, text(first), text(second));
}

std::string difference_on_resume(const Config& saved, Config given) {
  given.data.pack = saved.data.pack;
  for (size_t i = 0; i < std::min(given.model.factors.size(), saved.model.factors.size()); ++i)
    given.model.factors[i].values = saved.model.factors[i].values;
  return first_difference(saved, given);
}

}  // namespace facet
