#include "facet/serve/message.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <new>

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/json.h"

namespace facet {

namespace {

constexpr const char* kReadingRequest = "reading the request";
constexpr size_t kLongestShown = 60;

/// What someone sent, short enough for a message.
std::string shown(const std::string& text) {
  return text.size() <= kLongestShown ? text : text.substr(0, kLongestShown) + "...";
}

[[noreturn]] void refuse(const std::string& where, const std::string& found,
                         const std::string& expected, const std::string& cause = "") {
  throw ApiError(400,
                 to_string({.doing = kReadingRequest,
                            .object = shown(where),
                            .found = found,
                            .expected = expected,
                            .cause = cause}),
                 where);
}

std::string kind_of(const Json& json) {
  if (json.is_number()) return fmt::format("the number {}", json.dump());
  if (json.is_string()) return fmt::format("the text '{}'", shown(json.get<std::string>()));
  if (json.is_array()) return fmt::format("a list of {}", json.size());
  if (json.is_object()) return "an object";
  if (json.is_boolean()) return json.get<bool>() ? "true" : "false";
  return "null";
}

/// Before parsing: a body of nothing but brackets would take many times its size.
void check_depth(const std::string& body) {
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < body.size(); ++i) {
    const char letter = body[i];
    if (in_text) {
      if (letter == '\\') ++i;
      if (letter == '"') in_text = false;
      continue;
    }
    if (letter == '"') in_text = true;
    if (letter == '[' || letter == '{') ++depth;
    if (letter == ']' || letter == '}') --depth;
    if (depth > kDeepestJson)
      refuse("", "JSON nested too deeply", fmt::format("at most {} levels", kDeepestJson));
  }
}

}  // namespace

ApiResponse json_response(const Json& json) {
  ApiResponse response;
  // What a user sent may come back in a message, and may be no UTF-8.
  response.body = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return response;
}

ApiResponse error_response(int status, const std::string& message, const std::string& where) {
  Json json;
  json["error"]["status"] = status;
  json["error"]["message"] = message;
  if (!where.empty()) json["error"]["where"] = where;
  ApiResponse response = json_response(json);
  response.status = status;
  if (status == 503) response.headers.emplace("Retry-After", "1");
  return response;
}

ApiResponse answer_of(const std::function<ApiResponse()>& work) {
  try {
    return work();
  } catch (const ApiError& error) {
    return error_response(error.status, error.what(), error.where);
  } catch (const Error& error) {
    return error_response(400, error.what());
  } catch (const std::bad_alloc&) {
    return error_response(503, "too little memory at the moment");
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    return error_response(500, "a defect in facet: " + text.substr(0, text.find('\n')));
  } catch (const std::exception& error) {
    return error_response(500, fmt::format("a defect in facet: {}", error.what()));
  }
}

Json parse_body(const std::string& body) {
  check_depth(body);
  try {
    return Json::parse(body);
  } catch (const Json::exception& error) {
    const std::string text = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const size_t start = text.find("] ");
    refuse("",
           fmt::format("no JSON ({})",
                       shown(start == std::string::npos ? text : text.substr(start + 2))),
           "one JSON object");
  }
}

void RequestValue::fail(const std::string& expected) const {
  refuse(where_, kind_of(json_), expected);
}

void RequestValue::require_object() const {
  if (!json_.is_object()) fail("an object");
}

void RequestValue::require_keys(const std::vector<std::string>& keys) const {
  require_object();
  for (const auto& [key, value] : json_.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      refuse(where_.empty() ? key : where_ + "." + key, "an unknown key", "a known one",
             suggest(shown(key), keys));
}

RequestValue RequestValue::at(const std::string& key) const {
  require_object();
  const std::string place = where_.empty() ? key : where_ + "." + key;
  const auto found = json_.find(key);
  if (found == json_.end()) refuse(place, "nothing", "a value");
  return RequestValue(*found, place);
}

std::vector<RequestValue> RequestValue::elements(int64_t least, int64_t most) const {
  const auto size = static_cast<int64_t>(json_.size());
  if (!json_.is_array() || size < least || size > most)
    fail(least == most ? fmt::format("a list of {}", most)
                       : fmt::format("a list of {} to {}", least, most));
  std::vector<RequestValue> values;
  values.reserve(json_.size());
  for (size_t i = 0; i < json_.size(); ++i)
    values.emplace_back(json_[i], fmt::format("{}[{}]", where_, i));
  return values;
}

std::vector<std::pair<std::string, RequestValue>> RequestValue::entries(int64_t most) const {
  require_object();
  if (static_cast<int64_t>(json_.size()) > most)
    refuse(where_, fmt::format("{} entries", json_.size()), fmt::format("at most {}", most));
  std::vector<std::pair<std::string, RequestValue>> values;
  for (const auto& [key, value] : json_.items())
    values.emplace_back(key, RequestValue(value, where_ + "." + key));
  return values;
}

int64_t RequestValue::integer(int64_t least, int64_t most) const {
  const std::string expected = fmt::format("a whole number from {} to {}", least, most);
  // Numbers such as 1e3 and 7.0 are whole too, as JavaScript may write them.
  if (json_.is_number_unsigned() && json_.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    fail(expected);
  if (json_.is_number_float()) {
    const auto value = json_.get<double>();
    if (!(value >= static_cast<double>(least)) || !(value <= static_cast<double>(most)) ||
        value != std::floor(value) || std::abs(value) > static_cast<double>(kLargestSeed))
      fail(expected);
    return static_cast<int64_t>(value);
  }
  if (!json_.is_number_integer()) fail(expected);
  const auto value = json_.get<int64_t>();
  if (value < least || value > most) fail(expected);
  return value;
}

double RequestValue::number(double least, double most) const {
  const std::string expected = fmt::format("a number from {} to {}", least, most);
  if (!json_.is_number()) fail(expected);
  const auto value = json_.get<double>();
  if (!(value >= least) || !(value <= most)) fail(expected);
  return value;
}

bool RequestValue::boolean() const {
  if (!json_.is_boolean()) fail("true or false");
  return json_.get<bool>();
}

std::string RequestValue::text() const {
  if (!json_.is_string()) fail("text");
  return json_.get<std::string>();
}

Query::Query(const ApiRequest& request, const std::vector<std::string>& known) {
  for (const auto& [name, value] : request.query) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      refuse(name, "an unknown parameter", "a known one",
             known.empty() ? "there are none" : suggest(shown(name), known));
    if (!values_.emplace(name, value).second) refuse(name, "it twice", "one value");
  }
}

const std::string& Query::text(const std::string& name) const& {
  const auto found = values_.find(name);
  if (found == values_.end()) refuse(name, "nothing", "a parameter of this name");
  return found->second;
}

int64_t Query::integer(const std::string& name, int64_t otherwise, int64_t least,
                       int64_t most) const {
  if (!has(name)) return otherwise;
  const std::string& value = text(name);
  int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stopped, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stopped != end || number < least || number > most)
    refuse(name, fmt::format("'{}'", shown(value)),
           fmt::format("a whole number from {} to {}", least, most));
  return number;
}

std::string media_type(const std::string& content_type) {
  std::string type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && std::isspace(static_cast<unsigned char>(type.back())) != 0)
    type.pop_back();
  std::transform(type.begin(), type.end(), type.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return type;
}

}  // namespace facet
