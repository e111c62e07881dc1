// Which processor computes, as a user asks for it.
#pragma once

#include <string>

namespace c10 {
struct Device;
}

namespace facet {

/// "cpu", "cuda", or "auto" for the GPU where there is one that our kernels run on. An Error where
/// "cuda" cannot be had.
c10::Device choose_device(const std::string& text);

}  // namespace facet
