// Times one training step of the paper's 28x28 model, batch 64, K = 64, on as many images as MNIST
// has, and prints one JSON object: milliseconds of a step of each phase and the peak memory.
//   bench_step [STEPS]
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sys/resource.h>

#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/process.h"
#include "facet/core/torch.h"
#include "facet/train/trainer.h"

namespace {

/// The median over `repeats` of a call's milliseconds, after a few calls to warm up.
template <class Call>
double median_milliseconds(int repeats, Call call) {
  for (int i = 0; i < 5; ++i) call();
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<size_t>(repeats / 2)];
}

facet::Pack random_pack(int64_t count) {
  facet::Pack pack;
  pack.images =
      facet::uniform(facet::Key(1), {count, 1, 28, 28}, {}).gt(0.87).to(facet::kUInt8) * 255;
  pack.labels = torch::empty({count, 0}, facet::kInt32);
  pack.split = torch::zeros({count}, facet::kUInt8);
  return pack;
}

}  // namespace

int main(int argc, char** argv) {
  facet::use_all_processors();
  const int steps = argc > 1 ? std::atoi(argv[1]) : 40;
  facet::Config config;
  config.model.network.preset = "paper28";
  config.train.initialise.images = 2000;
  const facet::ScratchFolder folder("facet-bench");
  facet::Trainer trainer(config, random_pack(50000), {folder.path()}, torch::kCPU, false, {});
  const double pretrain = median_milliseconds(steps, [&] { trainer.pretrain_step(); });
  trainer.place_components();
  const double initialise = median_milliseconds(steps, [&] { trainer.initialise_step(); });
  const double joint = median_milliseconds(steps, [&] { trainer.joint_step(); });

  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::cout << facet::Json{{"threads", torch::get_num_threads()},
                           {"pretrain_ms", pretrain},
                           {"initialise_ms", initialise},
                           {"joint_ms", joint},
                           {"peak_memory_mb", static_cast<double>(usage.ru_maxrss) / 1024.0}}
                   .dump()
            << '\n';
}
