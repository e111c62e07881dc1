// The images that a model was trained on, as it sees them: those of a component, what labels say
// about a component, one image with its code, and reconstructions of a few fixed ones.
#include <algorithm>

#include <fmt/format.h>

#include "facet/core/base64.h"
#include "facet/core/torch.h"
#include "facet/model/generate.h"
#include "facet/serve/answer_parts.h"
#include "facet/serve/handlers.h"
#include "facet/serve/reading.h"

namespace facet {

namespace {

constexpr int64_t kMostListed = 128;  // images in an answer
constexpr int64_t kSheetColumns = 16;
constexpr int64_t kReconstructed = 12;
constexpr int64_t kMostMappedImages = 512;

/// The pack with the model's view of it; an ApiError where there is none or it is not ready.
struct SeenData {
  const NearestImages& images;
  ServedModelPointer model;
  std::shared_ptr<const ImageTable> table;
};

SeenData required_data(const HandlerContext& context) {
  const NearestImages& images = context.images();
  const ServedModelPointer model = context.model.required();
  auto table = images.table(model->weights);
  if (!table)
    throw ApiError(503, fmt::format("the images are being encoded: {} of {}", images.encoded(),
                                    images.count()));
  return {images, model, std::move(table)};
}

ImageOrder read_order(const Query& query) {
  const std::string order = query.has("order") ? query.text("order") : "index";
  if (order == "index") return ImageOrder::index;
  if (order == "typical") return ImageOrder::typical;
  if (order == "borderline") return ImageOrder::borderline;
  if (order == "outliers") return ImageOrder::outliers;
  throw ApiError(400, "an order is index, typical, borderline or outliers", "order");
}

/// The known labels of an image; people's own replace those of the pack.
Json image_labels(const HandlerContext& context, const Pack& pack, int64_t row) {
  Json labels = Json::object();
  for (size_t p = 0; p < pack.properties.size(); ++p)
    if (const auto label = pack.labels[row][static_cast<int64_t>(p)].item<int64_t>(); label >= 0)
      labels[pack.properties[p].name] = pack.properties[p].values[static_cast<size_t>(label)];
  for (const auto& [property, value] : context.labels.of_image(row)) labels[property] = value;
  return labels;
}

Json image_entry(const HandlerContext& context, const SeenData& data, int64_t row) {
  const Pack& pack = data.images.pack();
  Json code = Json::object();
  for (size_t i = 0; i < data.table->factors; ++i) {
    const FactorOptions& factor = data.model->prior().factors[i];
    const size_t at = data.table->place(row, i);
    code[factor.name] = {{"component", data.table->components[at]},
                         {"probability", data.table->probabilities[at]}};
  }
  return {{"index", row},
          {"file", image_file(pack, row)},
          {"split", split_names[pack.split[row].item<uint8_t>()]},
          {"typicality",
           percentile(data.table->reference, data.table->typicality[static_cast<size_t>(row)])},
          {"labels", image_labels(context, pack, row)},
          {"code", code}};
}

/// Whether an image has a label of a property, of the pack or of people, for all images of a table:
/// column by column, because there may be a hundred thousand.
std::vector<bool> labelled_images(const HandlerContext& context, const Pack& pack, int64_t images,
                                  const std::string& property) {
  std::vector<bool> labelled(static_cast<size_t>(images), false);
  for (size_t p = 0; p < pack.properties.size(); ++p) {
    if (pack.properties[p].name != property) continue;
    const torch::Tensor column = pack.labels.select(1, static_cast<int64_t>(p)).to(kInt64);
    const torch::Tensor values = column.contiguous();
    for (int64_t row = 0; row < images; ++row)
      labelled[static_cast<size_t>(row)] = values.data_ptr<int64_t>()[row] >= 0;
  }
  for (const int64_t row : context.labels.labelled(property))
    if (row < images) labelled[static_cast<size_t>(row)] = true;
  return labelled;
}

ImageChoice read_choice(const SeenData& data, const Query& query) {
  ImageChoice choice;
  choice.order = read_order(query);
  const FactorialMixture& prior = data.model->prior();
  if (query.has("factor")) {
    const size_t i = at_place("factor", [&] { return prior.index_of(query.text("factor")); });
    choice.factor = static_cast<int64_t>(i);
    if (query.has("component"))
      choice.component = at_place(
          "component", [&] { return prior.factors[i].component_of(query.text("component")); });
  }
  return choice;
}

}  // namespace

ApiResponse answer_images(HandlerContext& context, const ApiRequest& request) {
  const SeenData data = required_data(context);
  const Query query(request,
                    {"factor", "component", "order", "unlabelled", "offset", "count", "v"});
  const Pack& pack = data.images.pack();
  std::vector<int64_t> rows = chosen_images(*data.table, pack.labels, read_choice(data, query));
  if (query.has("unlabelled")) {
    const std::vector<bool> labelled =
        labelled_images(context, pack, data.table->images, query.text("unlabelled"));
    std::erase_if(rows, [&](int64_t row) { return labelled[static_cast<size_t>(row)]; });
  }
  const auto total = static_cast<int64_t>(rows.size());
  const int64_t offset = std::min(query.integer("offset", 0, 0, 1000000000), total);
  const int64_t count = std::min(query.integer("count", 64, 1, kMostListed), total - offset);
  Json images = Json::array();
  std::string sheet;
  if (count > 0) {
    const std::vector<int64_t> shown(rows.begin() + offset, rows.begin() + offset + count);
    for (const int64_t row : shown) images.push_back(image_entry(context, data, row));
    sheet = base64(draw_png(pack.images.gather(torch::tensor(shown)), kSheetColumns, 1));
  }
  return json_response({{"version", data.model->version},
                        {"total", total},
                        {"offset", offset},
                        {"columns", std::min(kSheetColumns, std::max<int64_t>(count, 1))},
                        {"sheet", sheet},
                        {"images", images}});
}

ApiResponse answer_image(HandlerContext& context, const ApiRequest& request) {
  const SeenData data = required_data(context);
  const Query query(request, {"index", "scale"});
  const int64_t row = query.integer("index", 0, 0, data.images.count() - 1);
  const int64_t scale = query.integer("scale", 1, 1, kLargestPictureScale);
  check_pixels(data.model->shape(), 1, scale, "scale");
  Json entry = image_entry(context, data, row);
  entry["png"] = base64(draw_one(data.images.pack().images.slice(row, 1), 0, scale));
  return json_response({{"version", data.model->version}, {"image", entry}});
}

ApiResponse answer_statements(HandlerContext& context, const ApiRequest& request) {
  Query(request, {});
  const SeenData data = required_data(context);
  const FactorialMixture& prior = data.model->prior();
  Json factors = Json::array();
  for (size_t i = 0; i < prior.size(); ++i)
    factors.push_back(label_statements(*data.table, data.images.pack(), prior.factors[i], i));
  Json properties = Json::array();
  for (const Property& property : data.images.pack().properties)
    properties.push_back({{"name", property.name}, {"values", property.values}});
  return json_response({{"version", data.model->version},
                        {"images", data.images.count()},
                        {"properties", properties},
                        {"given", context.labels.counts()},
                        {"factors", factors}});
}

ApiResponse answer_reconstructions(HandlerContext& context, const ApiRequest& request) {
  Query(request, {});
  const NearestImages& images = context.images();
  const ServedModelPointer model = context.model.required();
  const std::vector<int64_t> known = reference_rows(images.pack(), images.count());
  const std::vector<int64_t> rows(
      known.begin(), known.begin() + std::min<int64_t>(kReconstructed, std::ssize(known)));
  const torch::Tensor pixels = images.pack().images.gather(torch::tensor(rows));
  torch::Tensor means;
  context.thread.run([&] {
    const Vae& networks = *model->networks;
    means = decode_means(networks, encode_pixels(networks, pixels).mean);
  });
  const torch::Tensor errors = image_errors(pixels, means);
  Json pairs = Json::array();
  for (int64_t n = 0; n < pixels.size(0); ++n)
    pairs.push_back({{"index", rows[static_cast<size_t>(n)]},
                     {"image", base64(draw_one(pixels, n, 1))},
                     {"reconstruction", base64(draw_one(means, n, 1))},
                     {"error", errors[n].item<double>()}});
  return json_response({{"version", model->version}, {"pairs", pairs}});
}

ApiResponse answer_map(HandlerContext& context, const ApiRequest& request) {
  const SeenData data = required_data(context);
  const Query query(request, {"factor", "images"});
  const FactorialMixture& prior = data.model->prior();
  const size_t factor = at_place("factor", [&] { return prior.index_of(query.text("factor")); });
  const int64_t all = data.images.count();
  const int64_t count = std::min(query.integer("images", 256, 1, kMostMappedImages), all);
  std::vector<int64_t> rows;
  for (int64_t n = 0; n < count; ++n) rows.push_back(n * all / count);
  const NearestImages::Block block =
      data.images.block(torch::tensor(rows), first_dimension(prior, factor),
                        prior.factors[factor].dimensions, data.model->weights);
  const torch::Tensor means = prior.posteriors[factor].mean().m.to(torch::kCPU) / block.stddev;
  Json components = Json::array(), images = Json::array();
  for (int64_t k = 0; k < means.size(0); ++k) components.push_back(to_doubles(means[k]));
  for (int64_t n = 0; n < count; ++n) {
    const int64_t row = rows[static_cast<size_t>(n)];
    images.push_back({{"index", row},
                      {"component", data.table->components[data.table->place(row, factor)]},
                      {"z", to_doubles(block.latents[n])}});
  }
  const Pack& pack = data.images.pack();
  return json_response(
      {{"version", data.model->version},
       {"factor", prior.factors[factor].name},
       {"columns", std::min(kSheetColumns, count)},
       {"sheet", base64(draw_png(pack.images.gather(torch::tensor(rows)), kSheetColumns, 1))},
       {"components", components},
       {"images", images}});
}

}  // namespace facet
