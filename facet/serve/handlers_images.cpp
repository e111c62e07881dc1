// Images that are sent, as the model sees them, and images of the pack that are near to a latent
// vector. What is sent is fitted to the model's shape, and the answer says so.
#include <algorithm>

#include <fmt/format.h>

#include "facet/core/base64.h"
#include "facet/core/torch.h"
#include "facet/model/generate.h"
#include "facet/serve/answer_parts.h"
#include "facet/serve/handlers.h"
#include "facet/serve/reading.h"
#include "facet/serve/upload.h"

namespace facet {

namespace {

/// The probabilities of all components of every factor, for the encoding of one image.
Json factor_probabilities(const FactorialMixture& prior, const Encoding& encoding) {
  Json factors = Json::array();
  const auto blocks = prior.split(encoding.mean, encoding.variance());
  for (size_t i = 0; i < prior.size(); ++i) {
    const auto probabilities = to_doubles(e_step(blocks[i], prior.posteriors[i], {}));
    const auto highest = std::max_element(probabilities.begin(), probabilities.end());
    factors.push_back({{"name", prior.factors[i].name},
                       {"component", highest - probabilities.begin()},
                       {"probability", *highest},
                       {"probabilities", probabilities}});
  }
  return factors;
}

/// Where an uploaded image stands among images of the test split; null while they are encoded.
Json trust_json(const HandlerContext& context, const ServedModel& model, const Upload& upload,
                const Encoding& encoding, const torch::Tensor& means) {
  const auto table = context.nearest ? context.nearest->table(model.weights) : nullptr;
  if (!table) return Json();
  const double error = image_errors(upload.pixels, means)[0].item<double>();
  const double density = typicality(model.prior(), encoding.mean)[0].item<double>();
  return {{"error", error},
          {"error_percentile", percentile(table->errors, error)},
          {"typicality", density},
          {"typicality_percentile", percentile(table->reference, density)},
          {"images", table->reference.size()}};
}

/// The absolute difference of two images, brightest where it is largest, U8 [1, 1, H, W].
torch::Tensor error_map(const torch::Tensor& pixels, const torch::Tensor& means) {
  return (pixels.to(kFloat32) - means.to(kFloat32))
      .abs()
      .mean(1, /*keepdim=*/true)
      .mul(3)
      .clamp(0, 255)
      .round()
      .to(kUInt8);
}

/// 1 in the dimensions of the factors that the request names, or of all, float64 [Z].
torch::Tensor read_searched_dimensions(const FactorialMixture& prior, const RequestValue& body) {
  const torch::Tensor searched = torch::ones({prior.dimensions()}, kFloat64);
  if (!body.has("factors")) return searched;
  const std::vector<RequestValue> names = body.at("factors").elements(0, 1000);
  if (names.empty()) return searched;
  searched.zero_();
  for (const RequestValue& name : names) {
    const size_t i = at_place(name.where(), [&] { return prior.index_of(name.text()); });
    searched.narrow(0, first_dimension(prior, i), prior.factors[i].dimensions).fill_(1);
  }
  return searched;
}

/// Known labels of one image, value by property.
Json labels_json(const Pack& pack, int64_t row) {
  Json labels = Json::object();
  for (size_t p = 0; p < pack.properties.size(); ++p)
    if (const auto label = pack.labels[row][static_cast<int64_t>(p)].item<int64_t>(); label >= 0)
      labels[pack.properties[p].name] = pack.properties[p].values[static_cast<size_t>(label)];
  return labels;
}

}  // namespace

ApiResponse answer_encode(HandlerContext& context, const ApiRequest& request) {
  const ServedModelPointer model = context.model.required();
  const Query query(request, {"scale"});
  const int64_t scale = query.integer("scale", 1, 1, kLargestPictureScale);
  check_pixels(model->shape(), 2, scale, "scale");
  const Upload upload = read_upload(context, model->shape(), request.body);
  Encoding encoding;
  context.thread.run([&] { encoding = encode_pixels(*model->networks, upload.pixels); });
  const Json factors = factor_probabilities(model->prior(), encoding);
  // Errors are those of the mean, as for the images of the data: a refined picture starts from the
  // photograph and would be too near to it.
  const torch::Tensor means = context.thread.decode(model, encoding.mean);
  const torch::Tensor reconstruction =
      model->refinement
          ? context.thread.pictures(model, encoding.mean, edit_noise(1), upload.pixels)
          : means;
  return json_response({{"version", model->version},
                        {"notice", upload.notice},
                        {"trust", trust_json(context, *model, upload, encoding, means)},
                        {"error_map", base64(draw_one(error_map(upload.pixels, means), 0, scale))},
                        {"original", shape_json(upload.original)},
                        {"z", to_doubles(encoding.mean)},
                        {"log_variance", to_doubles(encoding.log_variance)},
                        {"factors", factors},
                        {"input", base64(draw_one(upload.pixels, 0, scale))},
                        {"reconstruction", base64(draw_one(reconstruction, 0, scale))}});
}

ApiResponse answer_reconstruct(HandlerContext& context, const ApiRequest& request) {
  const ServedModelPointer model = context.model.required();
  const Query query(request, {"scale", "seed"});
  const int64_t scale = query.integer("scale", 1, 1, kLargestPictureScale);
  const int64_t seed = query.integer("seed", 1, 0, kLargestSeed);
  check_pixels(model->shape(), model->refinement ? 5 : 4, scale, "scale");
  const Upload upload = read_upload(context, model->shape(), request.body);
  torch::Tensor mean, stddev, sample, refined;
  context.thread.run([&] {
    const Vae& networks = *model->networks;
    const torch::Tensor z = encode_pixels(networks, upload.pixels).mean;
    mean = decode_means(networks, z);
    stddev = decode_stddevs(networks, z);
    const Key key = Key(static_cast<uint64_t>(seed)).fold("reconstruct");
    sample = decode_samples(networks, z, key);
    if (model->refinement)
      refined = decode_pictures_of(networks, upload.pixels, z, model->refinement,
                                   PictureNoise::each(key, 1));
  });
  const auto smallest = stddev.min().item<double>(), largest = stddev.max().item<double>();
  const torch::Tensor shades = ((stddev - smallest) * (255 / std::max(largest - smallest, 1e-12)))
                                   .round()
                                   .clamp(0, 255)
                                   .to(kUInt8);
  Json answer = {{"version", model->version},
                 {"notice", upload.notice},
                 {"input", base64(draw_one(upload.pixels, 0, scale))},
                 {"mean", base64(draw_one(mean, 0, scale))},
                 {"stddev", base64(draw_one(shades, 0, scale))},
                 {"sample", base64(draw_one(sample, 0, scale))},
                 {"smallest_stddev", smallest},
                 {"largest_stddev", largest}};
  if (model->refinement) answer["refined"] = base64(draw_one(refined, 0, scale));
  return json_response(answer);
}

ApiResponse answer_nearest(HandlerContext& context, const ApiRequest& request) {
  const NearestImages& nearest = context.images();
  const ServedModelPointer model = context.model.required();
  const FactorialMixture& prior = model->prior();
  const Json json = parse_body(request.body);
  const RequestValue body(json);
  body.require_keys({"z", "count", "factors", "scale"});
  const torch::Tensor z = read_row(body.at("z"), prior.dimensions(), kLargestLatent)[0];
  const int64_t count = body.has("count") ? body.at("count").integer(1, kMostStates) : 8;
  const Look look = read_look(body, model->shape(), count);
  const torch::Tensor searched = read_searched_dimensions(prior, body);
  if (!nearest.ready(model->weights))
    throw ApiError(503, fmt::format("the pack is being encoded: {} of {} images", nearest.encoded(),
                                    nearest.count()));
  const Pack& pack = nearest.pack();
  const Neighbours found = nearest.find(z, searched, count, model->weights);
  Json images = Json::array();
  for (size_t n = 0; n < found.rows.size(); ++n) {
    const int64_t row = found.rows[n];
    images.push_back({{"index", row},
                      {"split", split_names[pack.split[row].item<uint8_t>()]},
                      {"distance", found.distances[n]},
                      {"labels", labels_json(pack, row)},
                      {"png", base64(draw_one(pack.images.slice(row, 1), 0, look.scale))}});
  }
  return json_response({{"version", model->version}, {"images", images}});
}

}  // namespace facet
