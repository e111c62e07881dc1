// The server with a handler of a few lines in the place of the explorer, so that what HTTP promises
// is tested without a model. Its addresses are named like the explorer's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "facet/serve/http_server.h"
#include "tests/serve/http_client.h"

namespace facet {

class StubHandler : public RequestHandler {
 public:
  std::string_view method_at(std::string_view path) const override {
    if (path == "/api/v1/generate" || path == "/api/v1/encode") return "POST";
    for (const char* known : {"model", "wait", "large", "throw"})
      if (path == std::string("/api/v1/") + known) return "GET";
    return "";
  }

  void check_body(std::string_view path, const std::string& content_type,
                  size_t bytes) const override {
    const bool json = path == "/api/v1/generate";
    if (media_type(content_type) != (json ? "application/json" : "image/png"))
      throw ApiError(415, "another type");
    if (bytes > (json ? kMostJsonBytes : kMostImageBytes)) throw ApiError(413, "too large");
  }

  /// Repeats what it was sent; "wait" takes until release(), "large" gives 64 MiB.
  ApiResponse handle(const ApiRequest& request) override {
    ++handled;
    ApiResponse response;
    if (request.path == "/api/v1/throw") throw std::runtime_error("on purpose");
    if (request.path == "/api/v1/wait") {
      std::unique_lock lock(mutex_);
      ++waiting;
      changed_.wait(lock, [&] { return released_; });
      --waiting;
    }
    if (request.path == "/api/v1/large")
      response.body = std::string(64 << 20, 'x');
    else
      response.body = request.method + " " + request.path + " " + request.body;
    for (const auto& [name, value] : request.query) response.body += name + "=" + value + ";";
    return response;
  }

  void release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

  std::atomic<int> handled = 0, waiting = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool released_ = false;
};

/// The server in a thread of its own for as long as this lives.
class StubServer {
 public:
  explicit StubServer(HttpOptions options = {}) {
    options.port = 0;
    server_ = std::make_unique<HttpServer>(handler, options);
    thread_ = std::thread([this] { server_->run([this] { return ending_.load(); }); });
  }
  ~StubServer() {
    handler.release();
    end();
    thread_.join();
  }
  void end() { ending_ = true; }
  int port() const { return server_->port(); }
  bool answers() const { return HttpClient(port()).post("/api/v1/generate", "{}").status == 200; }

  StubHandler handler;

 private:
  std::unique_ptr<HttpServer> server_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

/// The status of an answer to these bytes on a connection of their own.
inline int status_of(int port, const std::string& bytes) {
  HttpClient client(port);
  client.send(bytes);
  return client.receive().status;
}

}  // namespace facet
