// HTTP/1.1 as text: requests are parsed and the heads of answers written here, by Boost.Beast, away
// from any socket. This is the one place that includes Beast, which takes long to compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "facet/serve/message.h"

namespace facet {

inline constexpr size_t kMostHeadBytes = 16 << 10;  ///< request line and headers

/// What a request says before its body. Text is empty where a header is absent.
struct RequestHead {
  std::string method;              ///< "GET"
  std::string target;              ///< "/api/v1/atlas?factor=hair"
  std::string host;                ///< of the Host header; empty where there is not exactly one
  std::string fetch_site;          ///< of the Sec-Fetch-Site header, which browsers send
  std::string content_type;        ///< of the header
  std::string if_none_match;       ///< of the header
  std::string cookie;              ///< of the header
  std::string authorization;       ///< of the header
  bool encoded = false;            ///< has a Transfer-Encoding or a Content-Encoding
  bool awaits_continue = false;    ///< sends its body when told to
  bool keep_alive = false;         ///< further requests may follow
  std::optional<uint64_t> length;  ///< Content-Length
};

/// One request, from its first byte to its last.
class RequestParser {
 public:
  RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;
  ~RequestParser();

  /// Goes on with the bytes that have come and were not used yet, and says how many of them it has
  /// used: it stops after the head, so that a request can be refused before its body is read, and
  /// after the last byte. 0 where it needs more. An ApiError where this is no HTTP.
  size_t take(std::string_view bytes);

  bool has_head() const;
  bool is_done() const;

  /// To be asked for when has_head().
  RequestHead head() const;
  /// Gives the body away; to be called when is_done().
  std::string take_body();

 private:
  struct Beast;
  std::unique_ptr<Beast> beast_;
  size_t head_bytes_ = 0;
};

/// An answer up to its body, which may then be left out for HEAD.
std::string answer_head(const ApiResponse& answer, bool keep_alive);

}  // namespace facet
