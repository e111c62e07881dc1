// The device to compute on, chosen by name.
#pragma once

#include <string>

namespace c10 {
struct Device;
}

namespace facet {

/// "cpu", "cuda", or "auto" for the GPU where there is one. An Error for "cuda" where there is
/// none.
c10::Device choose_device(const std::string& text);

}  // namespace facet
