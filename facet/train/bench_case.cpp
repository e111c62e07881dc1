#include "facet/train/bench_case.h"

#include <ctime>
#include <fstream>

#include <fmt/format.h>
#include <torch/version.h>

#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/core/version.h"
#include "facet/cuda/gpu.h"

namespace facet {

namespace {

/// Values of the named factor where there are labels.
constexpr int64_t kLabelValues = 10;

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

}  // namespace

Config bench_config(const BenchOptions& options) {
  const bool large = options.network == "paper64";
  Config config;
  config.model.network.preset = options.network;
  config.model.likelihood.kind = large ? "gaussian" : "bernoulli";
  config.model.factors = {{"factor", options.components, large ? 320 : 64}};
  config.train.batch_size = options.batch;
  config.train.precision = options.precision;
  config.train.initialise.images = std::max<int64_t>(large ? 500 : 2000, options.components);
  if (options.labels) {
    config.model.factors = {{"named", kLabelValues, 16, "label", {}},
                            {"factor", options.components, large ? 304 : 48, "", {}}};
    config.train.initialise.untangle = false;  // minutes in 320 dimensions, before any step
    config.data.label_fraction = 0.1;
    config.train.joint.labelled_batch = options.batch;
    config.train.joint.pseudo_labels.weight = 1;
    config.train.joint.consistency_weight = 1;
  }
  return config;
}

FactorPosterior bench_posterior(const FactorOptions& factor, torch::Device device) {
  const torch::Tensor ones = torch::ones({factor.components, factor.dimensions},
                                         torch::TensorOptions().dtype(kFloat64).device(device));
  return FactorPosterior::from_mean(
      {standard_normal(Key(1), ones.sizes(), ones.options()), 100 * ones, 50 * ones, 50 * ones},
      torch::full({factor.components}, 100.0, ones.options()));
}

Pack random_pack(const BenchOptions& options) {
  const bool large = options.network == "paper64";
  const int64_t side = large ? 64 : 28, channels = large ? 3 : 1;
  const int64_t count = std::max<int64_t>(large ? 10000 : 50000, options.components);
  Pack pack;
  const torch::Tensor thousand =
      uniform(Key(1), {1000, channels, side, side}, {}).gt(0.87).to(kUInt8).mul_(255);
  pack.images = thousand.repeat({(count + 999) / 1000, 1, 1, 1}).slice(0, 0, count);
  pack.labels = torch::empty({count, 0}, kInt32);
  if (options.labels) {
    Property property{"label", {}};
    for (int64_t value = 0; value < kLabelValues; ++value)
      property.values.push_back(fmt::format("{}", value));
    pack.properties = {property};
    pack.labels = torch::arange(count, kInt32).remainder(kLabelValues).unsqueeze(1);
  }
  pack.split = torch::zeros({count}, kUInt8);
  return pack;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%F", std::gmtime(&now))};
}

void add_machine(Json& record, torch::Device device) {
  record["machine"] = {{"processor", processor_name()},
                       {"threads", torch::get_num_threads()},
                       {"gpu", device.is_cpu() ? Json() : Json(cuda::gpu_name(device))}};
  record["versions"] = {{"facet", version()}, {"libtorch", TORCH_VERSION}};
}

}  // namespace facet
