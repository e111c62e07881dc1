// Writes CSV tables (RFC 4180), with the separator of the user's own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace facet {

/// A cell, in quotes if it needs them.
std::string csv_cell(const std::string& text, char separator);

/// Header and rows, each ended by a newline. A file that exists is replaced
/// only once the new one is complete.
void write_csv(const std::filesystem::path& path, const std::vector<std::string>& columns,
               const std::vector<std::vector<std::string>>& rows, char separator);

}  // namespace facet
