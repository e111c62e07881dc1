# Writes files as a C++ table of bytes, so that the explorer's page is part of the program.
#   cmake -DOUTPUT=page_files.cpp "-DFILES=address|file;..." -P embed.cmake
set(types
  "html|text/html" "css|text/css" "js|text/javascript" "mjs|text/javascript" "json|application/json" "svg|image/svg+xml"
  "png|image/png" "ico|image/x-icon" "txt|text/plain" "yaml|application/yaml" "webmanifest|application/manifest+json")
set(arrays "")
set(table "")
set(number 0)
foreach(entry IN LISTS FILES)
  string(REGEX MATCH "^([^|]*)[|](.*)$" matched "${entry}")
  set(address "${CMAKE_MATCH_1}")
  set(file "${CMAKE_MATCH_2}")
  get_filename_component(ending "${file}" LAST_EXT)
  set(type "")
  foreach(known IN LISTS types)
    string(REGEX MATCH "^([a-z]+)[|](.*)$" matched "${known}")
    if(ending STREQUAL ".${CMAKE_MATCH_1}")
      set(type "${CMAKE_MATCH_2}")
    endif()
  endforeach()
  if(type STREQUAL "")
    message(FATAL_ERROR "cmake/embed.cmake has no content type for ${file}")
  endif()
  if(type MATCHES "^text/")
    string(APPEND type "\\x3b charset=utf-8")  # escaped: a semicolon would split CMake lists
  endif()
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "const unsigned char file_${number}[] = {${bytes}0};\n")
  string(APPEND table "      {\"${address}\", \"${type}\", view(file_${number}, sizeof file_${number} - 1)},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUTPUT}" "// Written by cmake/embed.cmake.
#include \"facet/export/page_files.h\"

namespace facet {
namespace {

${arrays}
std::string_view view(const unsigned char* bytes, unsigned long size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

const std::vector<PageFile>& page_files() {
  static const std::vector<PageFile> files = {
${table}  };
  return files;
}

}  // namespace facet
")
