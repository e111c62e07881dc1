# `cmake --install`, and the package for find_package(facet).
include(CMakePackageConfigHelpers)
set(FACET_PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/facet)
install(TARGETS facet EXPORT facet-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS facet_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY facet/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/facet FILES_MATCHING PATTERN "*.h")
install(EXPORT facet-targets NAMESPACE facet:: DESTINATION ${FACET_PACKAGE_FOLDER})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/facet-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/facet-config.cmake cmake/facet_torch.cmake ${PROJECT_BINARY_DIR}/facet-config-version.cmake
        DESTINATION ${FACET_PACKAGE_FOLDER})
