#include "facet/serve/http_text.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace facet {

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

std::string text(beast::string_view view) { return {view.data(), view.size()}; }

}  // namespace

struct RequestParser::Beast {
  http::request_parser<http::string_body> parser;
};

RequestParser::RequestParser() : beast_(std::make_unique<Beast>()) {
  beast_->parser.header_limit(kMostHeadBytes);
  // Without a limit here: the head is to be parsed first, and what it announces refused by rules.
  beast_->parser.body_limit(std::numeric_limits<uint64_t>::max());
}

RequestParser::~RequestParser() = default;

size_t RequestParser::take(std::string_view bytes) {
  beast::error_code error;
  const bool in_head = !has_head();
  const size_t used = beast_->parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (error == http::error::need_more) error = {};
  if (in_head) head_bytes_ += used;
  // Beast bounds the request line and the headers each for itself.
  if (!error && head_bytes_ > kMostHeadBytes) error = http::error::header_limit;
  if (error) throw ApiError(400, "this is no HTTP request: " + error.message());
  return used;
}

bool RequestParser::has_head() const { return beast_->parser.is_header_done(); }

bool RequestParser::is_done() const { return beast_->parser.is_done(); }

RequestHead RequestParser::head() const {
  const auto& parser = beast_->parser;
  const auto& message = parser.get();
  RequestHead head;
  head.method = text(message.method_string());
  head.target = text(message.target());
  if (message.count(http::field::host) == 1) head.host = text(message[http::field::host]);
  head.fetch_site = text(message["Sec-Fetch-Site"]);
  head.content_type = text(message[http::field::content_type]);
  head.if_none_match = text(message[http::field::if_none_match]);
  head.cookie = text(message[http::field::cookie]);
  head.authorization = text(message[http::field::authorization]);
  head.encoded = message.count(http::field::transfer_encoding) > 0 ||
                 message.count(http::field::content_encoding) > 0;
  head.awaits_continue =
      message.version() >= 11 && beast::iequals(message[http::field::expect], "100-continue");
  head.keep_alive = parser.keep_alive();
  if (const auto length = parser.content_length()) head.length = *length;
  return head;
}

std::string RequestParser::take_body() { return std::move(beast_->parser.get().body()); }

std::string answer_head(const ApiResponse& answer, bool keep_alive) {
  const std::string reason = text(http::obsolete_reason(static_cast<http::status>(answer.status)));
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nConnection: {}\r\n", answer.status, reason,
                                 keep_alive ? "keep-alive" : "close");
  for (const auto& [name, value] : answer.headers) head += fmt::format("{}: {}\r\n", name, value);
  if (!answer.body.empty()) head += fmt::format("Content-Type: {}\r\n", answer.type);
  // A 304 is about the file that the client has.
  if (answer.status != 304) head += fmt::format("Content-Length: {}\r\n", answer.body.size());
  return head + "\r\n";
}

}  // namespace facet
