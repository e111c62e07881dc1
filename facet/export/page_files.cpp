#include "facet/export/page_files.h"

#include <algorithm>

namespace facet {

const PageFile* find_page_file(std::string_view path) {
  const auto& files = page_files();
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const PageFile& file) { return file.path == path; });
  return found == files.end() ? nullptr : &*found;
}

}  // namespace facet
