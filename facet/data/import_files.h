// Importing into a pack on disk, for `facet import`. Every function writes the pack and returns one
// line that describes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "facet/data/import_options.h"

namespace facet {

std::string import_idx_files(const std::vector<IdxPart>& parts, const std::string& name,
                             const std::filesystem::path& output);
std::string import_idx_table(const std::filesystem::path& images,
                             const std::filesystem::path& table, const TableOptions& options,
                             const std::filesystem::path& output);
std::string import_image_folder(const std::filesystem::path& folder, const FolderOptions& options,
                                const std::filesystem::path& output);
std::string import_portraits(const PortraitSetOptions& options,
                             const std::filesystem::path& output);

}  // namespace facet
