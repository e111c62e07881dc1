// The writing half of index_file.h.
#include <algorithm>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/array_write.h"
#include "facet/data/pack_texts.h"
#include "facet/eval/component_labels.h"
#include "facet/model/fingerprint.h"
#include "facet/search/index_file.h"
#include "facet/search/index_header.h"
#include "facet/search/scan_tables.h"

namespace facet {

namespace {

namespace fs = std::filesystem;

constexpr const char* kWritingIndex = "writing an index";
constexpr int64_t kFittedImages = 20000;
/// Images whose numbers are computed at a time, a multiple of a block.
constexpr int64_t kQuantizedAtOnce = 32768;

/// The data's labels of every named factor as components, int32 [N, I]; -1 elsewhere.
torch::Tensor given_components(const Pack& pack, const FactorialMixture& prior) {
  torch::Tensor labels =
      torch::full({pack.count(), static_cast<int64_t>(prior.size())}, -1, kInt32);
  for (size_t i = 0; i < prior.size(); ++i)
    for (size_t p = 0; p < pack.properties.size(); ++p)
      if (prior.factors[i].named() && prior.factors[i].property == pack.properties[p].name)
        labels.select(1, static_cast<int64_t>(i))
            .copy_(component_labels(pack.labels.select(1, static_cast<int64_t>(p)),
                                    pack.properties[p], prior.factors[i]));
  return labels;
}

/// Latent vectors, codes, labels and names, batch by batch.
bool write_images(const fs::path& path, const Vae& model, const IndexSource& source,
                  const PassEvents& events) {
  const Pack& pack = source.pack;
  const auto factors = static_cast<int64_t>(model.prior.size());
  std::vector<ArrayOutline> arrays = {
      {"latents", kFloat16, {pack.count(), model.prior.dimensions()}},
      {"codes", kInt32, {pack.count(), factors}},
      {"labels", kInt32, {pack.count(), factors}}};
  torch::Tensor names, ends;
  if (!pack.files.empty()) {
    std::tie(names, ends) = joined_texts({pack.files});
    arrays.push_back({"files", kUInt8, {names.numel()}});
    arrays.push_back({"files.ends", kInt64, {1, pack.count()}});
  }
  ArrayWriter writer(path, ArrayFormat::safetensors, arrays,
                     {{"format", kSegmentFormat}, {"model", fingerprint(model)}},
                     {.doing = kWritingIndex});
  writer.append(2, given_components(pack, model.prior));
  if (names.defined()) {
    writer.append(3, names);
    writer.append(4, ends);
  }
  const auto take = [&](int64_t, const ImageCodes& codes) {
    writer.append(0, codes.mean.to(kFloat16).cpu());
    writer.append(1, codes.codes.to(kInt32));
  };
  if (!for_each_code(model, pack, source.options, take, events)) return false;
  writer.finish();
  return true;
}

/// Rows spread over all, float32 [n, Z].
torch::Tensor spread_rows(const torch::Tensor& latents) {
  const int64_t count = latents.size(0), taken = std::min(count, kFittedImages);
  const torch::Tensor rows = (torch::arange(taken, kInt64) * count).floor_divide(taken);
  return latents.index_select(0, rows).to(kFloat32);
}

/// The 4-bit numbers of all latent vectors of a segment.
void write_scan(const fs::path& path, const torch::Tensor& latents,
                const LatentQuantizer& quantizer) {
  const int64_t count = latents.size(0), parts = quantizer.stored_parts();
  ArrayWriter writer(path, ArrayFormat::safetensors,
                     {{"scan", kUInt8, {block_count(count), parts, 16}}},
                     {{"format", kSegmentFormat}}, {.doing = kWritingIndex});
  for (const torch::Tensor& rows : latents.split(kQuantizedAtOnce)) {
    writer.append(0, arrange_blocks(quantizer.quantize(rows)));
    release_pages(rows.data_ptr(), rows.nbytes());
  }
  writer.finish();
}

torch::Tensor stored_latents(const fs::path& path) {
  return read_safetensors(path, kWritingIndex).tensors.at("latents");
}

void write_list(const fs::path& folder, const std::string& model, const LatentQuantizer& quantizer,
                const std::vector<IndexSegment>& segments) {
  Json list = Json::array();
  for (const IndexSegment& segment : segments)
    list.push_back({{"name", segment.name},
                    {"images", segment.images},
                    {"source", segment.source},
                    {"from_pack", segment.from_pack}});
  TensorFile file;
  quantizer.store(file);
  file.metadata = {{"format", kIndexFormat},
                   {"model", model},
                   {"segments", list.dump(-1, ' ', false, Json::error_handler_t::replace)}};
  write_safetensors(folder / kIndexFile, file, kWritingIndex);
}

/// Removes what a process that was killed has left of a new index. Its list is written last, and it
/// has nothing but the files of its first segment, the model and the config.
void remove_unfinished(const fs::path& folder) {
  if (!fs::is_directory(folder) || fs::exists(folder / kIndexFile)) return;
  remove_left_overs(folder, LeftOvers::of_all);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool ours =
        name.starts_with("segment-0000") || name == "config.json" || name == "model.safetensors";
    if (!ours || !entry.is_regular_file()) return;
    files.push_back(entry.path());
  }
  const bool begun = fs::exists(image_file(folder, "segment-0000"));
  if (begun)
    for (const fs::path& file : files) fs::remove(file);
}

/// Removes a folder that is not complete, unless keep() was called.
class NewFolder {
 public:
  explicit NewFolder(const fs::path& path) : path_(path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error || !fs::is_directory(path))
      Attempt{kWritingIndex, path.string()}.fail(error ? error.message() : "a file", "a folder");
  }
  ~NewFolder() {
    std::error_code ignored;
    if (!kept_) fs::remove_all(path_, ignored);
  }
  void keep() { kept_ = true; }

 private:
  fs::path path_;
  bool kept_ = false;
};

IndexSegment segment_of(const IndexSource& source, size_t number) {
  IndexSegment segment;
  segment.name = fmt::format("segment-{:04}", number);
  segment.images = source.pack.count();
  segment.source = source.source;
  segment.from_pack = source.from_pack;
  return segment;
}

}  // namespace

bool create_index(const fs::path& folder, const Vae& model, const fs::path& config,
                  const fs::path& model_file, const IndexSource& source, int64_t bytes,
                  const PassEvents& events) {
  const Attempt writing{kWritingIndex, folder.string()};
  remove_unfinished(folder);
  if (fs::exists(folder) && !(fs::is_directory(folder) && fs::is_empty(folder)))
    writing.fail("something that exists", "a new folder",
                 "--append adds images to an index that exists");
  NewFolder made(folder);
  const IndexSegment segment = segment_of(source, 0);
  const fs::path images = image_file(folder, segment.name);
  if (!write_images(images, model, source, events)) return false;
  const torch::Tensor latents = stored_latents(images);
  const LatentQuantizer quantizer =
      fit_quantizer(Key(1).fold("index"), spread_rows(latents), model.prior.factors, 2 * bytes);
  write_scan(scan_file(folder, segment.name), latents, quantizer);
  write_text(folder / "config.json", read_text(config, kWritingIndex), kWritingIndex);
  write_text(folder / "model.safetensors", read_text(model_file, kWritingIndex), kWritingIndex);
  write_list(folder, fingerprint(model), quantizer, {segment});
  made.keep();
  return true;
}

bool append_to_index(const fs::path& folder, const Vae& model, const IndexSource& source,
                     const PassEvents& events) {
  const SearchIndex index = read_index(folder, model);
  std::vector<IndexSegment> segments = index.segments;
  const IndexSegment segment = segment_of(source, segments.size());
  const fs::path images = image_file(folder, segment.name);
  if (!write_images(images, model, source, events)) return false;
  write_scan(scan_file(folder, segment.name), stored_latents(images), index.quantizer);
  segments.push_back(segment);
  write_list(folder, index.model, index.quantizer, segments);
  return true;
}

}  // namespace facet
