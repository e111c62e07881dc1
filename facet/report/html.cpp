#include "facet/report/html.h"

#include <cstdint>

#include "facet/core/base64.h"

namespace facet {

std::string escape_html(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '"')
      escaped += "&quot;";
    else if (c == '\'')
      escaped += "&#39;";
    else if (control || c == '\x7f')
      escaped += "\xef\xbf\xbd";  // HTML has no way to say it: the replacement character
    else
      escaped += c;
  }
  return escaped;
}

std::string png_address(std::string_view png) { return "data:image/png;base64," + base64(png); }

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  const std::string sign = number < 0 ? "\xe2\x88\x92" : "";
  if (number < 0) digits.erase(0, 1);
  for (size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
  return sign + digits;
}

Html::Scope::~Scope() { html_.page_ += "</" + tag_ + ">\n"; }

Html::Scope Html::open(std::string_view tag, const Attributes& attributes) {
  single(tag, attributes);
  return Scope(*this, std::string(tag));
}

void Html::element(std::string_view tag, std::string_view text, const Attributes& attributes) {
  const Scope scope = open(tag, attributes);
  this->text(text);
}

void Html::single(std::string_view tag, const Attributes& attributes) {
  page_ += '<';
  page_ += tag;
  for (const auto& [name, value] : attributes) {
    page_ += ' ';
    page_ += name;
    page_ += "=\"" + escape_html(value) + '"';
  }
  page_ += '>';
}

void Html::text(std::string_view text) { page_ += escape_html(text); }

}  // namespace facet
