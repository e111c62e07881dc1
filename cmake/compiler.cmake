# Compiler settings shared by the library, the program, the tests and the benchmarks.
set(FACET_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)

if(FACET_SANITIZE)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${FACET_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
  add_link_options(-fsanitize=${FACET_SANITIZE})
endif()

# For libFuzzer: every edge and comparison of our code is reported while it runs. Clang cannot read LibTorch 1.13 as C++20,
# so that GCC compiles and tests/fuzz/coverage.cpp hands what it reports to libFuzzer.
option(FACET_FUZZ "Build facet_fuzz, which tries damaged input of every kind" OFF)
if(FACET_FUZZ)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize-coverage=trace-pc,trace-cmp>")
endif()

# For scripts/coverage: the lines that ran. Atomic counters, because servers and loaders run threads.
option(FACET_COVERAGE "Count which lines run, for scripts/coverage" OFF)
if(FACET_COVERAGE)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:--coverage;-fprofile-update=atomic>")
  add_link_options(--coverage)
endif()
set(CMAKE_CXX_FLAGS_COVERAGE "-O0")  # a line that the optimiser has merged with another would be counted as theirs

# The arithmetic is inside LibTorch: more than -O1 costs a third more compile time without a gain. The files with loops
# of their own over pixels or weights say so in CMakeLists.txt and get -O2.
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")  # for sanitizers: lines of code in reports, in half the compile time

# A fast linker where there is one.
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1)
  add_link_options(-fuse-ld=mold)
endif()

# For whoever builds often: keeps what was compiled once. It makes a first build slower, so it is off by default.
option(FACET_CCACHE "Compile through ccache" OFF)
if(FACET_CCACHE)
  find_program(CCACHE_PROGRAM ccache REQUIRED)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${CCACHE_PROGRAM})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()
