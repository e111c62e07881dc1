// facet_fuzz --target=NAME [libFuzzer's options and folders]. `--list` prints the targets, and
// `--seeds=FOLDER` writes the seeds of the one chosen.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>

#include <ATen/Parallel.h>

#include "tests/fuzz/fuzz_target.h"

namespace {
const facet::FuzzTarget* chosen = nullptr;
}

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  at::set_num_threads(1);
  std::string seeds;
  for (int i = 1; i < *count; ++i) {
    const std::string word = (*words)[i];
    if (word.rfind("--target=", 0) == 0) chosen = &facet::fuzz_target(word.substr(9));
    if (word.rfind("--seeds=", 0) == 0) seeds = word.substr(8);
    if (word == "--list") {
      for (const facet::FuzzTarget& target : facet::fuzz_targets()) std::puts(target.name.c_str());
      std::exit(0);
    }
  }
  if (chosen == nullptr) {
    std::fputs("facet_fuzz: --target=NAME is needed; --list prints the names\n", stderr);
    std::exit(2);
  }
  if (!seeds.empty()) {
    std::filesystem::create_directories(seeds);
    int number = 0;
    std::vector<std::string> all = chosen->seeds();
    for (const std::string& refused : facet::refused_inputs(chosen->name)) all.push_back(refused);
    for (const std::string& seed : all)
      std::ofstream(seeds + "/seed-" + std::to_string(number++), std::ios::binary) << seed;
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    chosen->run({reinterpret_cast<const char*>(data), size});
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "an exception that is no Error: %s\n", exception.what());
    std::abort();
  }
  return 0;
}
