// Ctrl-C and the caller's progress function, while the library works without Python's lock.
#pragma once

#include <chrono>
#include <exception>
#include <pybind11/pybind11.h>
#include <string>
#include <utility>

namespace facet::python {

namespace py = pybind11;

/// Ends the run, with everything saved, at Ctrl-C or at an exception of the progress function,
/// which goes on to the caller afterwards.
class Watch {
 public:
  explicit Watch(py::object progress) : progress_(std::move(progress)) {}

  void tell(const std::string& json) {
    if (failure_ || progress_.is_none()) return;
    const py::gil_scoped_acquire acquire;
    try {
      progress_(json);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  bool stop() {
    const auto now = std::chrono::steady_clock::now();
    if (!failure_ && now - looked_ > std::chrono::milliseconds(100)) {
      looked_ = now;
      const py::gil_scoped_acquire acquire;
      try {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      } catch (...) {
        failure_ = std::current_exception();
      }
    }
    return failure_ != nullptr;
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  py::object progress_;
  std::exception_ptr failure_;
  std::chrono::steady_clock::time_point looked_{};
};

}  // namespace facet::python
