// Random draws against Philox and Box-Muller in plain code.
#include "bench/kernel_lab/lab.cuh"
#include "facet/cuda/random.h"

namespace facet::lab {

namespace {

std::vector<uint32_t> philox(uint64_t key, uint64_t step, uint64_t place) {
  uint32_t c[4] = {static_cast<uint32_t>(place), static_cast<uint32_t>(place >> 32),
                   static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)};
  uint32_t k[2] = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];
    const uint32_t next[4] = {
        static_cast<uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(b),
        static_cast<uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(a)};
    std::copy(next, next + 4, c);
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return {c, c + 4};
}

/// What element i of each kind of tensor must be.
struct Draw {
  double uniform, normal, wide_uniform, wide_normal;  ///< wide ones are float64
};
Draw expected_draw(uint64_t key, uint64_t step, size_t i) {
  Draw draw;
  const auto words = philox(key, step, i / 4);
  draw.uniform = std::ldexp(static_cast<double>(words[i % 4] >> 8), -24);
  const size_t pair = i % 4 / 2 * 2;
  // As the kernel computes it: the uniform rounded to float32.
  const float u = std::fma(static_cast<float>(words[pair]), 0x1p-32f, 0x1p-33f);
  const double radius = std::sqrt(-2 * std::log(static_cast<double>(u))),
               angle = M_PI * static_cast<double>(static_cast<float>(words[pair + 1])) / 0x1p31;
  draw.normal = radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));

  const auto wide = philox(key, step, i / 2);
  const auto unit = [&](size_t at) {
    const uint64_t bits = (static_cast<uint64_t>(wide[at]) << 32) | wide[at + 1];
    return std::ldexp(static_cast<double>(bits >> 11), -53);
  };
  draw.wide_uniform = unit(i % 2 * 2);
  const double wide_angle = 2 * M_PI * unit(2);
  draw.wide_normal = std::sqrt(-2 * std::log(1 - unit(0))) *
                     (i % 2 == 0 ? std::cos(wide_angle) : std::sin(wide_angle));
  return draw;
}

}  // namespace

void check_random(Lab& lab) {
  // The known answer of Random123 for a key and a counter of zero.
  lab.report(
      "philox: known answer",
      philox(0, 0, 0) == std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const uint64_t key = 0x0123456789abcdefull;
  const int64_t step = 41;
  const Buffer<int64_t> counter(std::vector<int64_t>{step});
  for (const int64_t count : {1, 5, 1003}) {
    const auto size = static_cast<size_t>(count);
    std::vector<double> uniform(size), normal(size), wide_uniform(size), wide_normal(size);
    for (size_t i = 0; i < size; ++i) {
      const Draw draw = expected_draw(key, step, i);
      uniform[i] = draw.uniform, normal[i] = draw.normal;
      wide_uniform[i] = draw.wide_uniform, wide_normal[i] = draw.wide_normal;
    }
    const std::string name = " of " + std::to_string(count);
    const Buffer<float> a(size), b(size);
    const Buffer<double> c(size), d(size);
    cuda::fill_uniform(a, count, key, counter, lab.stream());
    cuda::fill_normal(b, count, key, counter, lab.stream());
    cuda::fill_uniform(c, count, key, counter, lab.stream());
    cuda::fill_normal(d, count, key, counter, lab.stream());
    lab.wait();
    lab.report("uniform, float32" + name, error(a.host(), uniform), 0);
    lab.report("normal, float32" + name, error(b.host(), normal), 2e-6);
    lab.report("uniform, float64" + name, error(c.host(), wide_uniform), 0);
    lab.report("normal, float64" + name, error(d.host(), wide_normal), 1e-13);
  }
  const Buffer<float> out(4096);
  lab.time("normal, float32 of 4096",
           [&](cudaStream_t stream) { cuda::fill_normal(out, 4096, key, counter, stream); });
}

}  // namespace facet::lab
