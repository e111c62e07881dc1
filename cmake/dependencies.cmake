# Everything Facet stands on, from the system; nothing is downloaded.

# With FACET_CUDA, LibTorch is the one that Python's torch carries, unless CMAKE_PREFIX_PATH names one.
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
                      "recording steps on a card needs 2.1 or later")
endif()
find_package(fmt REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Threads REQUIRED)
include(${CMAKE_CURRENT_LIST_DIR}/facet_torch.cmake)

# tcmalloc makes a training step on the CPU a fifth faster; sanitizers bring their own malloc.
find_library(TCMALLOC_LIBRARY NAMES tcmalloc_minimal)
if(TCMALLOC_LIBRARY AND NOT FACET_SANITIZE)
  set(FACET_MALLOC -Wl,--push-state,--no-as-needed ${TCMALLOC_LIBRARY} -Wl,--pop-state)
else()
  set(FACET_MALLOC "")
endif()

# Without Boost's headers (Asio and Beast) everything but `facet serve` builds.
find_package(Boost 1.74 QUIET CONFIG)
set(FACET_HAS_HTTP ${Boost_FOUND})
if(FACET_HAS_HTTP)
  set(FACET_HTTP_SERVER facet/serve/http_rules.cpp facet/serve/http_server.cpp facet/serve/http_text.cpp
      facet/serve/worker_threads.cpp)
else()
  message(STATUS "Boost 1.74 or later not found: building without `facet serve`")
  set(FACET_HTTP_SERVER facet/serve/http_server_absent.cpp)
endif()
