#include "facet/train/inference_bench.h"

#include <chrono>

#include "facet/core/device.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"
#include "facet/eval/bounds.h"
#include "facet/eval/importance.h"
#include "facet/model/generate.h"
#include "facet/search/image_codes.h"
#include "facet/train/loaded_run.h"

namespace facet {

namespace {

/// How much of each is done at a time.
struct Amounts {
  int64_t encoded, sampled, evaluated, weighted, draws;
};

Amounts amounts_of(const BenchOptions& options, torch::Device device) {
  const bool large = options.network == "paper64";
  if (device.is_cpu()) return large ? Amounts{20, 20, 20, 1, 20} : Amounts{1000, 1000, 500, 2, 500};
  return large ? Amounts{10'000, 5'000, 5'000, 20, 5'000}
               : Amounts{50'000, 50'000, 10'000, 200, 5'000};
}

/// Things per second: the median of three calls that do `count` each, after one that does not
/// count.
double rate(double count, torch::Device device, const std::function<void()>& call) {
  std::vector<double> seconds;
  for (int i = 0; i < 4; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    cuda::synchronize(device);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (i > 0) seconds.push_back(taken.count());
  }
  std::sort(seconds.begin(), seconds.end());
  return count / seconds[1];
}

}  // namespace

Json measure_inference(const BenchOptions& options) {
  const torch::Device device = choose_device(options.device);
  const Config config = bench_config(options);
  const Amounts amounts = amounts_of(options, device);
  Pack pack = random_pack(options);
  const auto first = [&](int64_t count) { return pack.images.slice(0, count); };
  Vae model(config.model, pack.shape(), Key(1));
  model.move_to(device);
  model.prior.posteriors.back() = bench_posterior(model.prior.factors.back(), device);
  use_kernels(model, options.precision);
  Json record;
  add_machine(record, device);
  record["case"] = {{"device", device.str()},
                    {"network", options.network},
                    {"precision", model.accelerated() ? options.precision : "fp32"},
                    {"components", options.components},
                    {"draws_per_image", amounts.draws}};
  const auto add = [&](const char* what, int64_t count, const std::function<void()>& call) {
    record["per_second"][what] = rate(static_cast<double>(count), device, call);
  };
  Pack encoded = pack;
  encoded.images = first(amounts.encoded);
  encoded.labels = pack.labels.slice(0, 0, amounts.encoded);
  encoded.split = pack.split.slice(0, 0, amounts.encoded);
  add("encoded", amounts.encoded,
      [&] { for_each_code(model, encoded, config.data, [](int64_t, const ImageCodes&) {}, {}); });
  add("sampled", amounts.sampled,
      [&] { decode_means(model, sample_latents(Key(2), model.prior, amounts.sampled).z); });
  ImageSet images;
  images.pixels = ImageRows(first(amounts.evaluated).to(device));
  images.labels = torch::empty({amounts.evaluated, 0}, kInt64).to(device);
  add("evaluated", amounts.evaluated, [&] { evaluate(model, images, {}, "test", {}); });
  const ImageRows weighted(first(amounts.weighted).to(device));
  add("importance_draws", amounts.weighted * amounts.draws,
      [&] { importance_bounds(model, weighted, amounts.draws, Key(3)); });
  return record;
}

}  // namespace facet
