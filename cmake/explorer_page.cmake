# Turns the explorer's page and the description of its API into a source file of the library.
file(GLOB page_sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/web ${PROJECT_SOURCE_DIR}/web/*.*
     ${PROJECT_SOURCE_DIR}/web/survey/*.* ${PROJECT_SOURCE_DIR}/web/runs/*.*
     ${PROJECT_SOURCE_DIR}/web/report/*.*)
set(page_entries "/api/v1/openapi.yaml|${PROJECT_SOURCE_DIR}/docs/openapi.yaml")
set(page_inputs ${PROJECT_SOURCE_DIR}/docs/openapi.yaml)
foreach(file IN LISTS page_sources)
  set(address "/${file}")
  if(file STREQUAL "index.html")
    set(address "/")
  endif()
  list(APPEND page_entries "${address}|${PROJECT_SOURCE_DIR}/web/${file}")
  list(APPEND page_inputs ${PROJECT_SOURCE_DIR}/web/${file})
endforeach()
set(page_table ${PROJECT_BINARY_DIR}/page_files.cpp)
add_custom_command(OUTPUT ${page_table}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${page_table} "-DFILES=${page_entries}" -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${page_inputs} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
list(APPEND FACET_SOURCES ${page_table})
