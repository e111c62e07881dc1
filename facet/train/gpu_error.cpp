#include "facet/train/gpu_error.h"

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"

namespace facet {

bool is_gpu_error(const std::string& text) {
  for (const char* sign :
       {"CUDA error", "CUDA driver error", "cuDNN error", "CUBLAS_STATUS", "CUDNN_STATUS"})
    if (text.find(sign) != std::string::npos) return true;
  return false;
}

void throw_gpu_error(const c10::Error& error, const std::string& doing, const std::string& run,
                     const std::string& checkpoint, const std::string& command) {
  const std::string text = error.what_without_backtrace();
  throw Error(
      {.doing = doing,
       .object = run,
       .found = fmt::format("a GPU that stopped working ({})", text.substr(0, text.find('\n'))),
       .expected = "a working GPU",
       .cause = fmt::format("the last good checkpoint, at {}, is unchanged; continue with: {}",
                            checkpoint, command)});
}

}  // namespace facet
