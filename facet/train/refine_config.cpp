#include "facet/train/refine_config.h"

#include <algorithm>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/model/refine_request.h"

namespace facet {

void RefineConfig::visit(OptionVisitor& visitor) {
  visitor.option("seed", seed, "Seed of all random numbers.", at_least(0));
  visitor.option("network", network, "The U-Net that gives the velocity.");
  visitor.option("steps", steps, "Training steps.", at_least(1));
  visitor.option("batch_size", batch_size, "Images per step.", at_least(1));
  visitor.option("batch_parts", batch_parts,
                 "Parts in which a batch is computed: on several ranks, each of which has "
                 "consecutive ones, or one after another. The step is the same, but for rounding, "
                 "which depends on the parts and not on the ranks. 0: one per rank.",
                 at_least(0));
  visitor.option("learning_rate", learning_rate, "The largest learning rate.", between(0, 1));
  visitor.option("warmup_steps", warmup_steps,
                 "Steps over which the learning rate rises from zero.", at_least(0));
  visitor.option("final_rate", final_rate,
                 "The learning rate falls to this share of it over all steps.", between(0, 1));
  visitor.option("adam", adam, "The optimizer.");
  visitor.option("average_decay", average_decay,
                 "Decay per step of the average of the weights, which the refiner's file has.",
                 between(0, 1));
  visitor.option("mean_noise", mean_noise,
                 "Most noise on a mean, which is in [-1, 1]: it forgives means that differ from "
                 "those of images.",
                 between(0, 2));
  visitor.option("mean_dropout", mean_dropout,
                 "Share of images that are refined without their mean, from which guidance learns "
                 "what means say; 0: no guidance.",
                 between(0, 0.9));
  visitor.option(
      "guidance", guidance,
      "How strongly pictures follow their means unless --refine-guidance says otherwise: "
      "1 as images do, more shows more clearly what was requested. It may change when a "
      "refiner is resumed.",
      between(1, kMostGuidance));
  visitor.option("time_stddev", time_stddev,
                 "Times are sigmoids of normal numbers with this standard deviation.",
                 between(0, 10));
  visitor.option("log_every", log_every, "Steps between metrics lines.", at_least(1));
  visitor.option("checkpoint_every", checkpoint_every,
                 "Steps between checkpoints and pictures; 0: only at the end.", at_least(0));
}

double RefineConfig::rate_at(int64_t step) const {
  const double rise =
      static_cast<double>(step + 1) / static_cast<double>(std::max<int64_t>(1, warmup_steps));
  const double left = 1.0 - static_cast<double>(step) / static_cast<double>(steps);
  return learning_rate * std::min(1.0, rise) * std::max(final_rate, left);
}

RefineConfig read_refine_config(const std::filesystem::path& path,
                                const std::vector<std::string>& settings) {
  const std::string object = path.empty() ? "--set" : path.string();
  Json json =
      path.empty() ? Json::object() : parse_config(read_text(path, "reading the config"), object);
  for (const std::string& setting : settings) apply_setting(json, setting);
  RefineConfig config;
  read_options(config, json, object);
  return config;
}

RefineConfig resumed_refine_config(const std::filesystem::path& path,
                                   const std::vector<std::string>& settings) {
  const RefineConfig saved = read_refine_config(path, {});
  Json json = write_options(saved);
  for (const std::string& setting : settings) apply_setting(json, setting);
  RefineConfig given;
  read_options(given, json, "--set");
  RefineConfig longer = saved;
  longer.steps = given.steps;
  if (given.batch_parts > 0) longer.batch_parts = given.batch_parts;
  longer.guidance = given.guidance;
  longer.log_every = given.log_every;
  longer.checkpoint_every = given.checkpoint_every;
  const auto patch = Json::diff(write_options(longer), write_options(given));
  if (patch.empty()) return longer;
  Attempt{"resuming the refiner of", path.parent_path().string()}.fail(
      fmt::format("another config ({})", patch[0]["path"].get<std::string>().substr(1)),
      "the one it was started with", "--steps and guidance may change, all else stays");
}

}  // namespace facet
