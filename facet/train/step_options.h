// How the steps of a run are computed, in ways that do not change the results.
#pragma once

#include <memory>

namespace facet {

class Ranks;

struct StepOptions {
  bool capture = true;         ///< on a GPU: capture steps as CUDA graphs and replay them
  bool stream_images = false;  ///< keep pixels in host memory even if they fit on the GPU
  /// Those that compute them together; null: this one alone.
  std::shared_ptr<Ranks> ranks = {};
};

}  // namespace facet
