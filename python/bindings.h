// What module.cpp puts together.
#pragma once

#include <pybind11/pybind11.h>

namespace facet::python {

void bind_mixture(pybind11::module_& module);
void bind_model(pybind11::module_& module);
void bind_training(pybind11::module_& module);

}  // namespace facet::python
