// facet.train and facet.write_pack. Training runs without Python's lock; it takes the lock for the
// caller's progress function, and a few times per second to see whether Ctrl-C was pressed.
#include <chrono>
#include <exception>
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "arrays.h"
#include "bindings.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/pack.h"
#include "facet/eval/bounds.h"
#include "facet/report/run_training.h"
#include "interruption.h"

namespace facet::python {

namespace py = pybind11;

namespace {

Config config_from(const std::string& json, const std::vector<std::string>& settings) {
  Json all = parse_config(json, "the config");
  for (const std::string& setting : settings) apply_setting(all, setting);
  Config config;
  read_options(config, all, "the config");
  return with_absolute_pack(config);
}

TrainingRequest request_for(const std::optional<std::string>& config,
                            const std::vector<std::string>& settings, const std::string& folder,
                            const std::string& device) {
  if (config) return {config_from(*config, settings), folder, device, false};
  const Config saved = with_absolute_pack(read_saved_config(RunFolder::open(folder).config()));
  const Config given = read_saved_config(RunFolder::open(folder).config(), settings);
  return {extended(saved, given), folder, device, true};
}

/// The evaluation as JSON. Without a config, the run in `folder` goes on.
std::string train(const std::optional<std::string>& config,
                  const std::vector<std::string>& settings, const std::string& folder,
                  const std::string& device, const py::object& progress) {
  const TrainingRequest request = request_for(config, settings, folder, device);
  Watch watch(progress);
  TrainingEvents events;
  events.training.report = [&](const StepReport& report) { watch.tell(to_record(report).dump()); };
  events.training.evaluated = [&](const Evaluation& evaluation, const StepReport& report) {
    Json record = to_record(report);
    record["evaluation"] = to_json(evaluation);
    watch.tell(record.dump());
  };
  events.training.notice = [&](const std::string& sentence) {
    watch.tell(Json{{"notice", sentence}}.dump());
  };
  events.training.stop = [&] { return watch.stop(); };
  events.started = [](const TrainingStart&) {};
  events.trained = [] {};
  std::optional<Evaluation> evaluation;
  {
    const py::gil_scoped_release release;
    evaluation = train_run(request, events);
  }
  watch.rethrow();
  return evaluation ? to_json(*evaluation).dump() : "{}";
}

using Properties = std::vector<std::pair<std::string, std::vector<std::string>>>;

void save_pack(const std::string& path, const py::object& pixels, const py::object& labels,
               const py::object& split, const Properties& properties, const std::string& origin) {
  Pack pack;
  pack.images = to_tensor(pixels, "images");
  pack.labels = to_tensor(labels, "labels");
  pack.split = to_tensor(split, "the split");
  for (const auto& [name, values] : properties) pack.properties.push_back({name, values});
  pack.origin = origin;
  const py::gil_scoped_release release;
  pack.validate(path);
  write_pack(path, pack);
}

}  // namespace

void bind_training(py::module_& module) {
  using py::arg;
  module.def("train", &train, arg("config"), arg("settings"), arg("folder"), arg("device"),
             arg("progress"));
  module.def("write_pack", &save_pack, arg("path"), arg("pixels"), arg("labels"), arg("split"),
             arg("properties"), arg("origin"));
}

}  // namespace facet::python
