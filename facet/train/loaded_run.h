// A run with its model, ready to use.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "facet/model/refine_request.h"
#include "facet/train/config.h"
#include "facet/train/run_folder.h"

namespace facet {

struct Pack;
class Refiner;
struct Refinement;
class Vae;

struct LoadedRun {
  RunFolder folder;
  Config config;
  std::shared_ptr<Vae> model;
};

/// Where a run's model computes.
struct ComputePlace {
  std::string device = "auto";     ///< as for choose_device()
  std::string precision = "tf32";  ///< what networks multiply on a GPU: fp32, tf32 or bf16
  int64_t local_rank = 0;
};

/// Lets our kernels run the networks of a model that is not trained any more, where they run on its
/// device and the precision is not fp32.
void use_kernels(Vae& model, const std::string& precision);

/// The run in a folder, or one of its model files (RUN/best.safetensors), with the model on its
/// device.
LoadedRun load_run(const std::filesystem::path& path, const ComputePlace& place);

/// The refiner of the run, on the model's device, if the pictures are to be refined; else none.
/// Throws an Error if the run has none, or one that belongs to another model, or one without the
/// guidance that was chosen. `refiner` is that of the run, if it was read before.
Refinement load_refinement(const LoadedRun& run, const RefineChoice& choice,
                           std::shared_ptr<const Refiner> refiner = nullptr);

/// Throws an Error that names `object` if the images of a pack do not have the model's shape.
void require_shape(const Pack& pack, const Vae& model, const std::string& object);

}  // namespace facet
