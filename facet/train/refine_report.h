// The numbers of a metrics line of a refiner's training.
#pragma once

#include <cstdint>

namespace facet {

/// Averages over the steps since the last report.
struct RefineReport {
  int64_t step = 0, steps = 0;  ///< completed and total
  double loss = 0;              ///< of the flow of images
  double latent_loss = 0;       ///< of the flow of latent vectors
  double gradient_norm = 0, learning_rate = 0;
};

}  // namespace facet
