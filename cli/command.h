// What the commands share: how each registers itself, the device option, opening a run, and the
// notices that go to the terminal.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "facet/core/device.h"
#include "facet/core/tensor.h"
#include "facet/eval/bounds.h"
#include "facet/eval/evaluation_classifier.h"
#include "facet/model/vae.h"
#include "facet/train/config.h"
#include "facet/train/run_folder.h"

namespace facet {

/// Each adds one command to the program; its callback does the work.
void add_bench_command(CLI::App& program);
void add_clusters_command(CLI::App& program);
void add_edit_command(CLI::App& program);
void add_eval_command(CLI::App& program);
void add_grid_command(CLI::App& program);
void add_import_command(CLI::App& program);
void add_info_command(CLI::App& program);
void add_reconstruct_command(CLI::App& program);
void add_report_command(CLI::App& program);
void add_sample_command(CLI::App& program);
void add_serve_command(CLI::App& program);
void add_sweep_command(CLI::App& program);
void add_train_command(CLI::App& program);

/// Adds `--device auto|cpu|cuda`.
void add_device_option(CLI::App& command, std::string& device);

/// Adds an option that takes one value each time it is given, so that it swallows no image.
CLI::Option* add_repeated_option(CLI::App& command, const std::string& name,
                                 std::vector<std::string>& values, const std::string& help);

/// A run with its model, ready to use.
struct LoadedRun {
  RunFolder folder;
  Config config;
  std::shared_ptr<Vae> model;
};
LoadedRun load_run(const std::filesystem::path& path, torch::Device device);

/// An Error where the images of a pack are not of the shape that the model was made for.
void require_shape(const Pack& pack, const Vae& model, const std::string& object);

/// An evaluation as lines for a person.
void print_evaluation(const Evaluation& evaluation);
void print_classifier_report(const ClassifierReport& report);

}  // namespace facet
