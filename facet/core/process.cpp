#include "facet/core/process.h"

#include <cstdlib>
#include <thread>
#include <unistd.h>

#include <ATen/Context.h>
#include <ATen/Parallel.h>

namespace facet {

void use_all_processors() {
  const unsigned processors = std::thread::hardware_concurrency();
  if (std::getenv("OMP_NUM_THREADS") == nullptr && processors > 0)
    at::set_num_threads(static_cast<int>(processors));
}

void use_float32_convolutions() { at::globalContext().setAllowTF32CuDNN(false); }

LibraryFailure library_failure(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
  const bool memory = text.find("allocate memory") != std::string::npos ||
                      text.find("out of memory") != std::string::npos;
  return {text.substr(0, text.find('\n')), torch_error != nullptr && memory};
}

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

}  // namespace facet
