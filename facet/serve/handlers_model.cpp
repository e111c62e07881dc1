// What handlers share, and the answers about the run and its model in words and numbers: none of
// them waits for the networks.
#include "facet/core/file.h"
#include "facet/export/page_files.h"
#include "facet/serve/handlers.h"
#include "facet/serve/reading.h"
#include "facet/train/progress_pictures.h"

namespace facet {

namespace {

const Json& limits_json() {
  static const Json limits = {{"states", kMostStates},
                              {"picture_pixels", kMostPicturePixels},
                              {"json_bytes", kMostJsonBytes},
                              {"image_bytes", kMostImageBytes},
                              {"image_pixels", kMostImagePixels},
                              {"largest_latent", kLargestLatent},
                              {"largest_seed", kLargestSeed},
                              {"largest_offset", kLargestOffset},
                              {"largest_temperature", kLargestTemperature},
                              {"largest_scale", kLargestPictureScale}};
  return limits;
}

constexpr size_t kMostListedPictures = 1000;
constexpr uintmax_t kMostProgressBytes = 8 << 20;
constexpr const char* kKeptForever = "private, max-age=31536000, immutable";

Json nearest_json(const NearestImages* nearest, const ServedModelPointer& model) {
  const std::string notice = nearest == nullptr ? "" : nearest->notice();
  if (nearest == nullptr || !notice.empty())
    return {
        {"available", false}, {"ready", false}, {"images", 0}, {"encoded", 0}, {"notice", notice}};
  return {{"available", true},
          {"ready", model && nearest->ready(model->weights)},
          {"images", nearest->count()},
          {"encoded", nearest->encoded()}};
}

}  // namespace

HandlerContext::HandlerContext(const std::filesystem::path& run_, torch::Device device_,
                               const std::string& program_, std::optional<Pack> pack,
                               const RefineChoice& refine_, bool write_, NearestImages::Source data)
    : run(run_),
      device(device_),
      program(program_),
      refine(refine_),
      write(write_),
      run_watch(RunFolder::open(run)),
      nearest(pack   ? std::make_unique<NearestImages>(std::move(*pack))
              : data ? std::make_unique<NearestImages>(std::move(data))
                     : nullptr),
      model(RunFolder::open(run), device, thread, nearest.get(), refine),
      labels(RunFolder::open(run)) {}

const NearestImages& HandlerContext::images() const {
  if (!nearest)
    throw ApiError(404, "this server has no images: start with facet serve RUN --pack DATA");
  if (const std::string notice = nearest->notice(); !notice.empty()) throw ApiError(404, notice);
  if (!nearest->loaded()) throw ApiError(503, "the run's data are being read");
  return *nearest;
}

ApiResponse answer_model(HandlerContext& context, const ApiRequest& request) {
  Query(request, {});
  const ServedModelPointer model = context.model.current();
  return json_response(
      {{"api", "v1"},
       {"program", context.program},
       {"run", std::filesystem::absolute(context.run / "").parent_path().filename().string()},
       {"ready", model != nullptr},
       {"training", context.run_watch.training()},
       {"model", model ? model->summary : Json()},
       {"write", context.write},
       {"refined", model && model->refinement},
       {"nearest", nearest_json(context.nearest.get(), model)},
       {"limits", limits_json()}});
}

ApiResponse answer_metrics(HandlerContext& context, const ApiRequest& request) {
  const Query query(request, {"after"});
  return json_response(context.run_watch.metrics(query.integer("after", 0, 0, 1000000000)));
}

ApiResponse answer_progress(HandlerContext& context, const ApiRequest& request) {
  Query(request, {});
  const RunFolder folder{context.run};
  Json pictures = Json::array();
  for (const ProgressPicture& each : progress_pictures(folder))
    if (pictures.size() < kMostListedPictures)
      pictures.push_back({{"phase", phase_name(each.phase)},
                          {"step", each.step},
                          {"version", file_version(progress_picture(folder, each))}});
  return json_response({{"samples", kProgressSamples}, {"pictures", pictures}});
}

ApiResponse answer_progress_picture(HandlerContext& context, const ApiRequest& request) {
  const Query query(request, {"phase", "step", "v"});
  const int64_t step = query.integer("step", -1, 0, kLargestSeed);
  const RunFolder folder{context.run};
  for (const ProgressPicture& each : progress_pictures(folder)) {
    if (each.step != step || query.text("phase") != phase_name(each.phase)) continue;
    const std::filesystem::path path = progress_picture(folder, each);
    if (std::filesystem::file_size(path) > kMostProgressBytes) break;
    const bool dated = query.has("v") && query.text("v") == file_version(path);
    return {200,
            "image/png",
            read_text(path, "reading a picture"),
            {{"Cache-Control", dated ? kKeptForever : "private, no-cache"}}};
  }
  throw ApiError(404, "this run has no picture of this step", "step");
}

ApiResponse answer_openapi(HandlerContext&, const ApiRequest& request) {
  Query(request, {});
  const PageFile* file = find_page_file("/api/v1/openapi.yaml");
  return {200, std::string(file->type), std::string(file->bytes), {}};
}

}  // namespace facet
