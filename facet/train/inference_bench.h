// A benchmark of what a trained model is used for: the codes of images, samples, the bound, and
// importance bounds, in images or draws per second. Each is what the commands do, until its results
// are on the host. Pixels are read from the host for codes; bounds have them on the GPU, as
// `facet eval` does. docs/speed.md explains the numbers.
#pragma once

#include "facet/train/bench_case.h"

namespace facet {

/// The machine, the case and the rates; the keys are stable. Of the options the batch,
/// labels, exchange and steps do not matter.
Json measure_inference(const BenchOptions& options);

}  // namespace facet
