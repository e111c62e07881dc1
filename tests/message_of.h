// What an action that must fail says.
#pragma once

#include <functional>
#include <string>

#include "facet/core/error.h"

namespace facet {

/// The Error's message, or "no error" where there was none.
inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace facet
