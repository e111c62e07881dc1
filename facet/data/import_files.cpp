#include "facet/data/import_files.h"

#include <functional>

#include "facet/core/file.h"
#include "facet/data/import.h"
#include "facet/data/pack_shards.h"

namespace facet {

namespace {

/// Throws an Error if the pack, or its first shard, cannot be written.
void require_writable_pack(const std::filesystem::path& output, int64_t shard_size) {
  require_one_name(output);
  require_writable(shard_size == 0 ? output : shard_path(output, 0), "writing a pack");
}

ImportSummary write_made(const std::filesystem::path& output, int64_t shard_size,
                         const std::function<Pack()>& make) {
  require_writable_pack(output, shard_size);
  const Pack pack = make();
  ImportSummary summary = summary_of(pack);
  if (shard_size == 0) {
    write_pack(output, pack);
    return summary;
  }
  write_shards(
      output, pack.count(), shard_size,
      [&](int64_t begin, int64_t count) { return slice(pack, begin, count); },
      [&](int64_t) { return ++summary.shards > 0; });
  return summary;
}

}  // namespace

ImportSummary import_idx_files(const std::vector<IdxPart>& parts, const std::string& name,
                               const std::filesystem::path& output, int64_t shard_size) {
  return write_made(output, shard_size, [&] { return import_idx(parts, name); });
}

ImportSummary import_idx_table(const std::filesystem::path& images,
                               const std::filesystem::path& table, const TableOptions& options,
                               const std::filesystem::path& output, int64_t shard_size) {
  std::vector<std::string> remarks;
  ImportSummary summary = write_made(
      output, shard_size, [&] { return import_idx_with_table(images, table, options, remarks); });
  summary.remarks = remarks;
  return summary;
}

std::optional<ImportSummary> import_portraits(const PortraitSetOptions& options,
                                              const std::filesystem::path& output,
                                              int64_t shard_size, const ImportEvents& events) {
  if (shard_size == 0) return write_made(output, 0, [&] { return make_portraits(options); });
  require_writable_pack(output, shard_size);
  const auto draw = [&](int64_t begin, int64_t count) {
    return make_some_portraits(options, begin, count);
  };
  const auto proceed = [&](int64_t done) {
    if (events.progress) events.progress(done, options.count);
    return !events.stop || !events.stop();
  };
  if (!write_shards(output, options.count, shard_size, draw, proceed)) return std::nullopt;
  return summary_of_written(output, shard_size);
}

std::optional<ImportSummary> import_image_folder(const std::filesystem::path& folder,
                                                 const FolderOptions& options,
                                                 const std::filesystem::path& output,
                                                 const ImportEvents& events) {
  return import_folder(folder, options, output, events);
}

}  // namespace facet
