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
  /// What every request must know, as a cookie that the address with ?token= sets, or as
  /// "Authorization: Bearer"; empty: nothing. It stands for the names above: with a token the
  /// server answers to any name.
  std::string token;
  size_t connections = 128;           ///< at once
  double request_seconds = 20;        ///< for a request to arrive, and for its answer to be taken
  double idle_seconds = 15;           ///< between the requests of a connection
  size_t bytes_in_flight = 32 << 20;  ///< of all large bodies together
};

/// Whether only this machine can reach a server that listens at `host`.
bool is_loopback(const std::string& host);

/// A token that cannot be guessed.
std::string random_token();

}  // namespace facet
