// Importers: from the forms in which people have images to a pack. Labels may be missing anywhere;
// a label that is there but cannot be right is an error, never a guess.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "facet/data/import_options.h"
#include "facet/data/pack.h"

namespace facet {

/// Property `name` gets the values "0", "1", ... up to the largest label. Images with no value
/// above 1 are taken as binary and stretched to 0 and 255.
Pack import_idx(const std::vector<IdxPart>& parts, const std::string& name);

/// One idx file of images whose row r is described by row r of a table.
Pack import_idx_with_table(const std::filesystem::path& images, const std::filesystem::path& table,
                           const TableOptions& options);

/// Every PNG and JPEG below `folder`. An image without a row in the table has unknown labels; a row
/// without an image is an error. Grey and coloured files must not be mixed unless `grey` is set.
Pack import_folder(const std::filesystem::path& folder, const FolderOptions& options);

/// Built-in portraits: 80 % train, 10 % valid, 10 % test, in this order (draws are independent).
Pack make_portraits(const PortraitSetOptions& options);

}  // namespace facet
