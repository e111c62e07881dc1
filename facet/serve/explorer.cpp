#include "facet/serve/explorer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"

namespace facet {

void Explorer::Route::check_body(const std::string& content_type, size_t bytes) const {
  const std::string type = media_type(content_type);
  if (body == Body::json && type != "application/json")
    throw ApiError(415, "the body must be of type application/json");
  if (body == Body::image && type != "image/png" && type != "image/jpeg")
    throw ApiError(415, "the body must be of type image/png or image/jpeg");
  const size_t most = body == Body::json    ? kMostJsonBytes
                      : body == Body::image ? kMostImageBytes
                                            : 0;
  if (bytes > most)
    throw ApiError(413, fmt::format("found a body of {} bytes, expected at most {}", bytes, most));
}

const Explorer::Route* Explorer::route(std::string_view path) {
  static constexpr std::array<Route, 21> routes = {{
      {"/api/v1/model", "GET", Body::none, answer_model},
      {"/api/v1/generate", "POST", Body::json, answer_generate},
      {"/api/v1/decode", "POST", Body::json, answer_decode},
      {"/api/v1/encode", "POST", Body::image, answer_encode},
      {"/api/v1/reconstruct", "POST", Body::image, answer_reconstruct},
      {"/api/v1/edit", "POST", Body::json, answer_edit},
      {"/api/v1/atlas", "GET", Body::none, answer_atlas},
      {"/api/v1/directions", "GET", Body::none, answer_directions},
      {"/api/v1/nearest", "POST", Body::json, answer_nearest},
      {"/api/v1/images", "GET", Body::none, answer_images},
      {"/api/v1/image", "GET", Body::none, answer_image},
      {"/api/v1/statements", "GET", Body::none, answer_statements},
      {"/api/v1/map", "GET", Body::none, answer_map},
      {"/api/v1/reconstructions", "GET", Body::none, answer_reconstructions},
      {"/api/v1/names", "POST", Body::json, answer_names},
      {"/api/v1/labels", "POST", Body::json, answer_labels},
      {"/api/v1/labels.csv", "GET", Body::none, answer_labels_csv},
      {"/api/v1/metrics", "GET", Body::none, answer_metrics},
      {"/api/v1/progress", "GET", Body::none, answer_progress},
      {"/api/v1/progress.png", "GET", Body::none, answer_progress_picture},
      {"/api/v1/openapi.yaml", "GET", Body::none, answer_openapi},
  }};
  const auto found = std::find_if(routes.begin(), routes.end(),
                                  [&](const Route& each) { return each.path == path; });
  return found == routes.end() ? nullptr : &*found;
}

std::string_view Explorer::method_at(std::string_view path) const {
  const Route* found = route(path);
  return found == nullptr ? "" : found->method;
}

void Explorer::check_body(std::string_view path, const std::string& content_type,
                          size_t bytes) const {
  const Route* found = route(path);
  if (found != nullptr) found->check_body(content_type, bytes);
}

Explorer::Explorer(ExplorerOptions options)
    : context_(options.run, options.device, options.program, std::move(options.pack),
               options.refine, options.write, std::move(options.data)) {}

Explorer::~Explorer() = default;

void Explorer::refresh() { context_.model.refresh(); }

ApiResponse Explorer::handle(const ApiRequest& request) {
  return answer_of([&] { return answer(request); });
}

ApiResponse Explorer::answer(const ApiRequest& request) {
  const Route* found = route(request.path);
  if (found == nullptr) throw ApiError(404, "there is nothing at this address");
  if (request.method != found->method)
    throw ApiError(405, fmt::format("this address takes {}", found->method));
  found->check_body(request.content_type, request.body.size());
  torch::NoGradGuard no_gradient;
  return found->answer(context_, request);
}

}  // namespace facet
