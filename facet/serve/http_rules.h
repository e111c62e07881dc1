// Which requests the server takes, decided from their head alone: who may call it by which name,
// which methods and bodies an address takes. Nothing here reads from a connection, so every rule is
// tested as a function.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facet/serve/http_text.h"
#include "facet/serve/request_handler.h"

namespace facet {

/// A request without its body, and why it is not taken where it is not.
struct CheckedRequest {
  ApiRequest request;
  std::optional<ApiResponse> refusal;
};

class RequestRules {
 public:
  /// `hosts` are names that requests may call the server by, besides those of this machine.
  /// With a `token` requests have to know it, and may use any name.
  RequestRules(const RequestHandler& handler, std::vector<std::string> hosts,
               std::string token = "");

  CheckedRequest check(const RequestHead& head) const;

  /// The file of the built-in page at a request's address; none where the handler has to answer.
  std::optional<ApiResponse> page_answer(const ApiRequest& request) const;

 private:
  bool is_our_host(const std::string& host) const;
  bool knows_token(const RequestHead& head, const ApiRequest& request) const;
  std::string_view method_at(std::string_view path) const;
  void require(const RequestHead& head, const ApiRequest& request) const;

  const RequestHandler& handler_;
  std::vector<std::string> hosts_;
  std::string token_, cookie_;  // the token, and the name of its cookie
};

/// The path and the query parameters of a target, decoded; a '%' that begins no code stays.
void parse_target(std::string_view target, ApiRequest& request);

/// "127.0.0.1" of "127.0.0.1:8080", "::1" of "[::1]:8080" and of "::1", in lower case.
std::string host_name(std::string host);

/// Adds what every answer says to a browser.
void complete_headers(ApiResponse& response);

}  // namespace facet
