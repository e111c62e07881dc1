# All dependencies come from the system; nothing is downloaded.

# With FACET_CUDA, LibTorch is the one inside Python's torch, unless CMAKE_PREFIX_PATH names another.
option(FACET_CUDA "Build against a LibTorch with CUDA" OFF)
if(FACET_CUDA AND NOT CMAKE_PREFIX_PATH)
  execute_process(COMMAND python3 -c "import torch; print(torch.utils.cmake_prefix_path)"
                  OUTPUT_VARIABLE CMAKE_PREFIX_PATH OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
if(FACET_CUDA)
  include(cuda)
  facet_enable_cuda()
  set(facet_cuda_flags "${CMAKE_CUDA_FLAGS}")
endif()
find_package(Torch REQUIRED)
if(FACET_CUDA)
  set(CMAKE_CUDA_FLAGS "${facet_cuda_flags}")  # without LibTorch's additions
endif()
if(FACET_CUDA AND NOT TORCH_CUDA_LIBRARIES)
  message(FATAL_ERROR "FACET_CUDA is on, but the LibTorch in ${TORCH_INSTALL_PREFIX} is built without CUDA")
endif()
if(FACET_CUDA AND Torch_VERSION AND Torch_VERSION VERSION_LESS 2.1)
  message(FATAL_ERROR "FACET_CUDA is on, but the LibTorch in ${TORCH_INSTALL_PREFIX} is ${Torch_VERSION}: "
                      "capturing CUDA graphs needs 2.1 or later")
endif()
find_package(fmt REQUIRED)
# A CUDA LibTorch has its own fmt headers, which do not match the system's libfmt.
set(FACET_FMT $<IF:$<BOOL:${FACET_CUDA}>,fmt::fmt-header-only,fmt::fmt>)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(ZLIB REQUIRED)

# Text in pictures is drawn by FreeType; without it by a bitmap font of our own, which has ASCII only. The
# library by its path, so that the installed package finds it without looking for FreeType again.
find_package(Freetype QUIET)
if(FREETYPE_FOUND)
  set(FACET_FONT_LIBRARIES ${FREETYPE_LIBRARIES})
  set_source_files_properties(facet/report/freetype_font.cpp PROPERTIES
    INCLUDE_DIRECTORIES "${FREETYPE_INCLUDE_DIRS}" SKIP_PRECOMPILE_HEADERS ON)
else()
  message(STATUS "FreeType not found: text in pictures is ASCII only")
  list(APPEND FACET_ABSENT facet/report/freetype_font)
  set(FACET_FONT_LIBRARIES "")
endif()

find_package(Threads REQUIRED)
# The threads of our own loops; LibTorch brings the library.
find_package(OpenMP QUIET COMPONENTS CXX)
if(NOT OpenMP_CXX_FOUND)
  message(STATUS "OpenMP not found: exact updates of mixtures use one thread")
endif()
include(${CMAKE_CURRENT_LIST_DIR}/facet_torch.cmake)

# tcmalloc makes a training step on the CPU a fifth faster; sanitizers have their own malloc.
find_library(TCMALLOC_LIBRARY NAMES tcmalloc_minimal)
if(TCMALLOC_LIBRARY AND NOT FACET_SANITIZE)
  set(FACET_MALLOC -Wl,--push-state,--no-as-needed ${TCMALLOC_LIBRARY} -Wl,--pop-state)
else()
  set(FACET_MALLOC "")
endif()

# Without Boost's headers (Asio and Beast) everything but `facet serve` builds.
find_package(Boost 1.74 QUIET CONFIG)
set(FACET_HAS_HTTP ${Boost_FOUND})
if(NOT FACET_HAS_HTTP)
  message(STATUS "Boost 1.74 or later not found: building without `facet serve`")
  list(APPEND FACET_ABSENT facet/serve/http_server)
endif()

# Without libvips everything builds but what reads pictures: `facet import images`, and images of one's own in other
# commands and in the explorer.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(VIPS QUIET vips>=8.14)
endif()
if(VIPS_FOUND)
  set(FACET_VIPS_OPTIONS ${VIPS_CFLAGS_OTHER})
  foreach(folder ${VIPS_INCLUDE_DIRS})
    list(APPEND FACET_VIPS_OPTIONS -isystem${folder})
  endforeach()
  set_source_files_properties(facet/data/image_read.cpp PROPERTIES
    COMPILE_OPTIONS "${FACET_VIPS_OPTIONS}" SKIP_PRECOMPILE_HEADERS ON)
else()
  message(STATUS "libvips 8.14 or later not found: building without a reader of pictures")
  list(APPEND FACET_ABSENT facet/data/image_read)
endif()

# Training over several processes: c10d, with Gloo between CPUs and NCCL between GPUs where LibTorch has them and their own
# headers are there too, which LibTorch's include. Without Gloo, CPUs exchange through c10d's store.
option(FACET_RANKS "Let several processes train one model" ON)
set(FACET_C10D torch/csrc/distributed/c10d)
find_path(FACET_C10D_FOLDER ${FACET_C10D}/TCPStore.hpp PATHS ${TORCH_INCLUDE_DIRS} NO_DEFAULT_PATH)
find_path(FACET_GLOO_FOLDER gloo/transport/device.h PATHS ${TORCH_INCLUDE_DIRS} NO_DEFAULT_PATH)
set(FACET_HAS_RANKS OFF)
set(FACET_RANK_FILES rank_watch rank_join store_exchange gloo_exchange nccl_exchange)
if(FACET_C10D_FOLDER AND FACET_RANKS)
  set(FACET_HAS_RANKS ON)
else()
  message(STATUS "c10d not found in LibTorch, or FACET_RANKS is off: a model is trained by one process")
  list(APPEND FACET_ABSENT facet/core/ranks)
endif()
if(FACET_HAS_RANKS AND NOT (FACET_GLOO_FOLDER AND EXISTS ${FACET_C10D_FOLDER}/${FACET_C10D}/ProcessGroupGloo.hpp))
  message(STATUS "Gloo's headers not found: ranks exchange through the store, which suits few of them")
  list(APPEND FACET_ABSENT facet/core/gloo_exchange)
endif()
if(FACET_HAS_RANKS AND FACET_CUDA)
  # The version that LibTorch was built with: beside its headers, or in the Python package that it depends on; else that of
  # the system or of the CUDA toolkit, which the program compares with LibTorch's when it starts.
  find_path(FACET_NCCL_FOLDER nccl.h PATHS ${TORCH_INCLUDE_DIRS} ${TORCH_INSTALL_PREFIX}/../nvidia/nccl
            ${TORCH_INSTALL_PREFIX}/../nvidia/cu13 PATH_SUFFIXES include NO_DEFAULT_PATH)
  find_path(FACET_NCCL_FOLDER nccl.h PATHS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES include)
endif()
if(FACET_HAS_RANKS AND FACET_CUDA AND FACET_NCCL_FOLDER AND EXISTS ${FACET_C10D_FOLDER}/${FACET_C10D}/ProcessGroupNCCL.hpp)
  set_source_files_properties(facet/core/nccl_exchange.cpp PROPERTIES
    COMPILE_DEFINITIONS USE_C10D_NCCL COMPILE_OPTIONS "-isystem${FACET_NCCL_FOLDER}" SKIP_PRECOMPILE_HEADERS ON)
elseif(FACET_HAS_RANKS)
  if(FACET_CUDA)
    message(STATUS "NCCL's headers not found: what ranks on GPUs exchange goes through the host")
  endif()
  list(APPEND FACET_ABSENT facet/core/nccl_exchange)
endif()

# The scan of an index has instructions of its own for x86; other processors take the plain loop.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(APPEND FACET_ABSENT facet/search/fast_scan_avx2)
else()
  set_source_files_properties(facet/search/fast_scan_avx2.cpp PROPERTIES COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)
endif()
