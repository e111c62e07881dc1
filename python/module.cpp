// The extension module `_facet`: thin bindings, with errors as Python exceptions that have the same
// sentences. What people call is in facet/*.py, which brings arguments into one form first.
#include "bindings.h"
#include "facet/core/error.h"
#include "facet/core/version.h"

PYBIND11_MODULE(_facet, module) {
  module.doc() = "Bindings of the Facet library; use the package facet.";
  module.attr("__version__") = facet::version();
  pybind11::register_exception<facet::Error>(module, "Error", PyExc_ValueError);
  facet::python::bind_mixture(module);
  facet::python::bind_model(module);
  facet::python::bind_training(module);
}
