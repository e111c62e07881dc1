// The reading half of index_file.h.
#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/pack_texts.h"
#include "facet/model/fingerprint.h"
#include "facet/search/fast_scan.h"
#include "facet/search/index_file.h"
#include "facet/search/index_header.h"

namespace facet {

namespace {

namespace fs = std::filesystem;

constexpr const char* kReadingIndex = "reading an index";
constexpr uint64_t kMostImages = uint64_t{1}
                                 << 48;  // of a segment; their bytes are counted in 64 bits

std::string metadata_of(const TensorFile& file, const char* key) {
  const auto found = file.metadata.find(key);
  return found == file.metadata.end() ? std::string() : found->second;
}

/// The list of segments without their tensors.
std::vector<IndexSegment> parse_segments(const std::string& text, const std::string& object) {
  const Json list = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::vector<IndexSegment> segments;
  bool good = list.is_array() && !list.empty();
  for (size_t i = 0; good && i < list.size(); ++i) {
    const Json& entry = list[i];
    good = entry.is_object() && entry.contains("images") && entry["images"].is_number_unsigned() &&
           entry["images"].get<uint64_t>() <= kMostImages && entry.contains("source") &&
           entry["source"].is_string() && entry.contains("from_pack") &&
           entry["from_pack"].is_boolean() && entry.contains("name") &&
           entry["name"] == fmt::format("segment-{:04}", i);
    if (!good) break;
    IndexSegment& segment = segments.emplace_back();
    segment.name = entry["name"].get<std::string>();
    segment.images = entry["images"].get<int64_t>();
    segment.source = entry["source"].get<std::string>();
    segment.from_pack = entry["from_pack"].get<bool>();
  }
  if (!good)
    Attempt{kReadingIndex, object}.fail("a list of segments that cannot be read", "at least one",
                                        "is the file damaged?");
  return segments;
}

void load_segment(IndexSegment& segment, const fs::path& folder, const FactorialMixture& prior,
                  int64_t parts) {
  const fs::path path = image_file(folder, segment.name);
  const std::string object = path.string();
  const TensorFile file = read_safetensors(path, kReadingIndex, Verify::small);
  const auto factors = static_cast<int64_t>(prior.size());
  segment.latents = file.get("latents", kFloat16, {segment.images, prior.dimensions()}, object);
  segment.codes = file.get("codes", kInt32, {segment.images, factors}, object);
  segment.labels = file.get("labels", kInt32, {segment.images, factors}, object);
  if (file.tensors.count("files") != 0)
    segment.files = read_texts(file, "files", 1, segment.images, object).front();
  const fs::path scan = scan_file(folder, segment.name);
  const int64_t blocks = block_count(segment.images);
  segment.scan = read_safetensors(scan, kReadingIndex, Verify::small)
                     .get("scan", kUInt8, {blocks, parts, kHalfBlock}, scan.string());
}

}  // namespace

std::string IndexSegment::image_name(int64_t row) const {
  return files.empty() ? fmt::format("{}", row) : std::string(files[row]);
}

int64_t SearchIndex::count() const {
  int64_t total = 0;
  for (const IndexSegment& segment : segments) total += segment.images;
  return total;
}

void require_index(const fs::path& folder) {
  if (!fs::exists(folder / kIndexFile))
    Attempt{kReadingIndex, folder.string()}.fail("no index.safetensors in it",
                                                 "a folder made by 'facet index --out'",
                                                 "is the path spelled right?");
}

SearchIndex read_index(const fs::path& folder, const Vae& model) {
  require_index(folder);
  const fs::path path = folder / kIndexFile;
  const std::string object = path.string();
  const TensorFile file = read_safetensors(path, kReadingIndex);
  if (metadata_of(file, "format") != kIndexFormat)
    Attempt{kReadingIndex, object}.fail(fmt::format("format '{}'", metadata_of(file, "format")),
                                        fmt::format("'{}'", kIndexFormat));
  SearchIndex index;
  index.folder = folder;
  index.model = metadata_of(file, "model");
  if (index.model != fingerprint(model))
    Attempt{kReadingIndex, folder.string()}.fail(
        fmt::format("an index of the model with fingerprint {}", index.model),
        fmt::format("{}, this model's", fingerprint(model)),
        "was it made by another run, or before the run went on?");
  index.quantizer = LatentQuantizer::restore(file, model.prior.factors, object);
  index.segments = parse_segments(metadata_of(file, "segments"), object);
  for (IndexSegment& segment : index.segments)
    load_segment(segment, folder, model.prior, index.quantizer.stored_parts());
  return index;
}

}  // namespace facet
