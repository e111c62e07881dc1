#include "facet/serve/explorer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sys/stat.h>

#include <fmt/format.h>

#include "facet/core/base64.h"
#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/core/shell.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/model/editing.h"
#include "facet/model/model_file.h"
#include "facet/model/recipe.h"
#include "facet/prior/dirichlet.h"
#include "facet/prior/student_t.h"
#include "facet/report/picture.h"
#include "facet/report/recipe_text.h"
#include "facet/serve/page.h"
#include "facet/serve/reading.h"

namespace facet {

namespace {

constexpr int64_t kAtlasColumns = 16;
constexpr size_t kMostSprites = 32;       // kept for a model
constexpr size_t kMostDirections = 4096;  // components whose directions are kept
constexpr int64_t kMeasuredDimensions = 64;
constexpr double kCertain = -12;  // log variance of a latent vector that is given

/// Changes whenever the file does; empty where there is none.
std::string file_version(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return "";
  const Key key = Key(static_cast<uint64_t>(status.st_size))
                      .fold(static_cast<uint64_t>(status.st_mtim.tv_sec))
                      .fold(static_cast<uint64_t>(status.st_mtim.tv_nsec))
                      .fold(static_cast<uint64_t>(status.st_ino));
  return fmt::format("{:016x}", key.value());
}

Json shape_json(const ImageShape& shape) {
  return {{"channels", shape.channels}, {"height", shape.height}, {"width", shape.width}};
}

std::string shape_text(const ImageShape& shape) {
  return fmt::format("{}x{} {}", shape.height, shape.width, shape.channels == 1 ? "grey" : "RGB");
}

std::vector<double> numbers(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().to(torch::kCPU, kFloat64).flatten().contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

Json factor_json(const FactorialMixture& prior, size_t index, int64_t first) {
  const FactorOptions& factor = prior.factors[index];
  const auto weights = numbers(expected_weights(prior.posteriors[index].counts));
  const auto held = numbers(prior.held_images(index));
  Json json = {{"name", factor.name}, {"named", factor.named()}};
  if (factor.named()) json["property"] = factor.property;
  json["first"] = first;
  json["dimensions"] = factor.dimensions;
  json["components"] = Json::array();
  for (size_t k = 0; k < weights.size(); ++k)
    json["components"].push_back({{"index", k},
                                  {"name", factor.component_name(static_cast<int64_t>(k))},
                                  {"weight", weights[k]},
                                  {"images", held[k]},
                                  {"living", held[k] > 1.0}});
  return json;
}

Json model_json(const ServedModel& model) {
  const FactorialMixture& prior = model.prior();
  Json factors = Json::array();
  int64_t first = 0;
  double held = 0;
  for (size_t i = 0; i < prior.size(); ++i) {
    factors.push_back(factor_json(prior, i, first));
    first += prior.factors[i].dimensions;
    held += prior.held_images(i).sum().item<double>();
  }
  return {{"version", model.version},
          {"shape", shape_json(model.shape())},
          {"latents", prior.dimensions()},
          {"network_parameters", model.networks->network_parameters()},
          {"likelihood", model.networks->options().likelihood.kind},
          {"placed", held > 1.0},
          {"factors", factors}};
}

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

/// Pictures side by side without gaps, as `facet sample --bare` draws them.
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

/// Index by factor, of one row of components [B, I].
Json components_json(const FactorialMixture& prior, const torch::Tensor& components, int64_t row) {
  Json json = Json::object();
  for (size_t i = 0; i < prior.size(); ++i)
    json[prior.factors[i].name] = components[row][static_cast<int64_t>(i)].item<int64_t>();
  return json;
}

/// The answer with all pictures; `commands` may be empty.
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
                  {"z", numbers(latents.z[row])},
                  {"components", components_json(model.prior(), latents.components, row)}};
    if (!commands.empty()) image["command"] = commands[static_cast<size_t>(row)];
    images.push_back(std::move(image));
  }
  return json_response({{"version", model.version}, {"images", images}});
}

Encoding certain(const torch::Tensor& z) { return {z, torch::full_like(z, kCertain)}; }

/// Every block at the mean of its factor's heaviest component, float64 [1, Z].
torch::Tensor typical_latents(const FactorialMixture& prior) {
  std::vector<torch::Tensor> blocks;
  for (const FactorPosterior& posterior : prior.posteriors)
    blocks.push_back(posterior.mean().m[posterior.counts.argmax().item<int64_t>()]);
  return torch::cat(blocks).unsqueeze(0);
}

int64_t first_dimension(const FactorialMixture& prior, size_t factor) {
  int64_t first = 0;
  for (size_t i = 0; i < factor; ++i) first += prior.factors[i].dimensions;
  return first;
}

std::string scale_option(int64_t scale) {
  return scale == 1 ? "" : fmt::format(" --scale {}", scale);
}

size_t read_factor(const FactorialMixture& prior, const Query& query) {
  const std::string& name = query.text("factor");
  return at_place("factor", [&] { return prior.index_of(name); });
}

}  // namespace

/// What is kept for as long as a model is served.
struct Explorer::Model : ServedModel {
  Json summary;
  std::mutex drawing;  // a sprite: one at a time, because each takes much memory
  std::mutex mutex;    // of what follows
  std::map<std::pair<size_t, int64_t>, std::string> sprites;  // by factor and scale
  std::map<std::pair<size_t, int64_t>, Json> directions;      // by factor and component
};

/// An image that was sent, in the model's shape.
struct Explorer::Upload {
  torch::Tensor pixels;  // U8 [1, C, H, W]
  ImageShape original;
  Json notice;  // null where nothing was done to it
};

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
  static constexpr std::array<Route, 11> routes = {{
      {"/api/v1/model", "GET", Body::none, &Explorer::summary},
      {"/api/v1/generate", "POST", Body::json, &Explorer::generate},
      {"/api/v1/decode", "POST", Body::json, &Explorer::decode},
      {"/api/v1/encode", "POST", Body::image, &Explorer::encode},
      {"/api/v1/reconstruct", "POST", Body::image, &Explorer::reconstruct},
      {"/api/v1/edit", "POST", Body::json, &Explorer::edit_latents},
      {"/api/v1/atlas", "GET", Body::none, &Explorer::atlas},
      {"/api/v1/directions", "GET", Body::none, &Explorer::directions},
      {"/api/v1/nearest", "POST", Body::json, &Explorer::nearest},
      {"/api/v1/metrics", "GET", Body::none, &Explorer::metrics},
      {"/api/v1/openapi.yaml", "GET", Body::none, &Explorer::document},
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
    : options_(std::move(options)), folder_(RunFolder::open(options_.run)), run_(folder_) {
  if (options_.pack) nearest_ = std::make_unique<NearestImages>(std::move(*options_.pack));
  // A run that has only begun has no model yet; one that cannot be read will not mend itself.
  if (!file_version(folder_.model()).empty()) take(load());
  watcher_ = std::thread([this] { watch(); });
}

Explorer::~Explorer() {
  {
    const std::lock_guard lock(refresh_mutex_);
    ending_ = true;
  }
  ending_changed_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

void Explorer::watch() {
  std::unique_lock lock(refresh_mutex_);
  while (!ending_changed_.wait_for(lock, std::chrono::seconds(1), [&] { return ending_; })) {
    lock.unlock();
    refresh();
    lock.lock();
  }
}

Explorer::ModelPointer Explorer::load() {
  auto fresh = std::make_shared<Model>();
  seen_ = fresh->version = file_version(folder_.model());
  fresh->networks = read_model(folder_.model());
  if (nearest_ && nearest_->pack().shape() != fresh->shape())
    throw Error({.doing = "searching the pack",
                 .found = "images of " + shape_text(nearest_->pack().shape()),
                 .expected = shape_text(fresh->shape()) + ", as the model has"});
  fresh->networks->move_to(options_.device);
  thread_.run([&] { fresh->batch = safe_batch(*fresh->networks); });
  fresh->summary = model_json(*fresh);
  return fresh;
}

void Explorer::take(const ModelPointer& fresh) {
  {
    const std::lock_guard lock(model_mutex_);
    model_ = fresh;
    trouble_.clear();
  }
  if (nearest_) nearest_->encode_with(fresh, thread_);
}

void Explorer::refresh() {
  const std::lock_guard lock(refresh_mutex_);
  const std::string version = file_version(folder_.model());
  if (version.empty() || version == seen_) return;
  try {
    take(load());
  } catch (const ApiError&) {  // the networks are busy: again in a second
    seen_.clear();
  } catch (const std::exception& error) {  // the model that was there goes on
    const std::lock_guard model_lock(model_mutex_);
    trouble_ = error.what();
  }
}

Explorer::ModelPointer Explorer::model() const {
  const std::lock_guard lock(model_mutex_);
  return model_;
}

Explorer::ModelPointer Explorer::required_model() const {
  const std::lock_guard lock(model_mutex_);
  if (model_) return model_;
  throw ApiError(503, trouble_.empty() ? "there is no model yet: the training writes it with its "
                                         "first checkpoint (train.checkpoint_every steps)"
                                       : trouble_);
}

ApiResponse Explorer::handle(const ApiRequest& request) {
  try {
    return answer(request);
  } catch (const ApiError& error) {
    return error_response(error.status, error.what(), error.where);
  } catch (const Error& error) {
    return error_response(400, error.what());
  } catch (const std::bad_alloc&) {
    return error_response(503, "too little memory at the moment");
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    return error_response(500, "a defect in facet: " + text.substr(0, text.find('\n')));
  } catch (const std::exception& error) {
    return error_response(500, fmt::format("a defect in facet: {}", error.what()));
  }
}

ApiResponse Explorer::answer(const ApiRequest& request) {
  const Route* found = route(request.path);
  if (found == nullptr) throw ApiError(404, "there is nothing at this address");
  if (request.method != found->method)
    throw ApiError(405, fmt::format("this address takes {}", found->method));
  found->check_body(request.content_type, request.body.size());
  torch::NoGradGuard no_gradient;
  return (this->*found->answer)(request);
}

ApiResponse Explorer::summary(const ApiRequest& request) {
  Query(request, {});
  const ModelPointer current = model();
  const bool searched = nearest_ != nullptr;
  return json_response(
      {{"api", "v1"},
       {"program", options_.program},
       {"run", std::filesystem::absolute(options_.run / "").parent_path().filename().string()},
       {"ready", current != nullptr},
       {"training", run_.training()},
       {"model", current ? current->summary : Json()},
       {"nearest",
        {{"available", searched},
         {"ready", searched && current && nearest_->ready(current->version)},
         {"images", searched ? nearest_->count() : 0},
         {"encoded", searched ? nearest_->encoded() : 0}}},
       {"limits", limits_json()}});
}

torch::Tensor Explorer::decode_all(const ModelPointer& current, const torch::Tensor& z) {
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& slice : z.split(kMostStates))
    parts.push_back(thread_.decode(current, slice));
  return torch::cat(parts);
}

ApiResponse Explorer::generate(const ApiRequest& request) {
  const ModelPointer current = required_model();
  const FactorialMixture& prior = current->prior();
  const Json json = parse_body(request.body);
  const RequestValue body(json);
  body.require_keys({"states", "scale", "format"});
  std::vector<State> states;
  for (const RequestValue& value : body.at("states").elements(1, kMostStates))
    states.push_back(read_state(prior, value));
  const Look look = read_look(body, current->shape(), static_cast<int64_t>(states.size()));

  std::vector<torch::Tensor> z, components;
  std::vector<std::string> commands;
  for (const State& state : states) {
    const LatentSample drawn = draw_recipe(prior, state.recipe, 1);
    z.push_back(drawn.z);
    components.push_back(drawn.components);
    commands.push_back(
        fmt::format("facet sample {} --bare --count 1 --seed {}{}{} --device {} --out sample.png",
                    shell_quoted(options_.run.string()), state.seed,
                    recipe_options(prior, state.recipe, state.seed), scale_option(look.scale),
                    options_.device.is_cpu() ? "cpu" : "cuda"));
  }
  const LatentSample latents{torch::cat(z), torch::cat(components)};
  return pictures_response(*current, look, thread_.decode(current, latents.z), latents, commands);
}

ApiResponse Explorer::decode(const ApiRequest& request) {
  const ModelPointer current = required_model();
  const FactorialMixture& prior = current->prior();
  const Json json = parse_body(request.body);
  const RequestValue body(json);
  body.require_keys({"z", "scale", "format"});
  std::vector<torch::Tensor> rows;
  for (const RequestValue& value : body.at("z").elements(1, kMostStates))
    rows.push_back(read_row(value, prior.dimensions(), kLargestLatent));
  const Look look = read_look(body, current->shape(), static_cast<int64_t>(rows.size()));
  const torch::Tensor z = torch::cat(rows);
  const LatentSample latents{
      z, likely_components(prior, certain(z.to(options_.device))).components.to(torch::kCPU)};
  return pictures_response(*current, look, thread_.decode(current, z), latents, {});
}

ApiResponse Explorer::edit_latents(const ApiRequest& request) {
  const ModelPointer current = required_model();
  const FactorialMixture& prior = current->prior();
  const Json json = parse_body(request.body);
  const RequestValue body(json);
  body.require_keys({"z", "log_variance", "edits", "scale", "format"});
  Encoding encoding = certain(read_row(body.at("z"), prior.dimensions(), kLargestLatent));
  if (body.has("log_variance"))
    encoding.log_variance = read_row(body.at("log_variance"), prior.dimensions(), 20);
  encoding = {encoding.mean.to(options_.device), encoding.log_variance.to(options_.device)};

  std::vector<torch::Tensor> rows;
  std::vector<std::string> commands;
  for (const RequestValue& value : body.at("edits").elements(1, kMostStates)) {
    value.require_keys({"changes", "keep_offset"});
    const std::vector<int64_t> changes = read_changes(prior, value.at("changes"));
    const bool keep_offset = !value.has("keep_offset") || value.at("keep_offset").boolean();
    rows.push_back(edit(prior, encoding, changes, keep_offset));
    std::string options;
    for (size_t i = 0; i < changes.size(); ++i)
      if (changes[i] >= 0)
        options += " --change " + shell_quoted(prior.factors[i].name + "=" +
                                               prior.factors[i].component_name(changes[i]));
    commands.push_back(fmt::format("facet edit {} IMAGE{}{} --resize --out edit.png",
                                   shell_quoted(options_.run.string()), options,
                                   keep_offset || options.empty() ? "" : " --no-offset"));
  }
  const Look look = read_look(body, current->shape(), static_cast<int64_t>(rows.size()));
  const torch::Tensor z = torch::cat(rows);
  const LatentSample latents{z, likely_components(prior, certain(z)).components.to(torch::kCPU)};
  return pictures_response(*current, look, thread_.decode(current, z), latents, commands);
}

Explorer::Upload Explorer::read_upload(const Model& current, const std::string& bytes) {
  if (!image_readers_.try_acquire_for(std::chrono::seconds(5)))
    throw ApiError(503, "too many images are being read; try again in a second");
  struct Release {
    std::counting_semaphore<8>& readers;
    ~Release() { readers.release(); }
  } release{image_readers_};
  const Image image =
      decode_image(bytes, "upload", {.pixels = kMostImagePixels, .jpeg_scans = kMostJpegScans});
  const ImageShape found{image.channels, image.height, image.width}, wanted = current.shape();
  if (found == wanted) return {to_tensor({image}), found, Json()};
  const Image fitted = resize(with_channels(image, wanted.channels), wanted.height, wanted.width);
  return {to_tensor({fitted}), found,
          fmt::format("{} made {}: cropped to the centre, resized and converted", shape_text(found),
                      shape_text(wanted))};
}

ApiResponse Explorer::encode(const ApiRequest& request) {
  const ModelPointer current = required_model();
  const FactorialMixture& prior = current->prior();
  const Query query(request, {"scale"});
  const int64_t scale = query.integer("scale", 1, 1, kLargestPictureScale);
  check_pixels(current->shape(), 2, scale, "scale");
  const Upload upload = read_upload(*current, request.body);
  Encoding encoding;
  thread_.run([&] {
    torch::NoGradGuard no_gradient;
    Vae& networks = *current->networks;
    encoding =
        networks.encode(networks.likelihood().from_pixels(upload.pixels.to(networks.device())));
  });
  Json factors = Json::array();
  const auto blocks = prior.split(encoding.mean, encoding.variance());
  for (size_t i = 0; i < prior.size(); ++i) {
    const auto probabilities = numbers(e_step(blocks[i], prior.posteriors[i], {}));
    const auto highest = std::max_element(probabilities.begin(), probabilities.end());
    factors.push_back({{"name", prior.factors[i].name},
                       {"component", highest - probabilities.begin()},
                       {"probability", *highest},
                       {"probabilities", probabilities}});
  }
  const torch::Tensor reconstruction = thread_.decode(current, encoding.mean);
  return json_response({{"version", current->version},
                        {"notice", upload.notice},
                        {"original", shape_json(upload.original)},
                        {"z", numbers(encoding.mean)},
                        {"log_variance", numbers(encoding.log_variance)},
                        {"factors", factors},
                        {"input", base64(draw_one(upload.pixels, 0, scale))},
                        {"reconstruction", base64(draw_one(reconstruction, 0, scale))}});
}

ApiResponse Explorer::reconstruct(const ApiRequest& request) {
  const ModelPointer current = required_model();
  const Query query(request, {"scale", "seed"});
  const int64_t scale = query.integer("scale", 1, 1, kLargestPictureScale);
  const int64_t seed = query.integer("seed", 1, 0, kLargestSeed);
  check_pixels(current->shape(), 4, scale, "scale");
  const Upload upload = read_upload(*current, request.body);
  torch::Tensor mean, deviation, sample;
  thread_.run([&] {
    torch::NoGradGuard no_gradient;
    Vae& networks = *current->networks;
    const Likelihood& likelihood = networks.likelihood();
    const torch::Tensor x = likelihood.from_pixels(upload.pixels.to(networks.device()));
    const torch::Tensor output = networks.decode(networks.encode(x).mean);
    const Key key = Key(static_cast<uint64_t>(seed)).fold("reconstruct");
    mean = likelihood.to_pixels(likelihood.mean(output)).to(torch::kCPU);
    sample = likelihood.to_pixels(likelihood.sample(key, output)).to(torch::kCPU);
    // In grey levels of 255, whatever the likelihood's own units are.
    const torch::Tensor ends = likelihood.from_pixels(torch::tensor({0, 255}, kUInt8));
    deviation =
        likelihood.stddev(output).to(torch::kCPU) * (255 / (ends[1] - ends[0]).item<double>());
  });
  const auto smallest = deviation.min().item<double>(), largest = deviation.max().item<double>();
  const torch::Tensor shades =
      ((deviation - smallest) * (255 / std::max(largest - smallest, 1e-12)))
          .round()
          .clamp(0, 255)
          .to(kUInt8);
  return json_response({{"version", current->version},
                        {"notice", upload.notice},
                        {"input", base64(draw_one(upload.pixels, 0, scale))},
                        {"mean", base64(draw_one(mean, 0, scale))},
                        {"stddev", base64(draw_one(shades, 0, scale))},
                        {"sample", base64(draw_one(sample, 0, scale))},
                        {"smallest_stddev", smallest},
                        {"largest_stddev", largest}});
}

std::string Explorer::sprite(const ModelPointer& current, size_t factor, int64_t scale) {
  const std::pair<size_t, int64_t> place(factor, scale);
  const std::lock_guard alone(current->drawing);
  {
    const std::lock_guard lock(current->mutex);
    if (const auto known = current->sprites.find(place); known != current->sprites.end())
      return known->second;
  }
  const FactorialMixture& prior = current->prior();
  const int64_t count = std::min(prior.factors[factor].components, kMostAtlasComponents);
  const torch::Tensor z = typical_latents(prior).repeat({count, 1});
  z.narrow(1, first_dimension(prior, factor), prior.factors[factor].dimensions)
      .copy_(prior.posteriors[factor].mean().m.narrow(0, 0, count));
  std::string png = draw_png(decode_all(current, z), kAtlasColumns, scale);
  const std::lock_guard lock(current->mutex);
  if (current->sprites.size() >= kMostSprites) current->sprites.clear();
  current->sprites[place] = png;
  return png;
}

ApiResponse Explorer::atlas(const ApiRequest& request) {
  const ModelPointer current = required_model();
  const Query query(request, {"factor", "scale", "v"});
  const size_t factor = read_factor(current->prior(), query);
  const int64_t scale = query.integer("scale", 1, 1, kLargestPictureScale);
  const int64_t count = std::min(current->prior().factors[factor].components, kMostAtlasComponents);
  check_pixels(current->shape(), count, scale, "scale");
  ApiResponse response;
  response.type = "image/png";
  const std::string tag = fmt::format("\"{}-{}-{}\"", current->version, factor, scale);
  const bool dated = query.has("v") && query.text("v") == current->version;
  response.headers = {
      {"ETag", tag},
      {"Cache-Control", dated ? "private, max-age=31536000, immutable" : "private, no-cache"},
      {"X-Facet-Columns", std::to_string(std::min(count, kAtlasColumns))},
      {"X-Facet-Count", std::to_string(count)}};
  if (request.if_none_match == tag)
    response.status = 304;
  else
    response.body = sprite(current, factor, scale);
  return response;
}

Json Explorer::measured_directions(const ModelPointer& current, size_t factor, int64_t component) {
  const FactorialMixture& prior = current->prior();
  const NormalGamma means = prior.posteriors[factor].mean();
  const torch::Tensor scale = torch::sqrt(squared_scale(means)[component]);  // [D]
  // The widest ones where there are very many: each costs two pictures.
  const int64_t count = std::min(scale.size(0), kMeasuredDimensions);
  const torch::Tensor chosen = scale.argsort(0, /*descending=*/true).narrow(0, 0, count);
  const int64_t first = first_dimension(prior, factor);
  const torch::Tensor z = typical_latents(prior).repeat({2 * count, 1});
  z.narrow(1, first, scale.size(0)).copy_(means.m[component].expand({2 * count, -1}));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t dimension = first + chosen[i].item<int64_t>();
    const double step = scale[chosen[i].item<int64_t>()].item<double>();
    z[2 * i][dimension] += step;
    z[2 * i + 1][dimension] -= step;
  }
  const torch::Tensor pairs =
      decode_all(current, z).to(kFloat32).view({count, 2, -1});  // up and down
  const torch::Tensor differences = (pairs.select(1, 0) - pairs.select(1, 1)) / 2;
  const torch::Tensor effect = differences.square().mean(1).sqrt();  // [count]
  const torch::Tensor order = effect.argsort(0, /*descending=*/true);
  Json list = Json::array();
  for (int64_t i = 0; i < count; ++i) {
    const auto place = order[i].item<int64_t>();
    const auto dimension = chosen[place].item<int64_t>();
    list.push_back({{"dimension", dimension},
                    {"stddev", scale[dimension].item<double>()},
                    {"effect", effect[place].item<double>()}});
  }
  return list;
}

ApiResponse Explorer::directions(const ApiRequest& request) {
  const ModelPointer current = required_model();
  const FactorialMixture& prior = current->prior();
  const Query query(request, {"factor", "component"});
  const size_t factor = read_factor(prior, query);
  const std::string& text = query.text("component");
  const int64_t component =
      at_place("component", [&] { return prior.factors[factor].component_of(text); });
  const std::pair<size_t, int64_t> place(factor, component);
  Json list;
  {
    const std::lock_guard lock(current->mutex);
    if (const auto known = current->directions.find(place); known != current->directions.end())
      list = known->second;
  }
  if (list.is_null()) {
    list = measured_directions(current, factor, component);
    const std::lock_guard lock(current->mutex);
    if (current->directions.size() >= kMostDirections) current->directions.clear();
    current->directions[place] = list;
  }
  return json_response({{"version", current->version},
                        {"factor", prior.factors[factor].name},
                        {"component", component},
                        {"directions", list}});
}

ApiResponse Explorer::nearest(const ApiRequest& request) {
  if (!nearest_)
    throw ApiError(404, "no pack to search: start with facet serve RUN --pack DATA.safetensors");
  const ModelPointer current = required_model();
  const FactorialMixture& prior = current->prior();
  const Json json = parse_body(request.body);
  const RequestValue body(json);
  body.require_keys({"z", "count", "factors", "scale"});
  const torch::Tensor z = read_row(body.at("z"), prior.dimensions(), kLargestLatent)[0];
  const int64_t count = body.has("count") ? body.at("count").integer(1, kMostStates) : 8;
  const Look look = read_look(body, current->shape(), count);
  torch::Tensor counted = torch::ones({prior.dimensions()}, kFloat64);
  if (body.has("factors") && !body.at("factors").elements(0, 1000).empty()) {
    counted.zero_();
    for (const RequestValue& name : body.at("factors").elements(0, 1000)) {
      const size_t i = at_place(name.where(), [&] { return prior.index_of(name.text()); });
      counted.narrow(0, first_dimension(prior, i), prior.factors[i].dimensions).fill_(1);
    }
  }
  if (!nearest_->ready(current->version))
    throw ApiError(503, fmt::format("the pack is being encoded: {} of {} images",
                                    nearest_->encoded(), nearest_->count()));
  const Pack& pack = nearest_->pack();
  const Neighbours found = nearest_->find(z, counted, count, current->version);
  Json images = Json::array();
  for (size_t n = 0; n < found.rows.size(); ++n) {
    const int64_t row = found.rows[n];
    Json labels = Json::object();
    for (size_t p = 0; p < pack.properties.size(); ++p)
      if (const auto label = pack.labels[row][static_cast<int64_t>(p)].item<int64_t>(); label >= 0)
        labels[pack.properties[p].name] = pack.properties[p].values[static_cast<size_t>(label)];
    images.push_back({{"index", row},
                      {"split", split_names[pack.split[row].item<uint8_t>()]},
                      {"distance", found.distances[n]},
                      {"labels", labels},
                      {"png", base64(draw_one(pack.images, row, look.scale))}});
  }
  return json_response({{"version", current->version}, {"images", images}});
}

ApiResponse Explorer::metrics(const ApiRequest& request) {
  const Query query(request, {"after"});
  return json_response(run_.metrics(query.integer("after", 0, 0, 1000000000)));
}

ApiResponse Explorer::document(const ApiRequest& request) {
  Query(request, {});
  const PageFile* file = find_page_file("/api/v1/openapi.yaml");
  return {200, std::string(file->type), std::string(file->bytes), {}};
}

}  // namespace facet
