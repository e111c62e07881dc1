// Compression of bytes that are written once and loaded over networks.
#pragma once

#include <string>
#include <string_view>

namespace facet {

/// The bytes as a gzip file, as small as zlib makes it.
std::string gzip_compressed(std::string_view bytes);

}  // namespace facet
