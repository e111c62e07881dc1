// Where a server of ours is found, and who may use it: shared by `facet serve` and `facet survey`.
#pragma once

#include <string>

#include "facet/serve/http_options.h"

namespace facet {

/// A server that other machines reach gets a token, if it has none, and a warning is printed.
void require_token_beyond_loopback(HttpOptions& options);

/// The address to open in a browser, with the token.
std::string server_address(const HttpOptions& options, int port);

}  // namespace facet
