// Reads HTML strictly enough to trust it: every tag is closed in order, attributes are quoted,
// nothing is fetched from anywhere.
#pragma once

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <vector>

namespace facet {

/// What is wrong with a page's tags; empty where nothing is.
inline std::string fault_in_tags(const std::string& page) {
  static const std::set<std::string> without_end = {"meta", "img", "br", "hr", "link"};
  std::vector<std::string> open;
  for (size_t at = 0; (at = page.find_first_of("<>", at)) != std::string::npos;) {
    if (page[at] == '>') return "a > outside of any tag at " + std::to_string(at);
    if (page.compare(at, 2, "<!") == 0) {
      at = page.find('>', at) + 1;
      continue;
    }
    size_t end = at + 1;
    for (bool quoted = false; end < page.size() && (quoted || page[end] != '>'); ++end) {
      if (page[end] == '"') quoted = !quoted;
      if (page[end] == '<') return "a < inside of a tag at " + std::to_string(end);
    }
    if (end == page.size()) return "a tag that does not end at " + std::to_string(at);
    const bool closing = page[at + 1] == '/', alone = page[end - 1] == '/';
    std::string name;
    for (size_t i = at + (closing ? 2 : 1); i < end && std::isalnum(page[i]) != 0; ++i)
      name += page[i];
    if (name.empty()) return "a tag without a name at " + std::to_string(at);
    at = end + 1;
    if (closing) {
      if (open.empty() || open.back() != name)
        return "</" + name + "> where " + (open.empty() ? "nothing" : open.back()) + " is open";
      open.pop_back();
    } else if (!alone && without_end.count(name) == 0) {
      open.push_back(name);
      // Styles and scripts are no markup; they end where their tag does.
      if (name == "style" || name == "script") at = page.find("</" + name, at);
    }
  }
  return open.empty() ? "" : open.back() + " is never closed";
}

/// The values of all attributes of this name.
inline std::vector<std::string> attributes(const std::string& page, const std::string& name) {
  std::vector<std::string> values;
  const std::string opening = " " + name + "=\"";
  for (size_t at = 0; (at = page.find(opening, at)) != std::string::npos;) {
    at += opening.size();
    values.push_back(page.substr(at, page.find('"', at) - at));
  }
  return values;
}

/// The first address that a browser would fetch from outside of the page; empty where none.
inline std::string fetched_address(const std::string& page) {
  for (const char* name : {"src", "href", "srcset", "data", "action", "poster", "xlink:href"})
    for (const std::string& address : attributes(page, name))
      if (address.rfind("data:", 0) != 0 && address.rfind('#', 0) != 0) return address;
  // Neither fetches anything: a part of the page itself, and the name of SVG.
  const std::set<std::string> own = {"url(#", "http://www.w3.org/2000/svg"};
  for (const std::string word : {"@import", "url(", "http://", "https://"})
    for (size_t at = 0; (at = page.find(word, at)) != std::string::npos; ++at)
      if (std::none_of(own.begin(), own.end(),
                       [&](const auto& each) { return page.compare(at, each.size(), each) == 0; }))
        return word;
  return "";
}

}  // namespace facet
