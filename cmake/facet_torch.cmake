# The target facet_torch: LibTorch as our code uses it. The installed package uses it too. Its headers are system
# headers, so that the compiler is silent about them; its flags select the old or the new string ABI.
if(NOT TARGET facet_torch)
  add_library(facet_torch INTERFACE IMPORTED)
  # libstdc++ before LibTorch: CUDA builds of LibTorch export an old std::filesystem, and a program that
  # links to that one crashes when it iterates over a folder.
  target_link_libraries(facet_torch INTERFACE
    -Wl,--push-state,--no-as-needed -lstdc++ -Wl,--pop-state ${TORCH_LIBRARIES})
  target_include_directories(facet_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  separate_arguments(FACET_TORCH_FLAGS UNIX_COMMAND "${TORCH_CXX_FLAGS}")
  if(FACET_TORCH_FLAGS)
    target_compile_options(facet_torch INTERFACE ${FACET_TORCH_FLAGS})
  endif()
endif()
