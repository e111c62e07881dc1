// The texts of a pack: the names of files, the user's table, and the metadata, as they are stored.
// Who writes a pack at once and who writes it image by image share this form.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "facet/core/error.h"
#include "facet/core/safetensors.h"
#include "facet/data/pack.h"

namespace facet {

inline constexpr const char* kPackFormat = "facet-pack-1";

/// Columns as one block of bytes and one matrix of ends, [C, N], which ascend through all of it.
std::pair<torch::Tensor, torch::Tensor> joined_texts(const std::vector<TextColumn>& columns);

/// The inverse of joined_texts(), as views of the file. Bytes after the last end are allowed.
std::vector<TextColumn> read_texts(const TensorFile& file, const std::string& name, int64_t columns,
                                   int64_t count, const std::string& object);

/// The table with the header in `text`, of the metadata.
TableColumns read_table(const TensorFile& file, const std::string& text, int64_t count,
                        const std::string& object);

/// Throws an Error if there is not one text per image.
void validate_texts(const Pack& pack, const Attempt& checking);

/// Format, properties, origin, the number of files if there are several, and the header of the
/// table if there is one.
std::map<std::string, std::string> pack_metadata(const Pack& pack);

}  // namespace facet
