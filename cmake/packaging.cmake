# `cmake --install`, the package for find_package(facet), and Debian packages: `cpack` in the build folder writes facet
# (the program), libfacet-dev and, with the Python module, python3-facet.
include(CMakePackageConfigHelpers)
set(FACET_PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/facet)
install(TARGETS facet_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(FILES ${PROJECT_BINARY_DIR}/cli/facet.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${PROJECT_BINARY_DIR}/cli/facet.bash RENAME facet
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
install(TARGETS facet EXPORT facet-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY facet/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/facet COMPONENT development
        FILES_MATCHING PATTERN "*.h")
# For `facet export page`, where scripts/fetch-npm has fetched it.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/build/onnxruntime-web DESTINATION ${CMAKE_INSTALL_DATADIR}/facet
        COMPONENT program OPTIONAL)
install(EXPORT facet-targets NAMESPACE facet:: DESTINATION ${FACET_PACKAGE_FOLDER} COMPONENT development)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/facet-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/facet-config.cmake cmake/facet_torch.cmake ${PROJECT_BINARY_DIR}/facet-config-version.cmake
        DESTINATION ${FACET_PACKAGE_FOLDER} COMPONENT development)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The Facet developers <facet@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME facet)
# Debian's LibTorch on the reference BLAS takes 3.5 times as long.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "libopenblas0-openmp, fonts-dejavu-core")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libfacet-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libtorch-dev, libfmt-dev, nlohmann-json3-dev, libpng-dev, libjpeg-dev, zlib1g-dev, libvips-dev, libfreetype-dev")
if(FACET_HAS_PYTHON)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-facet)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.11), python3 (<< 3.12), python3-numpy")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "libopenblas0-openmp, python3-pil")
endif()
include(CPack)
