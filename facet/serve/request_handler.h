// What the HTTP server asks of the thing that it serves. The server knows addresses, sizes and
// bytes and nothing about models, so that it is tested with a handler of a few lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "facet/serve/message.h"

namespace facet {

/// All functions are called from several threads at once.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;

  /// The method that an address takes, "GET" or "POST"; empty where there is nothing.
  virtual std::string_view method_at(std::string_view path) const = 0;

  /// The built-in file (export/page_files.h) that an address shows; most show that of their name.
  virtual std::string page_file(std::string_view path) const { return std::string(path); }

  /// An ApiError where the address, which takes POST, refuses a body of this type and size. Asked
  /// before the body is read.
  virtual void check_body(std::string_view path, const std::string& content_type,
                          size_t bytes) const = 0;

  /// The answer to a request, also where it is an error; may take long. Throws nothing.
  virtual ApiResponse handle(const ApiRequest& request) = 0;
};

}  // namespace facet
