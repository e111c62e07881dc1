#include "facet/eval/bounds.h"

#include <algorithm>
#include <cmath>

#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/eval/agreement.h"
#include "facet/eval/importance.h"
#include "facet/eval/value_probabilities.h"
#include "facet/model/objective.h"

namespace facet {

namespace {

struct MeanAndError {
  double mean, error;
};
MeanAndError mean_and_error(const torch::Tensor& all) {
  const auto count = static_cast<double>(all.numel());
  return {all.mean().item<double>(), count > 1 ? all.std().item<double>() / std::sqrt(count) : 0.0};
}

/// Fills in the importance-weighted bound. With fewer images than all, it is estimated as the ELBO
/// of all images plus the mean gain over the plain `bounds` [N] on a random subset: the gain varies
/// far less from image to image than the bounds do. (The first images would not do, as files may be
/// sorted.)
void add_importance_bound(Evaluation& result, Vae& model, const ImageSet& images,
                          const EvaluationOptions& options, const torch::Tensor& bounds,
                          const Key& key) {
  const bool subset = options.importance_images > 0 && options.importance_images < images.count();
  result.importance_samples = options.importance;
  result.importance_images = subset ? options.importance_images : images.count();
  if (!subset) {
    const MeanAndError weighted =
        mean_and_error(importance_bounds(model, images.pixels, options.importance, key));
    result.importance_bound = weighted.mean;
    result.importance_standard_error = weighted.error;
    return;
  }
  const torch::Tensor order = uniform(key.fold("images"), {images.count()}, kFloat64);
  const torch::Tensor chosen =
      order.argsort().narrow(0, 0, options.importance_images).to(images.pixels.device());
  const ImageRows pixels = images.pixels.select(chosen);
  const MeanAndError gain =
      mean_and_error(importance_bounds(model, pixels, options.importance, key) -
                     bounds.index_select(0, chosen.to(bounds.device())));
  result.importance_bound = result.elbo + gain.mean;
  result.importance_standard_error = std::hypot(result.standard_error, gain.error);
}

/// The number of properties in a factor's "says_most_about".
constexpr size_t most_listed = 5;

/// A sum of tensors; undefined before the first. The host does not wait for it.
void add_to(torch::Tensor& sum, const torch::Tensor& value) {
  sum = sum.defined() ? sum + value : value;
}

/// Sums and codes of one factor over the batches.
struct FactorTally {
  torch::Tensor kl_z, kl_r;           ///< one number each
  torch::Tensor usage;                ///< summed responsibilities, [K]
  std::vector<torch::Tensor> codes;   ///< [B] per batch
  std::vector<torch::Tensor> blocks;  ///< the encoder's means, [B, D] per batch

  void add(const FactorTerms& terms, const torch::Tensor& block) {
    add_to(kl_z, terms.kl_z.sum());
    add_to(kl_r, terms.kl_r.sum());
    add_to(usage, terms.responsibilities.sum(0));
    codes.push_back(terms.responsibilities.argmax(1));
    blocks.push_back(block);
  }
};

constexpr double active_variance = 0.01;
int64_t count_active(const std::vector<torch::Tensor>& blocks) {
  const torch::Tensor means = torch::cat(blocks);
  const torch::Tensor variance = (means - means.mean(0)).square().mean(0);
  return variance.gt(active_variance).sum().item<int64_t>();
}

FactorEvaluation evaluate_factor(const FactorTally& tally, const FactorOptions& factor,
                                 double count) {
  const std::vector<double> weights = to_doubles(tally.usage);
  FactorEvaluation result;
  result.name = factor.name;
  result.property = factor.property;
  result.components = factor.components;
  result.used =
      std::count_if(weights.begin(), weights.end(), [](double weight) { return weight > 1.0; });
  result.perplexity = perplexity(weights);
  result.kl_z = tally.kl_z.item<double>() / count;
  result.kl_r = tally.kl_r.item<double>() / count;
  result.dimensions = factor.dimensions;
  result.active_dimensions = count_active(tally.blocks);
  return result;
}

/// Whether the components of a posterior have seen an image.
bool placed(const Vae& model) {
  if (!model.strategy().bayesian()) return true;
  const FactorialMixture& prior = model.prior;
  for (size_t i = 0; i < prior.size(); ++i)
    if ((prior.posteriors[i].counts - prior.hyperpriors[i].count).sum().item<double>() > 0.5)
      return true;
  return false;
}

}  // namespace

Evaluation evaluate(Vae& model, const ImageSet& images, const std::vector<Property>& properties,
                    const std::string& split, const EvaluationOptions& options) {
  torch::NoGradGuard no_gradient;
  const Key key = Key(options.seed).fold("evaluate");
  const size_t factor_count = model.prior.size();
  torch::Tensor reconstruction;
  std::vector<FactorTally> tallies(factor_count);
  std::vector<torch::Tensor> bounds, predictive_bounds;
  std::vector<std::vector<torch::Tensor>> mirrored;  // by named factor, values of both views, [B]

  uint64_t batch = 0;
  const auto add_batch = [&](const torch::Tensor& pixels) {
    const Key batch_key = key.fold(batch++);
    const torch::Tensor x = model.likelihood().from_pixels(pixels);
    const BoundTerms terms = bound_terms(model, x, {}, batch_key.fold(uint64_t{0}));
    torch::Tensor log_density = terms.reconstruction.to(kFloat64);
    torch::Tensor log_predictive = predictive_log_density(model.prior, terms.z);
    for (int64_t s = 1; s < options.samples; ++s) {
      const torch::Tensor z = terms.encoding.sample(batch_key.fold(static_cast<uint64_t>(s)));
      log_density = log_density + model.likelihood().log_density(x, model.decode(z));
      log_predictive = log_predictive + predictive_log_density(model.prior, z);
    }
    log_density = log_density / static_cast<double>(options.samples);
    log_predictive = log_predictive / static_cast<double>(options.samples);
    predictive_bounds.push_back(log_density + log_predictive + terms.encoding.entropy());
    add_to(reconstruction, log_density.sum());
    bounds.push_back(log_density - terms.kl_z() - terms.kl_r());
    const auto blocks = model.prior.split(terms.encoding.mean);
    for (size_t i = 0; i < factor_count; ++i) tallies[i].add(terms.factors[i], blocks[i]);
    if (!options.mirror) return;
    const auto views = value_log_probabilities(model, x, terms.encoding, true);
    mirrored.resize(views.size());
    for (size_t i = 0; i < views.size(); ++i) mirrored[i].push_back(views[i].argmax(1));
  };
  images.pixels.for_each_slice(model.images_at_once(options.batch_size), add_batch);

  Evaluation result;
  result.split = split;
  result.count = images.count();
  result.samples = options.samples;
  result.components_placed = placed(model);
  const auto count = static_cast<double>(result.count);
  result.reconstruction = reconstruction.item<double>() / count;
  const torch::Tensor all_bounds = torch::cat(bounds);
  const MeanAndError bound = mean_and_error(all_bounds);
  result.elbo = bound.mean;
  result.standard_error = bound.error;
  const MeanAndError predictive = mean_and_error(torch::cat(predictive_bounds));
  result.predictive_bound = predictive.mean;
  result.predictive_standard_error = predictive.error;
  if (options.importance > 0)
    add_importance_bound(result, model, images, options, all_bounds, key.fold("importance"));
  std::vector<std::vector<int64_t>> codes;
  for (size_t i = 0; i < factor_count; ++i) {
    result.factors.push_back(evaluate_factor(tallies[i], model.prior.factors[i], count));
    result.kl_z += result.factors[i].kl_z;
    result.kl_r += result.factors[i].kl_r;
    codes.push_back(to_integers(torch::cat(tallies[i].codes)));
  }
  compare_codes(result, codes, model.prior.factors, images.labels, properties);
  std::vector<std::vector<int64_t>> values;
  for (const auto& of_factor : mirrored) values.push_back(to_integers(torch::cat(of_factor)));
  compare_mirrored(result, values, model.prior.factors, images.labels, properties);
  if (options.merge) compare_merged(result, model.prior, codes, images.labels, properties);
  return result;
}

Json to_json(const Evaluation& evaluation) {
  Json json = {{"split", evaluation.split},
               {"count", evaluation.count},
               {"elbo", evaluation.elbo},
               {"reconstruction", evaluation.reconstruction},
               {"kl_z", evaluation.kl_z},
               {"kl_r", evaluation.kl_r},
               {"samples", evaluation.samples},
               {"standard_error", evaluation.standard_error},
               {"predictive_bound", evaluation.predictive_bound},
               {"predictive_standard_error", evaluation.predictive_standard_error},
               {"components_placed", evaluation.components_placed}};
  if (evaluation.importance_bound) {
    json["importance_bound"] = *evaluation.importance_bound;
    json["importance_standard_error"] = *evaluation.importance_standard_error;
    json["importance_samples"] = evaluation.importance_samples;
    json["importance_images"] = evaluation.importance_images;
  }
  json["factors"] = Json::array();
  for (const FactorEvaluation& factor : evaluation.factors) {
    Json entry = {{"name", factor.name},
                  {"components", factor.components},
                  {"used", factor.used},
                  {"perplexity", factor.perplexity},
                  {"kl_z", factor.kl_z},
                  {"kl_r", factor.kl_r},
                  {"dead", factor.dead()},
                  {"dimensions", factor.dimensions},
                  {"active_dimensions", factor.active_dimensions}};
    if (const PropertyAgreement* best = factor.best()) {
      entry["property"] = best->property;
      entry["accuracy"] = best->accuracy;
      entry["nmi"] = best->nmi;
      if (factor.mirrored_accuracy) entry["mirrored_accuracy"] = *factor.mirrored_accuracy;
      entry["purity"] = best->purity;
      entry["adjusted_rand"] = best->adjusted_rand;
      for (const PropertyAgreement& agreement : factor.properties)
        entry["properties"][agreement.property] = {
            {"images", agreement.images},
            {"accuracy", agreement.accuracy},
            {"nmi", agreement.nmi},
            {"purity", agreement.purity},
            {"adjusted_rand", agreement.adjusted_rand},
            {"mutual_information", agreement.mutual_information},
            {"explained", agreement.explained},
            {"standout",
             {{"component", agreement.component},
              {"value", agreement.value},
              {"images", agreement.standout.items},
              {"share", agreement.standout.share},
              {"usual_share", agreement.standout.usual_share}}}};
      for (const PropertyAgreement* agreement : factor.most_explained(most_listed))
        entry["says_most_about"].push_back(agreement->property);
    }
    if (factor.merged) entry["merged"] = to_json(*factor.merged);
    json["factors"].push_back(std::move(entry));
  }
  if (evaluation.mean_gap) {
    json["mean_gap"] = *evaluation.mean_gap;
    for (const PropertyGap& gap : evaluation.gaps)
      json["gaps"].push_back({{"property", gap.property},
                              {"entropy", gap.entropy},
                              {"gap", gap.gap},
                              {"factor", gap.factor}});
  }
  json["mean_dependence"] = evaluation.mean_dependence;
  json["dependence"] = evaluation.dependence;
  return json;
}

}  // namespace facet
