// How the explorer is served over HTTP.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace facet {

struct HttpOptions {
  std::string host = "127.0.0.1";  ///< address to listen at
  int port = 8080;                 ///< 0 takes a free one
  /// Names that requests may call the server by, besides localhost, 127.0.0.1, ::1 and `host`:
  /// pages elsewhere must not reach it by a name of their own that leads here.
  std::vector<std::string> allowed_hosts;
  size_t connections = 128;           ///< at once
  double request_seconds = 20;        ///< for a request to arrive, and for its answer to be taken
  double idle_seconds = 15;           ///< between the requests of a connection
  size_t bytes_in_flight = 32 << 20;  ///< of all large bodies together
};

}  // namespace facet
