// Bytes as text (RFC 4648), for pictures inside JSON and HTML.
#pragma once

#include <string>
#include <string_view>

namespace facet {

std::string base64(std::string_view bytes);
/// The bytes of such a text; an Error where it is none.
std::string from_base64(std::string_view text);

}  // namespace facet
