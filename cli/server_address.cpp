#include "cli/server_address.h"

#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

namespace facet {

namespace {

/// What a browser of another machine calls the server.
std::string reachable_host(const std::string& host) {
  if (host != "0.0.0.0" && host != "::")
    return host.find(':') != std::string::npos ? "[" + host + "]" : host;
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 && name[0] != '\0' ? name : host;
}

}  // namespace

void require_token_beyond_loopback(HttpOptions& options) {
  if (is_loopback(options.host)) return;
  if (options.token.empty()) options.token = random_token();
  fmt::print(stderr,
             "warning: --host {} lets other machines connect. Only those who know the token in "
             "the address can use the server, but the connection is not encrypted: in a network "
             "that you do not trust, use an SSH tunnel.\n",
             options.host);
}

std::string server_address(const HttpOptions& options, int port) {
  return fmt::format("http://{}:{}{}", reachable_host(options.host), port,
                     options.token.empty() ? "" : "/?token=" + options.token);
}

}  // namespace facet
