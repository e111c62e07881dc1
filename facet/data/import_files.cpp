#include "facet/data/import_files.h"

#include <fmt/format.h>

#include "facet/core/torch.h"
#include "facet/data/import.h"

namespace facet {

namespace {

std::string write_and_describe(const Pack& pack, const std::filesystem::path& output) {
  write_pack(output, pack);
  std::string counts;
  for (size_t s = 0; s < split_names.size(); ++s)
    counts +=
        fmt::format("{}{} {}", s == 0 ? "" : ", ",
                    pack.split.eq(static_cast<int64_t>(s)).sum().item<int64_t>(), split_names[s]);
  const ImageShape shape = pack.shape();
  return fmt::format("{}: {} images of {}x{} in {} channel{} ({}), {} propert{}", output.string(),
                     pack.count(), shape.height, shape.width, shape.channels,
                     shape.channels == 1 ? "" : "s", counts, pack.properties.size(),
                     pack.properties.size() == 1 ? "y" : "ies");
}

}  // namespace

std::string import_idx_files(const std::vector<IdxPart>& parts, const std::string& name,
                             const std::filesystem::path& output) {
  return write_and_describe(import_idx(parts, name), output);
}

std::string import_idx_table(const std::filesystem::path& images,
                             const std::filesystem::path& table, const TableOptions& options,
                             const std::filesystem::path& output) {
  return write_and_describe(import_idx_with_table(images, table, options), output);
}

std::string import_image_folder(const std::filesystem::path& folder, const FolderOptions& options,
                                const std::filesystem::path& output) {
  return write_and_describe(import_folder(folder, options), output);
}

std::string import_portraits(const PortraitSetOptions& options,
                             const std::filesystem::path& output) {
  return write_and_describe(make_portraits(options), output);
}

}  // namespace facet
