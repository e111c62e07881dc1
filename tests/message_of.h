// The error message of an action that must fail.
#pragma once

#include <functional>
#include <string>

#include "facet/core/error.h"

namespace facet {

/// The message of the Error that `action` throws, or "no error".
inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace facet
