// Bytes as text (RFC 4648), for pictures inside JSON and HTML.
#pragma once

#include <string>
#include <string_view>

namespace facet {

std::string base64(std::string_view bytes);

}  // namespace facet
