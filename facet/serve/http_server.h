// A RequestHandler and the built-in page over HTTP. Whatever clients do, the server goes on: there
// is a bound on connections, on bytes of a request, on bytes of all requests together and on the
// time that a request may take to arrive; when connections run out, the one that has been silent
// longest gives way. No address leads to a file: the page is built into the program.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "facet/serve/http_options.h"
#include "facet/serve/request_handler.h"

namespace facet {

class HttpServer {
 public:
  /// Takes the port; an Error where it cannot, or where this build has no server. The handler is
  /// used until run() has returned.
  HttpServer(RequestHandler& handler, const HttpOptions& options);
  ~HttpServer();

  int port() const;

  /// Serves until `stop`, which is asked every 50 milliseconds, says true; then answers the
  /// requests that are being worked on and returns. To be called once.
  void run(const std::function<bool()>& stop);

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace facet
