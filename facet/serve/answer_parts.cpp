#include "facet/serve/answer_parts.h"

#include <fmt/format.h>

#include "facet/core/base64.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/report/picture.h"

namespace facet {

namespace {

/// Index by factor, of one row of components [B, I].
Json components_json(const FactorialMixture& prior, const torch::Tensor& components, int64_t row) {
  Json json = Json::object();
  for (size_t i = 0; i < prior.size(); ++i)
    json[prior.factors[i].name] = components[row][static_cast<int64_t>(i)].item<int64_t>();
  return json;
}

}  // namespace

Json shape_json(const ImageShape& shape) {
  return {{"channels", shape.channels}, {"height", shape.height}, {"width", shape.width}};
}

std::string shape_text(const ImageShape& shape) {
  return fmt::format("{}x{} {}", shape.width, shape.height, shape.channels == 1 ? "grey" : "RGB");
}

PictureNoise edit_noise(int64_t count) { return PictureNoise::shared(Key(1).fold("edit"), count); }

int64_t first_dimension(const FactorialMixture& prior, size_t factor) {
  int64_t first = 0;
  for (size_t i = 0; i < factor; ++i) first += prior.factors[i].dimensions;
  return first;
}

std::string draw_png(const torch::Tensor& pixels, int64_t columns, int64_t scale) {
  GridOptions grid;
  grid.columns = columns;
  grid.gap = 0;
  grid.scale = scale;
  return encode_png(draw_grid(to_images(pixels), grid));
}

std::string draw_one(const torch::Tensor& pixels, int64_t row, int64_t scale) {
  return draw_png(pixels.narrow(0, row, 1), 1, scale);
}

ApiResponse pictures_response(const ServedModel& model, const Look& look,
                              const torch::Tensor& pixels, const LatentSample& latents,
                              const std::vector<std::string>& commands) {
  if (look.plain_png) {
    ApiResponse response{200, "image/png", draw_one(pixels, 0, look.scale), {}};
    if (!commands.empty()) response.headers["X-Facet-Command"] = commands[0];
    return response;
  }
  Json images = Json::array();
  for (int64_t row = 0; row < pixels.size(0); ++row) {
    Json image = {{"png", base64(draw_one(pixels, row, look.scale))},
                  {"z", to_doubles(latents.z[row])},
                  {"components", components_json(model.prior(), latents.components, row)}};
    if (!commands.empty()) image["command"] = commands[static_cast<size_t>(row)];
    images.push_back(std::move(image));
  }
  return json_response({{"version", model.version}, {"images", images}});
}

}  // namespace facet
