// In the place of http_server.cpp where Boost is not installed.
#include "facet/core/error.h"
#include "facet/serve/http_server.h"

namespace facet {

class HttpServer::Listener {};

HttpServer::HttpServer(RequestHandler&, const HttpOptions&) {
  throw Error({.doing = "starting the server",
               .found = "a facet that was built without Boost",
               .expected = "one built with it",
               .cause = "install libboost-dev 1.74 or later and build again"});
}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return 0; }

void HttpServer::run(const std::function<bool()>&) {}

}  // namespace facet
