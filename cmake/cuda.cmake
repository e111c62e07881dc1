# Our kernels (FACET_CUDA): separate files, compiled by nvcc, that do not include LibTorch. LibTorch's CMake adds flags
# for every GPU it was built for to all CUDA code; our kernels are built only for the GPUs named here.
set(FACET_CUDA_ARCHITECTURES native CACHE STRING
    "GPUs to build kernels for: native (those of this machine), all, or a list as in CMAKE_CUDA_ARCHITECTURES; 90 is H100 and H200")
# Code for each kind of GPU that NVIDIA has sold since the A100, and PTX, which the driver compiles for those between and
# after them.
set(FACET_ALL_ARCHITECTURES 80 86-real 89-real 90-real 100-real 120)

# Sets `result` to what FACET_CUDA_ARCHITECTURES stands for.
function(facet_cuda_architectures result)
  set(architectures ${FACET_CUDA_ARCHITECTURES})
  if(architectures STREQUAL "native")
    set(architectures "")
    get_filename_component(tools ${CMAKE_CUDA_COMPILER} DIRECTORY)
    foreach(query "${tools}/__nvcc_device_query" "nvidia-smi;--query-gpu=compute_cap;--format=csv,noheader")
      execute_process(COMMAND ${query} OUTPUT_VARIABLE found RESULT_VARIABLE status ERROR_QUIET)
      if(status EQUAL 0 AND NOT architectures)
        string(REPLACE "." "" found "${found}")
        string(REGEX MATCHALL "[0-9]+" architectures "${found}")
      endif()
    endforeach()
    list(REMOVE_DUPLICATES architectures)
    list(FILTER architectures EXCLUDE REGEX "^[1-7][0-9]$")  # too old for our kernels
    if(NOT architectures)
      set(architectures all)
      message(STATUS "No GPU of compute capability 8.0 or later here: kernels are built for all kinds, which takes a while; "
                     "-DFACET_CUDA_ARCHITECTURES=86 would build for 8.6 alone")
    endif()
  endif()
  if(architectures STREQUAL "all")
    # As many of them as this nvcc knows.
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE known)
    set(architectures "")
    foreach(architecture ${FACET_ALL_ARCHITECTURES})
      string(REGEX MATCH "^[0-9]+" number ${architecture})
      if(known MATCHES "compute_${number}[^0-9]")
        list(APPEND architectures ${architecture})
      endif()
    endforeach()
  endif()
  message(STATUS "Kernels are built for ${architectures}")
  set(${result} ${architectures} PARENT_SCOPE)
endfunction()

macro(facet_enable_cuda)
  include(CheckLanguage)
  find_program(FACET_NVCC nvcc PATHS ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
  if(FACET_NVCC AND NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${FACET_NVCC})
  endif()
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "FACET_CUDA is on, but no working nvcc was found on PATH or in /usr/local/cuda/bin: "
                        "install the CUDA toolkit or set CUDACXX to its nvcc")
  endif()
  facet_cuda_architectures(FACET_KERNEL_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES ${FACET_KERNEL_ARCHITECTURES})
  enable_language(CUDA)
endmacro()

function(facet_compile_kernels name architectures)
  set_target_properties(${name} PROPERTIES
    CUDA_ARCHITECTURES "${architectures}" CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE -lineinfo -Xcompiler=-Wall,-Wextra)
endfunction()

# Kernels as object files of their own library, for the architectures named.
function(facet_add_kernels name architectures)
  add_library(${name} OBJECT ${ARGN})
  facet_compile_kernels(${name} "${architectures}")
endfunction()

# A program that checks and times the library's kernels without LibTorch.
function(facet_add_lab name)
  add_executable(${name} ${ARGN} ${FACET_KERNEL_OBJECTS})
  facet_compile_kernels(${name} "${FACET_KERNEL_ARCHITECTURES}")
endfunction()
