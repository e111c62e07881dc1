#include "facet/model/model_summary.h"

#include "facet/core/json.h"
#include "facet/core/torch.h"

namespace facet {

namespace {

Json factor_json(const FactorialMixture& prior, size_t index) {
  const FactorOptions& factor = prior.factors[index];
  const torch::Tensor weights = prior.posteriors[index].expected_weights().to(torch::kCPU);
  const torch::Tensor images = prior.held_images(index);
  Json json = {{"name", factor.name}, {"named", factor.named()}};
  if (factor.named()) json["property"] = factor.property;
  if (!factor.original.empty()) json["original"] = factor.original;
  json["first"] = prior.block_begin(index);
  json["dimensions"] = factor.dimensions;
  json["components"] = Json::array();
  for (int64_t k = 0; k < factor.components; ++k) {
    const auto held = images[k].item<double>();
    json["components"].push_back({{"index", k},
                                  {"name", factor.component_name(k)},
                                  {"weight", weights[k].item<double>()},
                                  {"images", held},
                                  {"living", held > 1.0}});
  }
  return json;
}

}  // namespace

Json model_summary(const Vae& model) {
  const FactorialMixture& prior = model.prior;
  const ImageShape& shape = model.shape();
  Json factors = Json::array();
  double images = 0;
  for (size_t i = 0; i < prior.size(); ++i) {
    factors.push_back(factor_json(prior, i));
    images += prior.held_images(i).sum().item<double>();
  }
  return {
      {"shape", {{"channels", shape.channels}, {"height", shape.height}, {"width", shape.width}}},
      {"latents", prior.dimensions()},
      {"network_parameters", model.network_parameters()},
      {"likelihood", model.options().likelihood.kind},
      {"placed", images > 1.0},
      {"factors", factors}};
}

}  // namespace facet
