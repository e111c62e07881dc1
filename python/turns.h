// One thread at a time, without Python's lock.
#pragma once

#include <mutex>
#include <pybind11/pybind11.h>

#include "facet/core/torch.h"

namespace facet::python {

/// Work on one object: other Python threads run meanwhile, and those that want the same object wait
/// their turn.
class Turns {
 public:
  template <typename Work>
  void take(const Work& work) {
    const pybind11::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    const torch::NoGradGuard no_gradient;
    work();
  }

 private:
  std::mutex mutex_;
};

}  // namespace facet::python
