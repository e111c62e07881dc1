#include "facet/serve/http_rules.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "facet/export/page_files.h"
#include "facet/serve/http_options.h"

namespace facet {

namespace {

constexpr size_t kLongestTarget = 8 << 10;  // bytes
constexpr const char* kPolicy =
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

/// "a b/c" of "a%20b%2Fc"; in a query a '+' is a space too.
std::string decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      decoded += static_cast<char>(code);
      i += 2;
    } else {
      decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

ApiResponse page_response(const PageFile& file, const std::string& if_none_match) {
  const std::string tag = fmt::format("\"{:016x}\"", std::hash<std::string_view>()(file.bytes));
  ApiResponse response;
  response.type = file.type;
  response.headers = {
      {"ETag", tag}, {"Cache-Control", "no-cache"}, {"Content-Security-Policy", kPolicy}};
  if (if_none_match == tag)
    response.status = 304;
  else
    response.body = file.bytes;
  return response;
}

}  // namespace

void parse_target(std::string_view target, ApiRequest& request) {
  const size_t mark = target.find('?');
  request.path = decode(target.substr(0, mark), false);
  std::string_view rest = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    const std::string_view value = equals == std::string_view::npos ? "" : pair.substr(equals + 1);
    request.query.emplace(decode(pair.substr(0, equals), true), decode(value, true));
  }
}

std::string host_name(std::string host) {
  std::transform(host.begin(), host.end(), host.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  const size_t colon = host.find(':');
  return colon == host.rfind(':') ? host.substr(0, colon) : host;
}

void complete_headers(ApiResponse& response) {
  response.headers.emplace("Cache-Control", "no-store");
  response.headers["X-Content-Type-Options"] = "nosniff";
  response.headers["Referrer-Policy"] = "no-referrer";
  response.headers["Cross-Origin-Resource-Policy"] = "same-origin";
  response.headers["X-Frame-Options"] = "DENY";
}

bool is_loopback(const std::string& host) {
  const std::string name = host_name(host);
  return name == "localhost" || name == "::1" || name.starts_with("127.");
}

std::string random_token() {
  std::random_device device;  // of the operating system
  std::string token;
  for (int word = 0; word < 4; ++word) token += fmt::format("{:08x}", device());
  return token;
}

RequestRules::RequestRules(const RequestHandler& handler, std::vector<std::string> hosts,
                           std::string token)
    : handler_(handler),
      hosts_({"localhost", "127.0.0.1", "::1"}),
      token_(std::move(token)),
      // Servers at other ports of this machine share its cookies.
      cookie_(fmt::format("facet-{:016x}", std::hash<std::string>()(token_))) {
  for (std::string& host : hosts) hosts_.push_back(host_name(std::move(host)));
}

CheckedRequest RequestRules::check(const RequestHead& head) const {
  CheckedRequest checked;
  ApiRequest& request = checked.request;
  request.method = head.method == "HEAD" ? "GET" : head.method;
  request.content_type = head.content_type;
  request.if_none_match = head.if_none_match;
  try {
    if (head.target.size() > kLongestTarget)
      throw ApiError(414, fmt::format("an address has at most {} bytes", kLongestTarget));
    parse_target(head.target, request);
    require(head, request);
  } catch (const ApiError& error) {
    checked.refusal = error_response(error.status, error.what(), error.where);
    if (error.status == 405) checked.refusal->headers["Allow"] = method_at(request.path);
  }
  return checked;
}

std::optional<ApiResponse> RequestRules::page_answer(const ApiRequest& request) const {
  if (!handler_.method_at(request.path).empty()) return std::nullopt;
  if (!token_.empty() && request.path == "/" && request.query.count("token") > 0) {
    // The token leaves the address, which people share and browsers keep.
    ApiResponse response;
    response.status = 303;
    response.headers = {
        {"Location", "/"},
        {"Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", cookie_, token_)}};
    return response;
  }
  const PageFile* file = find_page_file(handler_.page_file(request.path));
  if (file == nullptr) return std::nullopt;
  return page_response(*file, request.if_none_match);
}

bool RequestRules::is_our_host(const std::string& host) const {
  return std::find(hosts_.begin(), hosts_.end(), host_name(host)) != hosts_.end();
}

bool RequestRules::knows_token(const RequestHead& head, const ApiRequest& request) const {
  if (token_.empty()) return true;
  const auto is_ours = [&](std::string_view text) {
    if (text.size() != token_.size()) return false;
    unsigned differences = 0;  // of all letters, so that the time tells nothing
    for (size_t i = 0; i < text.size(); ++i)
      differences |= static_cast<unsigned char>(text[i]) ^ static_cast<unsigned char>(token_[i]);
    return differences == 0;
  };
  const auto [first, last] = request.query.equal_range("token");
  if (request.path == "/" &&
      std::any_of(first, last, [&](const auto& entry) { return is_ours(entry.second); }))
    return true;
  constexpr std::string_view kBearer = "Bearer ";
  if (head.authorization.starts_with(kBearer) &&
      is_ours(std::string_view(head.authorization).substr(kBearer.size())))
    return true;
  std::string_view rest = head.cookie;
  while (!rest.empty()) {
    std::string_view part = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    if (part.starts_with(cookie_ + "=") && is_ours(part.substr(cookie_.size() + 1))) return true;
  }
  return false;
}

/// The method that an address of the handler or of the page takes; empty where there is nothing.
std::string_view RequestRules::method_at(std::string_view path) const {
  const std::string_view method = handler_.method_at(path);
  if (!method.empty()) return method;
  return find_page_file(handler_.page_file(path)) == nullptr ? "" : "GET";
}

/// An ApiError for the first rule that a request breaks.
void RequestRules::require(const RequestHead& head, const ApiRequest& request) const {
  if (!knows_token(head, request))
    throw ApiError(401,
                   "this server needs a token: open the address that facet serve has printed, or "
                   "send 'Authorization: Bearer TOKEN'");
  if (token_.empty() && !is_our_host(head.host))
    throw ApiError(403, "the Host header names another server; --allow-host lets a name in");
  if (head.encoded)
    throw ApiError(411, "a body must come whole, with a Content-Length and not encoded");
  const std::string_view method = method_at(request.path);
  if (method.empty()) throw ApiError(404, "there is nothing at this address");
  // "same-site" would be other ports of this machine.
  const bool elsewhere =
      !head.fetch_site.empty() && head.fetch_site != "same-origin" && head.fetch_site != "none";
  if (elsewhere && !handler_.method_at(request.path).empty())
    throw ApiError(403, "pages of other sites may not use the API");
  if (request.method != method) throw ApiError(405, fmt::format("this address takes {}", method));
  if (method == "GET") {
    if (head.length.value_or(0) > 0) throw ApiError(413, "this address takes no body");
    return;
  }
  if (!head.length) throw ApiError(411, "a Content-Length is needed");
  handler_.check_body(request.path, head.content_type, static_cast<size_t>(*head.length));
}

}  // namespace facet
