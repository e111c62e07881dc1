// How much the samples of a run look like its images: what `facet eval --fidelity` adds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "facet/eval/fidelity.h"
#include "facet/model/refine_request.h"
#include "facet/train/loaded_run.h"

namespace facet {

struct Pack;

struct FidelityRequest {
  int64_t samples =
      5000;  ///< of every row; fewer where the split has less than twice as many images
  int64_t feature_steps = 1000;  ///< of the feature network's training, if the run has none yet
  RefineChoice refine;           ///< of refined samples, where the run has a refiner
  uint64_t seed = 1;
};

/// Compares half of a split's images with the other half, with decoded means of samples, and with
/// refined samples if the run has a refiner: in the features of a self-supervised network, which is
/// kept in the run, and, if the model has named factors, of an evaluation classifier. The result is
/// also written to the run, as fidelity.json.
Fidelity measure_run_fidelity(const LoadedRun& run, const Pack& pack, const std::string& split,
                              const FidelityRequest& request,
                              const std::function<void(const std::string&)>& notice);

}  // namespace facet
