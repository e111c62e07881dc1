#include "facet/report/run_search.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/model/editing.h"
#include "facet/model/generate.h"
#include "facet/report/figures.h"
#include "facet/report/given_images.h"
#include "facet/report/input_images.h"
#include "facet/search/index_search.h"
#include "facet/train/run_lock.h"

namespace facet {

namespace {

namespace fs = std::filesystem;

std::vector<NamedValue> named_code(const FactorialMixture& prior, const torch::Tensor& code,
                                   bool known_only, const std::string& object) {
  std::vector<NamedValue> values;
  for (size_t i = 0; i < prior.size(); ++i) {
    const FactorOptions& factor = prior.factors[i];
    const auto component = code[static_cast<int64_t>(i)].item<int64_t>();
    if (known_only && component < 0) continue;
    if (component < 0 || component >= factor.components)
      Attempt{"reading an index", object}.fail(
          fmt::format("component {} of factor '{}'", component, factor.name),
          fmt::format("0 to {}", factor.components - 1), "is the file damaged?");
    values.emplace_back(known_only ? factor.property : factor.name,
                        factor.component_name(component));
  }
  return values;
}

/// Pictures of hits: from the pack or the files that were indexed, else as the model decodes them.
class HitPictures {
 public:
  HitPictures(const Vae& model, const SearchIndex& index) : model_(model), index_(index) {}

  Image picture(const IndexHit& hit) {
    const IndexSegment& segment = index_.segments[hit.segment];
    try {
      if (segment.from_pack) return from_pack(segment, hit.row);
      const ImageShape& shape = model_.shape();
      return with_channels(read_image(fs::path(segment.source) / segment.image_name(hit.row),
                                      shape.height, shape.width),
                           shape.channels);
    } catch (const Error&) {  // moved, changed, or a program without a reader of pictures
      ++decoded_;
      const torch::Tensor latent = segment.latents.narrow(0, hit.row, 1).to(kFloat64);
      return to_images(decode_means(model_, latent.to(model_.device())))[0];
    }
  }
  int64_t decoded() const { return decoded_; }

 private:
  Image from_pack(const IndexSegment& segment, int64_t row) {
    auto known = packs_.find(segment.source);
    if (known == packs_.end())
      known = packs_.emplace(segment.source, read_pack(segment.source)).first;
    const Pack& pack = known->second;
    require_shape(pack, model_, segment.source);
    if (pack.count() != segment.images)
      Attempt{"using the pack", segment.source}.fail(fmt::format("{} images", pack.count()),
                                                     fmt::format("{}", segment.images));
    return to_images(pack.images.slice(row, 1))[0];
  }

  const Vae& model_;
  const SearchIndex& index_;
  std::map<std::string, Pack> packs_;
  int64_t decoded_ = 0;
};

/// The query's image and its place in latent space.
struct Query {
  torch::Tensor pixels;  ///< U8 [1, C, H, W]
  torch::Tensor latent;  ///< float64 [1, Z], after changes
  std::vector<int64_t> changes;
};

Query read_query(const LoadedRun& run, const SearchRequest& request,
                 std::vector<std::string>& notes) {
  const Vae& model = *run.model;
  Query query;
  query.changes = parse_fixed(model.prior, request.changes);
  InputImages images(run, request.resize);
  query.pixels = images.read({request.like});
  notes = images.notes();
  query.latent = edit(model.prior, encode_pixels(model, query.pixels), query.changes);
  return query;
}

Image draw_sheet(const Vae& model, const SearchIndex& index, const Query& query,
                 const IndexResult& result, std::vector<std::string>& notes) {
  Figure figure;
  figure.cells.push_back(to_images(query.pixels)[0]);
  figure.layout.captions.push_back("query");
  const bool changed = std::any_of(query.changes.begin(), query.changes.end(),
                                   [](int64_t component) { return component >= 0; });
  if (changed) {
    figure.cells.push_back(to_images(decode_means(model, query.latent))[0]);
    figure.layout.captions.push_back(fixed_label(model.prior, query.changes));
  }
  HitPictures pictures(model, index);
  for (const IndexHit& hit : result.hits) {
    figure.cells.push_back(pictures.picture(hit));
    figure.layout.captions.push_back(fmt::format("{:.2f}", hit.distance));
  }
  if (pictures.decoded() > 0)
    notes.push_back(fmt::format(
        "{} of {} pictures were not found where they were indexed and are drawn by the model",
        pictures.decoded(), result.hits.size()));
  figure.layout.columns = 7;
  figure.layout.scale = magnification(model.shape(), figure.layout.captions);
  return draw(figure);
}

Json object_of(const std::vector<NamedValue>& values) {
  Json object = Json::object();
  for (const auto& [name, value] : values) object[name] = value;
  return object;
}

/// The file that the model was read from.
fs::path model_file_of(const LoadedRun& run, const fs::path& path) {
  return fs::is_directory(path) ? run.folder.model() : path;
}

IndexQuery index_query(const FactorialMixture& prior, const SearchRequest& request) {
  IndexQuery query;
  query.values = parse_fixed(prior, request.where);
  if (!request.factors.empty()) query.factors.assign(prior.size(), false);
  for (const std::string& name : request.factors) query.factors[prior.index_of(name)] = true;
  query.top = request.top;
  query.shortlist = request.shortlist;
  query.exact = request.exact;
  return query;
}

}  // namespace

IndexSummary index_images(const LoadedRun& run, const IndexRequest& request,
                          const CodeEvents& events) {
  const Vae& model = *run.model;
  const RunLock lock(request.index, "writing an index in");
  if (request.append) read_index(request.index, model);  // before images, which may take a while
  const GivenImages images =
      given_images(model, request.data, "indexing the images of", events.notice);
  const IndexSource source{images.pack, images.source.string(), images.from_pack, run.config.data};
  const PassEvents pass{events.progress, events.stop};
  const bool complete =
      request.append ? append_to_index(request.index, model, source, pass)
                     : create_index(request.index, model, run.folder.config(),
                                    model_file_of(run, request.run), source, request.bytes, pass);
  IndexSummary summary;
  summary.stopped = !complete;
  if (!complete) return summary;
  const SearchIndex index = read_index(request.index, model);
  summary.added = images.pack.count();
  summary.images = index.count();
  summary.scan_bytes = static_cast<double>(index.quantizer.stored_parts()) / 2;
  return summary;
}

LoadedRun load_index_run(const fs::path& index, const std::string& device) {
  require_index(index);
  return load_run(index, {device});
}

SearchAnswer search_images(const LoadedRun& run, const SearchRequest& request) {
  torch::NoGradGuard no_gradient;
  const Vae& model = *run.model;
  IndexQuery wanted = index_query(model.prior, request);
  SearchAnswer answer;
  const SearchIndex index = read_index(request.index, model);
  const Query query = read_query(run, request, answer.notes);
  wanted.latent = query.latent[0].cpu();
  const IndexResult result = search_index(index, wanted);
  answer.images = result.images;
  answer.matching = result.matching;
  const Encoding place{query.latent.to(kFloat32), encode_pixels(model, query.pixels).log_variance};
  answer.query = named_code(model.prior, likely_components(model.prior, place).components[0].cpu(),
                            false, request.like);
  for (const IndexHit& hit : result.hits) {
    const IndexSegment& segment = index.segments[hit.segment];
    answer.hits.push_back({segment.image_name(hit.row), segment.source, hit.row, hit.distance,
                           named_code(model.prior, segment.codes[hit.row], false, request.index),
                           named_code(model.prior, segment.labels[hit.row], true, request.index)});
  }
  if (request.sheet) answer.sheet = draw_sheet(model, index, query, result, answer.notes);
  return answer;
}

std::string search_json(const SearchRequest& request, const SearchAnswer& answer) {
  Json hits = Json::array();
  for (const SearchHit& hit : answer.hits)
    hits.push_back({{"image", hit.image},
                    {"source", hit.source},
                    {"row", hit.row},
                    {"distance", hit.distance},
                    {"code", object_of(hit.code)},
                    {"labels", object_of(hit.labels)}});
  const Json json = {{"like", request.like},
                     {"code", object_of(answer.query)},
                     {"images", answer.images},
                     {"matching", answer.matching},
                     {"results", hits}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace facet
