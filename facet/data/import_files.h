// Importing into a pack on disk, for `facet import`. Every function first makes sure that the pack
// can be written, then writes it and returns what it did; whoever calls needs no tensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "facet/data/import_options.h"

namespace facet {

ImportSummary import_idx_files(const std::vector<IdxPart>& parts, const std::string& name,
                               const std::filesystem::path& output);
ImportSummary import_idx_table(const std::filesystem::path& images,
                               const std::filesystem::path& table, const TableOptions& options,
                               const std::filesystem::path& output);
ImportSummary import_portraits(const PortraitSetOptions& options,
                               const std::filesystem::path& output);
/// import_folder() of import.h.
std::optional<ImportSummary> import_image_folder(const std::filesystem::path& folder,
                                                 const FolderOptions& options,
                                                 const std::filesystem::path& output,
                                                 const ImportEvents& events);

}  // namespace facet
