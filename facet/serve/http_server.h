// The explorer over HTTP, built on cpp-httplib. Whatever clients do, the server goes on: there is a
// bound on connections, on bytes of a request, on bytes of all requests together and on the time
// that a request may take to arrive; when connections run out, the one that has been silent longest
// gives way. No address leads to a file: the page is built into the program.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "facet/serve/explorer.h"
#include "facet/serve/http_options.h"

namespace facet {

class HttpServer {
 public:
  /// Takes the port; an Error where it cannot, or where this build has no server.
  HttpServer(Explorer& explorer, const HttpOptions& options);
  ~HttpServer();

  int port() const;

  /// Serves until `stop`, which is asked every 50 milliseconds, says true.
  void run(const std::function<bool()>& stop);

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace facet
