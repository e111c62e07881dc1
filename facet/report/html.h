// Writing HTML: every text is escaped on its way in and every element is closed by the end of its
// scope, so that a page is well formed by construction and a name that a user chose can never
// become markup.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace facet {

/// Text as it may stand between tags and inside of quoted attributes.
std::string escape_html(std::string_view text);

/// The bytes of a PNG as an address that holds them all: "data:image/png;base64,...".
std::string png_address(std::string_view png);

/// "6,500", with a true minus sign.
std::string grouped(int64_t number);

class Html {
 public:
  using Attributes = std::vector<std::pair<std::string_view, std::string>>;

  /// Closes its element when it goes.
  class Scope {
   public:
    Scope(Html& html, std::string tag) : html_(html), tag_(std::move(tag)) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    Html& html_;
    std::string tag_;
  };

  /// An element around all that follows, up to the end of the scope.
  [[nodiscard]] Scope open(std::string_view tag, const Attributes& attributes = {});
  /// A whole element with text in it.
  void element(std::string_view tag, std::string_view text, const Attributes& attributes = {});
  /// An element that has no end tag, such as img.
  void single(std::string_view tag, const Attributes& attributes);
  void text(std::string_view text);
  /// Markup of our own making, taken as it is.
  void markup(std::string_view markup) { page_ += markup; }

  const std::string& page() const { return page_; }

 private:
  std::string page_;
};

}  // namespace facet
