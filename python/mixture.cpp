// The core of facet.FactorialMixture: mixtures of vectors, fitted without Python's lock.
#include <fstream>
#include <pybind11/stl.h>

#include <fmt/format.h>

#include "arrays.h"
#include "bindings.h"
#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/fit/fit_mixture.h"
#include "interruption.h"
#include "turns.h"

namespace facet::python {

namespace py = pybind11;

namespace {

FitConfig config_from(const std::string& json) {
  FitConfig config;
  read_options(config, parse_config(json, "FactorialMixture"), "FactorialMixture");
  return config;
}

/// int64 [N, I] labels, or none.
torch::Tensor labels_from(const py::object& labels) {
  return labels.is_none() ? torch::Tensor() : to_tensor(labels, "labels").to(kInt64);
}

/// A fitted mixture that one thread at a time uses.
class Mixture {
 public:
  Mixture(FitResult result) : fit_(std::move(result)) {}

  static std::shared_ptr<Mixture> fit(const std::string& json, const py::object& vectors,
                                      const py::object& labels) {
    const FitConfig config = config_from(json);
    const FitData data{to_tensor(vectors, "X"), labels_from(labels), {}, "X"};
    Watch watch{py::none()};
    FitCallbacks callbacks;
    callbacks.stop = [&] { return watch.stop(); };
    std::shared_ptr<Mixture> mixture;
    {
      const py::gil_scoped_release release;
      check_fit_data(config, data);
      mixture = std::make_shared<Mixture>(fit_mixture(config, data, callbacks));
    }
    watch.rethrow();
    return mixture;
  }

  static std::shared_ptr<Mixture> read(const std::string& path) {
    return std::make_shared<Mixture>(FitResult{read_mixture(path)});
  }

  void partial_fit(const py::object& batch, const py::object& labels, int64_t vectors, double rho) {
    const torch::Tensor rows = to_tensor(batch, "X"), known = labels_from(labels);
    turns_.take([&] {
      require_vectors(fit_.mixture, rows, "X");
      facet::partial_fit(fit_.mixture, rows, known, vectors, rho);
    });
  }

  py::dict predict(const py::object& vectors) {
    const torch::Tensor rows = to_tensor(vectors, "X");
    Prediction found;
    turns_.take([&] {
      require_vectors(fit_.mixture, rows, "X");
      found = facet::predict(fit_.mixture, rows);
    });
    py::dict result;
    result["components"] = to_array(found.components);
    result["log_density"] = to_array(found.log_density);
    return result;
  }

  py::list probabilities(const py::object& vectors) {
    const torch::Tensor rows = to_tensor(vectors, "X");
    std::vector<torch::Tensor> all;
    turns_.take([&] {
      require_vectors(fit_.mixture, rows, "X");
      for (size_t i = 0; i < fit_.mixture.mixture.size(); ++i)
        all.push_back(predict_probabilities(fit_.mixture, i, rows));
    });
    py::list result;
    for (const torch::Tensor& one : all) result.append(to_array(one));
    return result;
  }

  py::tuple sample(int64_t count, uint64_t seed) {
    torch::Tensor z, components;
    turns_.take([&] {
      z = sample_vectors(Key(seed), fit_.mixture, count);
      components = facet::predict(fit_.mixture, z).components;
    });
    return py::make_tuple(to_array(z), to_array(components));
  }

  double bound(const py::object& vectors) {
    const torch::Tensor rows = to_tensor(vectors, "X");
    double result = 0;
    turns_.take([&] {
      require_vectors(fit_.mixture, rows, "X");
      result = vector_bound(fit_.mixture, rows);
    });
    return result;
  }

  py::list factors() const {
    const FactorialMixture& prior = fit_.mixture.mixture;
    py::list result;
    for (size_t i = 0; i < prior.size(); ++i) {
      const NormalGamma own = components_of(fit_.mixture, i);
      py::dict entry;
      entry["name"] = prior.factors[i].name;
      entry["weights"] = to_array(prior.posteriors[i].expected_weights());
      entry["vectors"] = to_array(prior.held_images(i));
      entry["m"] = to_array(own.m);
      entry["s"] = to_array(own.s);
      entry["a"] = to_array(own.a);
      entry["b"] = to_array(own.b);
      entry["c"] = to_array(prior.posteriors[i].counts);
      result.append(entry);
    }
    return result;
  }

  double fitted_bound() const { return fit_.bound; }
  int64_t iterations() const { return fit_.iterations; }
  bool converged() const { return fit_.converged; }
  int64_t vectors() const { return fit_.mixture.vectors; }

  /// The file of the mixture, and what else was found, for pickle.
  py::tuple state() const {
    const ScratchFolder folder("facet-pickle");
    write_mixture(folder.path() / "mixture.safetensors", fit_.mixture);
    return py::make_tuple(
        py::bytes(read_text(folder.path() / "mixture.safetensors", "pickling a mixture")),
        fit_.bound, fit_.iterations, fit_.converged);
  }
  static std::shared_ptr<Mixture> from_state(const py::tuple& state) {
    const ScratchFolder folder("facet-pickle");
    const auto file = folder.path() / "mixture.safetensors";
    write_text(file, state[0].cast<std::string>(), "unpickling a mixture");
    return std::make_shared<Mixture>(FitResult{read_mixture(file), state[1].cast<double>(),
                                               state[2].cast<int64_t>(), state[3].cast<bool>()});
  }

 private:
  FitResult fit_;
  Turns turns_;
};

}  // namespace

void bind_mixture(py::module_& module) {
  using py::arg;
  py::class_<Mixture, std::shared_ptr<Mixture>>(module, "Mixture")
      .def_static("fit", &Mixture::fit, arg("config"), arg("vectors"), arg("labels"))
      .def_static("read", &Mixture::read, arg("path"))
      .def("partial_fit", &Mixture::partial_fit, arg("batch"), arg("labels"), arg("vectors"),
           arg("rho"))
      .def("predict", &Mixture::predict, arg("vectors"))
      .def("probabilities", &Mixture::probabilities, arg("vectors"))
      .def("sample", &Mixture::sample, arg("count"), arg("seed"))
      .def("bound", &Mixture::bound, arg("vectors"))
      .def_property_readonly("factors", &Mixture::factors)
      .def_property_readonly("fitted_bound", &Mixture::fitted_bound)
      .def_property_readonly("iterations", &Mixture::iterations)
      .def_property_readonly("converged", &Mixture::converged)
      .def_property_readonly("vectors", &Mixture::vectors)
      .def(py::pickle([](const Mixture& mixture) { return mixture.state(); },
                      [](const py::tuple& state) { return Mixture::from_state(state); }));
}

}  // namespace facet::python
