// What the components of a factor look like: a sprite of their means, and the dimensions of one
// component by how much they change the picture. Both are computed once and kept with the model.
#include <algorithm>

#include <fmt/format.h>

#include "facet/core/torch.h"
#include "facet/model/atlas.h"
#include "facet/prior/student_t.h"
#include "facet/serve/answer_parts.h"
#include "facet/serve/handlers.h"
#include "facet/serve/reading.h"

namespace facet {

namespace {

constexpr int64_t kMeasuredDimensions = 64;

size_t read_factor(const FactorialMixture& prior, const Query& query) {
  const std::string& name = query.text("factor");
  return at_place("factor", [&] { return prior.index_of(name); });
}

int64_t sprite_count(const FactorialMixture& prior, size_t factor) {
  return std::min(prior.factors[factor].components, kMostAtlasComponents);
}

/// In slices, because what waits for the model's thread is bounded.
torch::Tensor decode_slices(ModelThread& thread, const ServedModelPointer& model,
                            const torch::Tensor& z) {
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& slice : z.split(kMostStates))
    parts.push_back(thread.decode(model, slice));
  return torch::cat(parts);
}

/// The means of a factor's components as one PNG, the other factors being typical.
std::string atlas_sprite(ModelThread& thread, const ServedModelPointer& model, size_t factor,
                         int64_t scale) {
  const std::lock_guard alone(model->atlas_mutex);
  if (const auto known = model->sprites.find({factor, scale})) return *known;
  const torch::Tensor z = atlas_latents(model->prior(), factor);
  const std::string png = draw_png(decode_slices(thread, model, z), kAtlasColumns, scale);
  model->sprites.insert({factor, scale}, png);
  return png;
}

/// The dimensions of a component, largest effect first. The effect is the root mean square change
/// of the pixels by one stddev.
Json measure_directions(ModelThread& thread, const ServedModelPointer& model, size_t factor,
                        int64_t component) {
  const FactorialMixture& prior = model->prior();
  const NormalGamma means = prior.posteriors[factor].mean();
  const torch::Tensor stddev = torch::sqrt(squared_scale(means)[component]);  // [D]
  // The widest ones where there are very many: each costs two pictures.
  const int64_t count = std::min(stddev.size(0), kMeasuredDimensions);
  const torch::Tensor chosen = stddev.argsort(0, /*descending=*/true).narrow(0, 0, count);
  const int64_t first = first_dimension(prior, factor);
  const torch::Tensor z = typical_latents(prior).repeat({2 * count, 1});
  z.narrow(1, first, stddev.size(0)).copy_(means.m[component].expand({2 * count, -1}));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t dimension = first + chosen[i].item<int64_t>();
    const double step = stddev[chosen[i].item<int64_t>()].item<double>();
    z[2 * i][dimension] += step;
    z[2 * i + 1][dimension] -= step;
  }
  const torch::Tensor pairs =
      decode_slices(thread, model, z).to(kFloat32).view({count, 2, -1});  // up and down
  const torch::Tensor differences = (pairs.select(1, 0) - pairs.select(1, 1)) / 2;
  const torch::Tensor effect = differences.square().mean(1).sqrt();  // [count]
  const torch::Tensor order = effect.argsort(0, /*descending=*/true);
  Json list = Json::array();
  for (int64_t i = 0; i < count; ++i) {
    const auto place = order[i].item<int64_t>();
    const auto dimension = chosen[place].item<int64_t>();
    list.push_back({{"dimension", dimension},
                    {"stddev", stddev[dimension].item<double>()},
                    {"effect", effect[place].item<double>()}});
  }
  return list;
}

}  // namespace

ApiResponse answer_atlas(HandlerContext& context, const ApiRequest& request) {
  const ServedModelPointer model = context.model.required();
  const Query query(request, {"factor", "scale", "v"});
  const size_t factor = read_factor(model->prior(), query);
  const int64_t scale = query.integer("scale", 1, 1, kLargestPictureScale);
  const int64_t count = sprite_count(model->prior(), factor);
  check_pixels(model->shape(), count, scale, "scale");
  ApiResponse response;
  response.type = "image/png";
  const std::string tag = fmt::format("\"{}-{}-{}\"", model->version, factor, scale);
  const bool dated = query.has("v") && query.text("v") == model->version;
  response.headers = {
      {"ETag", tag},
      {"Cache-Control", dated ? "private, max-age=31536000, immutable" : "private, no-cache"},
      {"X-Facet-Columns", std::to_string(std::min(count, kAtlasColumns))},
      {"X-Facet-Count", std::to_string(count)}};
  if (request.if_none_match == tag)
    response.status = 304;
  else
    response.body = atlas_sprite(context.thread, model, factor, scale);
  return response;
}

ApiResponse answer_directions(HandlerContext& context, const ApiRequest& request) {
  const ServedModelPointer model = context.model.required();
  const FactorialMixture& prior = model->prior();
  const Query query(request, {"factor", "component"});
  const size_t factor = read_factor(prior, query);
  const std::string& text = query.text("component");
  const int64_t component =
      at_place("component", [&] { return prior.factors[factor].component_of(text); });
  std::optional<Json> list = model->directions.find({factor, component});
  if (!list) {
    list.emplace(measure_directions(context.thread, model, factor, component));
    model->directions.insert({factor, component}, *list);
  }
  return json_response({{"version", model->version},
                        {"factor", prior.factors[factor].name},
                        {"component", component},
                        {"directions", *list}});
}

}  // namespace facet
