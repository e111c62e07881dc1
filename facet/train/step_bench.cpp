#include "facet/train/step_bench.h"

#include <chrono>
#include <map>
#include <sys/resource.h>

#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include "facet/core/device.h"
#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/rank_store.h"
#include "facet/core/ranks.h"
#include "facet/core/torch.h"
#include "facet/cuda/cuda_graph.h"
#include "facet/cuda/gpu.h"
#include "facet/train/bench_case.h"
#include "facet/train/inference_bench.h"
#include "facet/train/multiply_adds.h"
#include "facet/train/step_cost.h"
#include "facet/train/trainer.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

/// Times calls on a device. On a GPU many calls are issued before waiting for them, as in training;
/// on the CPU each call is timed.
class Stopwatch {
 public:
  Stopwatch(torch::Device device, int64_t calls) : device_(device) {
    at_once_ = device.is_cpu() ? 1 : std::max<int64_t>(1, calls / 10);
    times_ = (calls + at_once_ - 1) / at_once_;
    warm_up_ = device.is_cpu() ? std::min<int64_t>(3, calls) : 30;
  }

  /// The median time of a call in milliseconds, after a warm-up.
  double milliseconds(const std::function<void()>& call) const {
    for (int64_t i = 0; i < warm_up_; ++i) call();
    wait();
    std::vector<double> times;
    for (int64_t i = 0; i < times_; ++i) {
      const auto start = std::chrono::steady_clock::now();
      for (int64_t j = 0; j < at_once_; ++j) call();
      wait();
      const std::chrono::duration<double, std::milli> taken =
          std::chrono::steady_clock::now() - start;
      times.push_back(taken.count() / static_cast<double>(at_once_));
    }
    std::nth_element(times.begin(), times.begin() + times_ / 2, times.end());
    return times[static_cast<size_t>(times_ / 2)];
  }

 private:
  void wait() const { cuda::synchronize(device_); }

  torch::Device device_;
  int64_t at_once_, times_, warm_up_;
};

struct StepTimes {
  double pretrain = 0, initialise = 0, joint = 0;  ///< milliseconds
};

/// The only rank of a group of its own, with a store of its own.
struct SingleRank {
  RankStore store;
  std::shared_ptr<Ranks> ranks;

  explicit SingleRank(torch::Device device)
      : ranks(std::make_shared<Ranks>(RankPlace{.address = "127.0.0.1",
                                                .port = store.port(),
                                                .store_of_starter = true,
                                                .attempt = "0"},
                                      std::chrono::minutes(2), device)) {}
};

StepTimes time_steps(const Config& config, const Pack& pack, torch::Device device,
                     const Stopwatch& stopwatch, bool exchange) {
  const ScratchFolder folder("facet-bench");
  std::optional<SingleRank> single;
  if (exchange) single.emplace(device);
  const cuda::StreamScope stream(device);
  Trainer trainer(config, pack, {folder.path()}, device, false, {},
                  {.ranks = single ? single->ranks : nullptr});
  StepTimes times;
  times.pretrain = stopwatch.milliseconds([&] { trainer.pretrain_step(); });
  trainer.place_components();
  times.initialise = stopwatch.milliseconds([&] { trainer.initialise_step(); });
  times.joint = stopwatch.milliseconds([&] { trainer.joint_step(); });
  return times;
}

/// The prior's part of a joint step: its terms and their gradient, then the E-step and the
/// natural-gradient step. On a GPU it is a captured graph, like the joint step.
double time_prior(const Config& config, torch::Device device, const Stopwatch& stopwatch) {
  const FactorOptions& factor = config.model.factors.back();
  const auto options = torch::TensorOptions().dtype(kFloat64).device(device);
  const cuda::StreamScope stream(device);
  FactorialMixture mixture({factor}, {}, device);
  const Key key(1);
  mixture.posteriors[0] = bench_posterior(factor, device);
  const std::vector<int64_t> shape = {config.train.batch_size, factor.dimensions};
  const auto single = options.dtype(kFloat32);
  const torch::Tensor mean = standard_normal(key.fold("mean"), shape, single).requires_grad_();
  const torch::Tensor log_variance =
      standard_normal(key.fold("variance"), shape, single).requires_grad_();
  const NaturalGradient step{781.25, torch::full({}, 0.001, options)};
  cuda::CudaGraphCache graphs(device);
  const auto work = [&] {
    const FactorTerms terms =
        factor_terms(mixture, mean, log_variance, std::vector<FactorParameters>(1), {}).front();
    torch::autograd::grad({(terms.kl_z + terms.kl_r).sum()}, {mean, log_variance});
    torch::NoGradGuard no_gradient;
    natural_gradient_update(mixture, mean, log_variance, {}, step, {true});
  };
  return stopwatch.milliseconds([&] { graphs.step(0, work); });
}

/// The rates that LibTorch reaches on this machine with the simplest work.
struct Ceilings {
  double bytes = 0;  ///< per second, read and written by a large copy
  double product =
      0;  ///< operations per second of a large matrix product in the networks' precision
  /// The same as a convolution of one pixel, which on a CPU another library computes, and of
  /// nothing but multiply-adds in registers; 0 on a GPU.
  double convolution = 0, multiply_adds = 0;

  double operations() const { return std::max({product, convolution, multiply_adds}); }
};

double product_rate(int64_t side, torch::ScalarType type, torch::Device device,
                    const Stopwatch& stopwatch) {
  // Random numbers: with equal ones a GPU needs less power and is faster.
  const torch::Tensor a =
      standard_normal(Key(1), {side, side}, torch::TensorOptions().device(device)).to(type);
  torch::Tensor out = torch::empty_like(a);
  const auto length = static_cast<double>(side);
  return 2 * length * length * length /
         (1e-3 * stopwatch.milliseconds([&] { torch::mm_out(out, a, a); }));
}

/// That of a convolution of one pixel, with as many operations.
double convolution_rate(int64_t channels, const Stopwatch& stopwatch) {
  const int64_t side = 48;
  const torch::Tensor x = standard_normal(Key(1), {1, channels, side, side}, kFloat32)
                              .contiguous(torch::MemoryFormat::ChannelsLast),
                      weight = standard_normal(Key(2), {channels, channels, 1, 1}, kFloat32);
  torch::NoGradGuard no_gradient;
  return 2 * static_cast<double>(channels * channels * side * side) /
         (1e-3 * stopwatch.milliseconds([&] { torch::conv2d(x, weight); }));
}

Ceilings measure_ceilings(torch::Device device, const std::string& precision) {
  const bool gpu = !device.is_cpu();
  const Stopwatch stopwatch(device, gpu ? 50 : 7);
  const torch::Tensor from =
      torch::zeros({gpu ? int64_t{1} << 28 : int64_t{1} << 25}, torch::device(device));
  torch::Tensor to = torch::empty_like(from);
  Ceilings ceilings;
  ceilings.bytes = 2.0 * 4.0 * static_cast<double>(from.numel()) /
                   (1e-3 * stopwatch.milliseconds([&] { to.copy_(from); }));
  at::globalContext().setAllowTF32CuBLAS(precision == "tf32");
  ceilings.product = product_rate(
      gpu ? 8192 : 1536, precision == "bf16" ? torch::kBFloat16 : kFloat32, device, stopwatch);
  if (!gpu) {
    ceilings.convolution = convolution_rate(1024, stopwatch);
    ceilings.multiply_adds = multiply_add_rate();
  }
  return ceilings;
}

double peak_megabytes(torch::Device device) {
  if (!device.is_cpu()) return static_cast<double>(cuda::peak_memory(device)) / (1 << 20);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// By precision: they are the machine's, and the same for every case.
using KnownCeilings = std::map<std::string, Ceilings>;

Json measure_case(const BenchOptions& options, KnownCeilings& known) {
  const torch::Device device = choose_device(options.device);
  const int64_t steps = options.steps > 0 ? options.steps : device.is_cpu() ? 30 : 1000;
  const Config config = bench_config(options);
  const Pack pack = random_pack(options);
  const Stopwatch stopwatch(device, steps);
  const StepTimes times = time_steps(config, pack, device, stopwatch, options.exchange);
  const double peak = peak_megabytes(device);  // before measure_ceilings allocates memory
  const double prior = time_prior(config, device, stopwatch);
  const std::string precision = device.is_cpu() ? "fp32" : options.precision;
  if (!known.contains(precision)) known[precision] = measure_ceilings(device, precision);
  const Ceilings& ceilings = known[precision];
  Json record;
  add_machine(record, device);
  record["case"] = {
      {"device", device.str()},           {"network", options.network},
      {"precision", precision},           {"batch", options.batch},
      {"components", options.components}, {"dimensions", config.model.factors.back().dimensions},
      {"images", pack.count()},           {"steps", steps},
      {"labels", options.labels},         {"exchange", options.exchange}};
  record["step_ms"] = {
      {"pretrain", times.pretrain}, {"initialise", times.initialise}, {"joint", times.joint}};
  record["prior"] = {{"ms", prior}, {"share_of_joint", prior / times.joint}};
  record["ceilings"] = {{"gflop_per_second", 1e-9 * ceilings.operations()},
                        {"matrix_product_gflop", 1e-9 * ceilings.product},
                        {"convolution_gflop", 1e-9 * ceilings.convolution},
                        {"multiply_adds_gflop", 1e-9 * ceilings.multiply_adds},
                        {"gigabytes_per_second", 1e-9 * ceilings.bytes}};
  if (!options.labels) {  // what the terms of labels need besides is not counted
    const StepCost cost = joint_step_cost(config.model, pack.shape(), options.batch);
    const double operations = cost.operations() / (1e-3 * times.joint),
                 bytes = cost.bytes() / (1e-3 * times.joint);
    record["work_of_joint"] = {{"network_gflop", 1e-9 * cost.network_operations},
                               {"prior_gflop", 1e-9 * cost.prior_operations},
                               {"least_megabytes", 1e-6 * cost.bytes()}};
    record["achieved"] = {{"gflop_per_second", 1e-9 * operations},
                          {"gigabytes_per_second", 1e-9 * bytes}};
    record["share_of_ceiling"] = {{"operations", operations / ceilings.operations()},
                                  {"memory", bytes / ceilings.bytes}};
  }
  record["peak_memory_mb"] = peak;
  return record;
}

}  // namespace

Json measure_steps(const BenchOptions& options) {
  KnownCeilings known;
  return measure_case(options, known);
}

std::vector<BenchOptions> all_cases(const BenchOptions& like) {
  const bool cpu = choose_device(like.device).is_cpu();
  std::vector<BenchOptions> cases;
  const auto add = [&](const std::string& network, const std::string& precision, int64_t components,
                       bool labels, int64_t fewer_steps = 0) {
    BenchOptions options = like;
    options.network = network;
    options.precision = precision;
    options.components = components;
    options.labels = labels;
    if (options.steps == 0) options.steps = fewer_steps;
    cases.push_back(options);
  };
  const auto precisions =
      cpu ? std::vector<std::string>{"fp32"} : std::vector<std::string>{"fp32", "tf32", "bf16"};
  for (const std::string& precision : precisions) add("paper28", precision, 64, false);
  const std::string usual = cpu ? "fp32" : "tf32";
  add("paper28", usual, 512, false);
  if (!cpu) add("paper28", usual, 65536, false, 50);
  add("paper28", usual, 64, true);
  for (const std::string& precision : precisions)
    if (cpu || precision != "fp32")
      for (const bool labels : {false, true}) add("paper64", precision, 64, labels, cpu ? 5 : 0);
  return cases;
}

Json measure_all(const BenchOptions& like, const std::function<void(const Json&)>& measured) {
  Json all = {{"date", today()}, {"cases", Json::array()}, {"inference", Json::array()}};
  KnownCeilings known;
  const auto add = [&](const char* list, Json record) {
    for (const char* of_machine : {"machine", "versions"}) {
      all[of_machine] = record[of_machine];
      record.erase(of_machine);
    }
    all[list].push_back(record);
    measured(all);
  };
  const std::vector<BenchOptions> cases = all_cases(like);
  for (const BenchOptions& options : cases) {
    Json record = measure_case(options, known);
    record.erase("peak_memory_mb");
    add("cases", record);
  }
  for (const BenchOptions& options : cases)
    if (!options.labels && options.components <= 512) add("inference", measure_inference(options));
  return all;
}

}  // namespace facet
