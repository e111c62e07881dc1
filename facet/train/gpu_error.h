// A GPU that stops working in the middle of training.
#pragma once

#include <string>

#include "facet/core/tensor.h"

namespace facet {

/// Whether the text of a LibTorch error is about the GPU itself.
bool is_gpu_error(const std::string& text);

/// Throws the Error for the user: what was being done on which run, where the last checkpoint is,
/// and the command that continues from it.
[[noreturn]] void throw_gpu_error(const c10::Error& error, const std::string& doing,
                                  const std::string& run, const std::string& checkpoint,
                                  const std::string& command);

}  // namespace facet
