#include "facet/data/import_files.h"

#include <functional>

#include "facet/core/file.h"
#include "facet/data/import.h"

namespace facet {

namespace {

ImportSummary write_made(const std::filesystem::path& output, const std::function<Pack()>& make) {
  require_writable(output, "writing a pack");
  const Pack pack = make();
  write_pack(output, pack);
  return summary_of(pack);
}

}  // namespace

ImportSummary import_idx_files(const std::vector<IdxPart>& parts, const std::string& name,
                               const std::filesystem::path& output) {
  return write_made(output, [&] { return import_idx(parts, name); });
}

ImportSummary import_idx_table(const std::filesystem::path& images,
                               const std::filesystem::path& table, const TableOptions& options,
                               const std::filesystem::path& output) {
  std::vector<std::string> remarks;
  ImportSummary summary =
      write_made(output, [&] { return import_idx_with_table(images, table, options, remarks); });
  summary.remarks = remarks;
  return summary;
}

ImportSummary import_portraits(const PortraitSetOptions& options,
                               const std::filesystem::path& output) {
  return write_made(output, [&] { return make_portraits(options); });
}

std::optional<ImportSummary> import_image_folder(const std::filesystem::path& folder,
                                                 const FolderOptions& options,
                                                 const std::filesystem::path& output,
                                                 const ImportEvents& events) {
  return import_folder(folder, options, output, events);
}

}  // namespace facet
