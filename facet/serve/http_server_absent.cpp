// In the place of http_server.cpp where cpp-httplib is not installed.
#include "facet/core/error.h"
#include "facet/serve/http_server.h"

namespace facet {

class HttpServer::Listener {};

HttpServer::HttpServer(Explorer&, const HttpOptions&) {
  throw Error({.doing = "starting the server",
               .found = "a facet that was built without cpp-httplib",
               .expected = "one built with it",
               .cause = "install libcpp-httplib-dev 0.11 and build again"});
}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return 0; }

void HttpServer::run(const std::function<bool()>&) {}

}  // namespace facet
