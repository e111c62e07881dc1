# Our kernels (FACET_CUDA): separate files, compiled by nvcc, that do not include LibTorch. LibTorch's CMake adds flags
# for every GPU it was built for to all CUDA code; our kernels are built only for the GPUs named here.
set(FACET_CUDA_ARCHITECTURES 90 CACHE STRING "GPU architectures to build kernels for, as in CMAKE_CUDA_ARCHITECTURES; 90 is H100 and H200")

macro(facet_enable_cuda)
  include(CheckLanguage)
  find_program(FACET_NVCC nvcc PATHS ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
  if(FACET_NVCC AND NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${FACET_NVCC})
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${FACET_CUDA_ARCHITECTURES})
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "FACET_CUDA is on, but no working nvcc was found on PATH or in /usr/local/cuda/bin: "
                        "install the CUDA toolkit or set CUDACXX to its nvcc")
  endif()
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
  add_executable(${name} ${ARGN} $<TARGET_OBJECTS:facet_kernels> $<TARGET_OBJECTS:facet_hopper_kernels>)
  facet_compile_kernels(${name} "${FACET_CUDA_ARCHITECTURES}")
endfunction()
