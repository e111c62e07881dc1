// What goes in and out of the explorer's API: requests and answers as plain values, so that all of
// it works and is tested without a socket, and the limits that bound what a request may cost.
// docs/openapi.yaml describes the API.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "facet/core/json.h"

namespace facet {

inline constexpr int64_t kMostStates = 64;                 ///< pictures in an answer
inline constexpr int64_t kMostPicturePixels = 4 << 20;     ///< of all pictures in an answer
inline constexpr int64_t kLargestPictureScale = 16;        ///< magnification
inline constexpr size_t kMostJsonBytes = 1 << 20;          ///< of a JSON body
inline constexpr size_t kMostImageBytes = 8 << 20;         ///< of an image body
inline constexpr int64_t kMostImagePixels = 16 << 20;      ///< of an uploaded image
inline constexpr int kMostJpegScans = 32;                  ///< of an uploaded image
inline constexpr int kDeepestJson = 12;                    ///< levels of nesting
inline constexpr double kLargestLatent = 1000;             ///< of |z|
inline constexpr int64_t kLargestSeed = 9007199254740991;  ///< exact in JavaScript
inline constexpr int64_t kMostRecords = 1000;              ///< of metrics in an answer
inline constexpr int64_t kMostRecordBytes = 4 << 20;       ///< of them together

/// A request that is answered with an error.
struct ApiError : std::runtime_error {
  ApiError(int status_, const std::string& message, std::string where_ = "")
      : std::runtime_error(message), status(status_), where(std::move(where_)) {}
  int status;
  std::string where;  ///< the part of the request; may be empty
};

struct ApiRequest {
  std::string method, path;
  std::multimap<std::string, std::string> query;
  std::string content_type;
  std::string body;
  std::string if_none_match;
};

struct ApiResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::map<std::string, std::string> headers;
};

ApiResponse json_response(const Json& json);
ApiResponse error_response(int status, const std::string& message, const std::string& where = "");

/// What `work` answers; the answer that says what went wrong where it throws.
ApiResponse answer_of(const std::function<ApiResponse()>& work);

/// A body as JSON; an ApiError where it is none, or nested too deeply.
Json parse_body(const std::string& body);

/// A part of a request's JSON that knows its place, such as "states[0].seed". What is not as asked
/// for is an ApiError with that place.
class RequestValue {
 public:
  explicit RequestValue(const Json& json, std::string where = "") : json_(json), where_(where) {}

  /// Requires an object with no other keys than these.
  void require_keys(const std::vector<std::string>& keys) const;
  bool has(const std::string& key) const { return json_.contains(key); }
  /// The value at a key; an ApiError where it is absent.
  RequestValue at(const std::string& key) const;

  /// The elements of an array of `least` to `most`.
  std::vector<RequestValue> elements(int64_t least, int64_t most) const;
  /// The entries of an object of at most `most`.
  std::vector<std::pair<std::string, RequestValue>> entries(int64_t most) const;

  int64_t integer(int64_t least, int64_t most) const;
  double number(double least, double most) const;
  bool boolean() const;
  std::string text() const;
  bool is_text() const { return json_.is_string(); }

  const std::string& where() const { return where_; }
  [[noreturn]] void fail(const std::string& expected) const;

 private:
  void require_object() const;

  const Json& json_;
  std::string where_;
};

/// Query parameters by name, each at most once; an ApiError for others than `known`.
class Query {
 public:
  Query(const ApiRequest& request, const std::vector<std::string>& known);

  bool has(const std::string& name) const { return values_.count(name) > 0; }
  /// An ApiError where it is absent.
  const std::string& text(const std::string& name) const&;
  const std::string& text(const std::string& name) && = delete;  // it would be gone at once
  int64_t integer(const std::string& name, int64_t otherwise, int64_t least, int64_t most) const;

 private:
  std::map<std::string, std::string> values_;
};

/// "image/png" of "Image/PNG; charset=x".
std::string media_type(const std::string& content_type);

}  // namespace facet
