# The target facet_torch: LibTorch as our code sees it. Also used by the installed package.
# System headers, so that their warnings are not ours; the old or new string ABI comes with the flags.
if(NOT TARGET facet_torch)
  add_library(facet_torch INTERFACE IMPORTED)
  # libstdc++ before LibTorch: the CUDA builds export an old std::filesystem of their own, and whoever
  # finds that one first crashes when it walks through a folder.
  target_link_libraries(facet_torch INTERFACE
    -Wl,--push-state,--no-as-needed -lstdc++ -Wl,--pop-state ${TORCH_LIBRARIES})
  target_include_directories(facet_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  separate_arguments(FACET_TORCH_FLAGS UNIX_COMMAND "${TORCH_CXX_FLAGS}")
  if(FACET_TORCH_FLAGS)
    target_compile_options(facet_torch INTERFACE ${FACET_TORCH_FLAGS})
  endif()
endif()
