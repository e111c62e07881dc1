// The explorer's page, built into the program: the files of web/ and docs/openapi.yaml as bytes.
// `facet serve` answers with them, `facet export page` writes them. CMake writes the table
// (cmake/embed.cmake).
#pragma once

#include <string_view>
#include <vector>

namespace facet {

struct PageFile {
  std::string_view path;  ///< "/", "/app.js"
  std::string_view type;  ///< "text/html; charset=utf-8"
  std::string_view bytes;
};

const std::vector<PageFile>& page_files();

/// The file at an address; null where there is none.
const PageFile* find_page_file(std::string_view path);

}  // namespace facet
