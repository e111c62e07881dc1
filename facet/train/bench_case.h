// What benchmarks measure: the paper's two models on random images, and the machine that it is done
// on.
#pragma once

#include <cstdint>
#include <string>

#include "facet/core/options.h"
#include "facet/core/tensor.h"
#include "facet/data/pack.h"
#include "facet/prior/factorial_mixture.h"
#include "facet/train/config.h"

namespace facet {

struct BenchOptions {
  std::string network = "paper28";  ///< the paper's network: paper28 or paper64
  std::string device = "auto", precision = "tf32";
  int64_t components = 64, batch = 64;
  /// With a named factor, of whose labels a tenth is known, and with all terms of labels: a batch
  /// of labelled images, pseudo-labels and consistency.
  bool labels = false;
  bool exchange = false;  ///< as the only one of joined ranks, which exchanges with itself
  int64_t steps = 0;      ///< of each phase; 0: 30 on the CPU, 1000 on a GPU
};

/// One factor over all latent dimensions, or one besides a named one.
Config bench_config(const BenchOptions& options);

/// Components of the case's last factor, as if each had been fitted to a hundred images.
FactorPosterior bench_posterior(const FactorOptions& factor, torch::Device device);

/// As many images as MNIST's training set, or a part of CelebA: a thousand random ones again and
/// again, for their content does not affect the time.
Pack random_pack(const BenchOptions& options);

/// "2026-11-15", in UTC.
std::string today();

/// The keys `machine` and `versions`.
void add_machine(Json& record, torch::Device device);

}  // namespace facet
