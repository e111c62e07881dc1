#include "facet/eval/bounds.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "facet/eval/clusters.h"
#include "facet/model/objective.h"

namespace facet {

namespace {

std::vector<int64_t> to_vector(const torch::Tensor& column) {
  const torch::Tensor plain = column.to(torch::kCPU).to(torch::kInt64).contiguous();
  return {plain.data_ptr<int64_t>(), plain.data_ptr<int64_t>() + plain.numel()};
}

/// log of the importance-weighted estimate of p(x): the mean over draws z ~ q(z|x) of
/// p(x|z) p(z) / q(z|x), with the predictive marginal of the prior as p(z), [B].
torch::Tensor importance_bound(Vae& model, const torch::Tensor& x, const Encoding& encoding,
                               int64_t samples, const Key& key) {
  torch::Tensor total;
  const torch::Tensor log_variance = encoding.log_variance.to(torch::kFloat64);
  for (int64_t s = 0; s < samples; ++s) {
    const torch::Tensor z = encoding.sample(key.fold(static_cast<uint64_t>(s)));
    torch::Tensor log_weight =
        model.likelihood().log_density(x, model.decode(z)).to(torch::kFloat64);
    const auto blocks = model.prior.split(z);
    for (size_t i = 0; i < blocks.size(); ++i)
      log_weight += predictive_log_density(blocks[i], model.prior.posteriors[i]);
    const torch::Tensor offset = (z - encoding.mean).to(torch::kFloat64);
    log_weight += 0.5 * (log_variance + std::log(2.0 * std::numbers::pi) +
                         offset.square() / torch::exp(log_variance))
                            .sum(1);
    total = s == 0 ? log_weight : torch::logaddexp(total, log_weight);
  }
  return total - std::log(static_cast<double>(samples));
}

struct MeanAndError {
  double mean, error;
};
MeanAndError mean_and_error(const std::vector<torch::Tensor>& parts) {
  const torch::Tensor all = torch::cat(parts);
  const auto count = static_cast<double>(all.numel());
  return {all.mean().item<double>(), count > 1 ? all.std().item<double>() / std::sqrt(count) : 0.0};
}

/// Labels as components of a named factor, by the names of values: another pack may have them in
/// another order. Values that the factor does not know are left out.
std::vector<int64_t> components_of_labels(std::vector<int64_t> labels, const Property& property,
                                          const FactorOptions& factor) {
  for (int64_t& label : labels) {
    if (label < 0) continue;
    const auto found = std::find(factor.values.begin(), factor.values.end(),
                                 property.values[static_cast<size_t>(label)]);
    label = found == factor.values.end() ? -1 : found - factor.values.begin();
  }
  return labels;
}

std::vector<PropertyAgreement> agreements(const torch::Tensor& codes, const torch::Tensor& labels,
                                          const FactorOptions& factor,
                                          const std::vector<Property>& properties) {
  std::vector<PropertyAgreement> result;
  const std::vector<int64_t> clusters = to_vector(codes);
  for (size_t p = 0; p < properties.size(); ++p) {
    std::vector<int64_t> classes = to_vector(labels.select(1, static_cast<int64_t>(p)));
    const bool own = factor.named() && factor.property == properties[p].name;
    if (own) classes = components_of_labels(classes, properties[p], factor);
    if (std::all_of(classes.begin(), classes.end(), [](int64_t label) { return label < 0; }))
      continue;
    const auto class_count = std::max(static_cast<int64_t>(properties[p].values.size()),
                                      static_cast<int64_t>(factor.values.size()));
    const Contingency table = contingency(clusters, classes, factor.components, class_count);
    result.push_back({properties[p].name, own ? accuracy(table) : matched_accuracy(table),
                      normalised_mutual_information(table), purity(table)});
  }
  return result;
}

}  // namespace

const PropertyAgreement* FactorEvaluation::best() const {
  for (const PropertyAgreement& agreement : properties)
    if (agreement.property == property) return &agreement;
  const auto found = std::max_element(properties.begin(), properties.end(),
                                      [](const auto& a, const auto& b) { return a.nmi < b.nmi; });
  return found == properties.end() ? nullptr : &*found;
}

Evaluation evaluate(Vae& model, const ImageSet& images, const std::vector<Property>& properties,
                    const std::string& split, const EvaluationOptions& options) {
  torch::NoGradGuard no_gradient;
  const Key key = Key(options.seed).fold("evaluate");
  const size_t factor_count = model.prior.size();
  double reconstruction = 0;
  std::vector<double> kl_z(factor_count, 0), kl_r(factor_count, 0);
  std::vector<torch::Tensor> usage(factor_count), bounds, importance;
  std::vector<std::vector<torch::Tensor>> codes(factor_count);

  uint64_t batch = 0;
  for (const torch::Tensor& pixels : images.pixels.split(options.batch_size)) {
    const Key batch_key = key.fold(batch++);
    const torch::Tensor x = model.likelihood().from_pixels(pixels);
    const BoundTerms terms = bound_terms(model, x, {}, batch_key.fold(uint64_t{0}));
    torch::Tensor log_density = terms.reconstruction.to(torch::kFloat64);
    for (int64_t s = 1; s < options.samples; ++s) {
      const torch::Tensor z = terms.encoding.sample(batch_key.fold(static_cast<uint64_t>(s)));
      log_density = log_density + model.likelihood().log_density(x, model.decode(z));
    }
    log_density = log_density / static_cast<double>(options.samples);
    reconstruction += log_density.sum().item<double>();
    bounds.push_back(log_density - terms.kl_z() - terms.kl_r());
    for (size_t i = 0; i < factor_count; ++i) {
      const FactorTerms& factor = terms.factors[i];
      kl_z[i] += factor.kl_z.sum().item<double>();
      kl_r[i] += factor.kl_r.sum().item<double>();
      const torch::Tensor taken = factor.responsibilities.sum(0);
      usage[i] = usage[i].defined() ? usage[i] + taken : taken;
      codes[i].push_back(factor.responsibilities.argmax(1));
    }
    if (options.importance > 0)
      importance.push_back(importance_bound(model, x, terms.encoding, options.importance,
                                            batch_key.fold("importance")));
  }

  Evaluation result;
  result.split = split;
  result.count = images.count();
  result.samples = options.samples;
  const auto count = static_cast<double>(result.count);
  result.reconstruction = reconstruction / count;
  const MeanAndError bound = mean_and_error(bounds);
  result.elbo = bound.mean;
  result.standard_error = bound.error;
  if (options.importance > 0) {
    const MeanAndError weighted = mean_and_error(importance);
    result.importance_bound = weighted.mean;
    result.importance_standard_error = weighted.error;
    result.importance_samples = options.importance;
  }
  for (size_t i = 0; i < factor_count; ++i) {
    const FactorOptions& factor = model.prior.factors[i];
    const torch::Tensor taken = usage[i].to(torch::kCPU).contiguous();
    const std::vector<double> weights(taken.data_ptr<double>(),
                                      taken.data_ptr<double>() + taken.numel());
    FactorEvaluation evaluation{
        factor.name,
        factor.property,
        factor.components,
        std::count_if(weights.begin(), weights.end(), [](double weight) { return weight > 1.0; }),
        perplexity(weights),
        kl_z[i] / count,
        kl_r[i] / count,
        {}};
    evaluation.properties = agreements(torch::cat(codes[i]), images.labels, factor, properties);
    result.kl_z += evaluation.kl_z;
    result.kl_r += evaluation.kl_r;
    result.factors.push_back(std::move(evaluation));
  }
  return result;
}

Json to_json(const Evaluation& evaluation) {
  Json json = {{"split", evaluation.split},     {"count", evaluation.count},
               {"elbo", evaluation.elbo},       {"reconstruction", evaluation.reconstruction},
               {"kl_z", evaluation.kl_z},       {"kl_r", evaluation.kl_r},
               {"samples", evaluation.samples}, {"standard_error", evaluation.standard_error}};
  if (evaluation.importance_bound) {
    json["importance_bound"] = *evaluation.importance_bound;
    json["importance_standard_error"] = *evaluation.importance_standard_error;
    json["importance_samples"] = evaluation.importance_samples;
  }
  json["factors"] = Json::array();
  for (const FactorEvaluation& factor : evaluation.factors) {
    Json entry = {{"name", factor.name}, {"components", factor.components},
                  {"used", factor.used}, {"perplexity", factor.perplexity},
                  {"kl_z", factor.kl_z}, {"kl_r", factor.kl_r}};
    if (const PropertyAgreement* best = factor.best()) {
      entry["property"] = best->property;
      entry["accuracy"] = best->accuracy;
      entry["nmi"] = best->nmi;
      entry["purity"] = best->purity;
      for (const PropertyAgreement& agreement : factor.properties)
        entry["properties"][agreement.property] = {
            {"accuracy", agreement.accuracy}, {"nmi", agreement.nmi}, {"purity", agreement.purity}};
    }
    json["factors"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace facet
