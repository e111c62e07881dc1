#include "facet/core/json.h"
#include "facet/data/image_file.h"
#include "facet/serve/explorer.h"
#include "facet/serve/http_rules.h"
#include "facet/serve/http_text.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/targets.h"
#include "tests/serve/served_run.h"

namespace facet {
namespace {

Explorer& fuzz_explorer() {
  static Explorer* explorer = [] {  // outlives what is destroyed at exit
    const std::filesystem::path folder = input_file("run/config.json", "{}").parent_path();
    write_served_run(folder);
    ExplorerOptions options;
    options.run = folder;
    return new Explorer(std::move(options));
  }();
  return *explorer;
}

/// HTTP in pieces of seven bytes, as a slow client sends it, and the rules for its head.
bool read_http_bytes(std::string_view bytes) {
  static const RequestRules rules(fuzz_explorer(), {"example.org"});
  try {
    RequestParser parser;
    std::string waiting;
    while (!parser.is_done()) {
      if (bytes.empty()) return false;
      waiting += bytes.substr(0, 7);
      bytes.remove_prefix(std::min<size_t>(bytes.size(), 7));
      const bool had_head = parser.has_head();
      while (const size_t used = parser.take(waiting)) {
        waiting.erase(0, used);
        if (parser.is_done()) break;
      }
      if (!had_head && parser.has_head()) {
        const CheckedRequest checked = rules.check(parser.head());
        if (checked.refusal) {
          answer_head(*checked.refusal, parser.head().keep_alive);
          return false;
        }
        rules.page_answer(checked.request);
      }
    }
    parser.take_body();
    return true;
  } catch (const ApiError&) {
    return false;
  }
}
std::vector<std::string> http_seeds() {
  return {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
          "GET /api/v1/atlas?factor=hair%20x&n=3 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"
          "If-None-Match: \"a\"\r\nConnection: close\r\n\r\n",
          "POST /api/v1/generate HTTP/1.1\r\nHost: [::1]:80\r\nContent-Type: application/json\r\n"
          "Content-Length: 2\r\n\r\n{}"};
}

/// The first line is an address below /api/v1/, what follows the body of a POST.
bool answer_api_bytes(std::string_view bytes) {
  const size_t end = std::min(bytes.find('\n'), bytes.size());
  ApiRequest request;
  parse_target("/api/v1/" + std::string(bytes.substr(0, end)), request);
  const Explorer::Route* route = Explorer::route(request.path);
  request.method = route != nullptr ? std::string(route->method) : "GET";
  request.content_type = "application/json";
  request.body = bytes.substr(std::min(end + 1, bytes.size()));
  if (route != nullptr && route->body == Explorer::Body::image) {
    request.content_type = "image/png";
    if (request.body.size() > kMostImageBytes) return false;
  }
  const ApiResponse response = fuzz_explorer().handle(request);
  if (response.status >= 500 && response.status != 503)
    throw std::runtime_error("answered with " + response.body);
  return response.status == 200;
}
std::vector<std::string> api_seeds() {
  return {"model", "atlas?factor=hair", "generate\n{\"states\": [{\"seed\": 3}]}",
          "encode\n" + encode_png(Image::filled(3, 16, 16, 90))};
}

}  // namespace

std::vector<FuzzTarget> request_targets() {
  return {{"http", read_http_bytes, http_seeds}, {"api", answer_api_bytes, api_seeds}};
}

}  // namespace facet
