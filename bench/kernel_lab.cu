// The lab of the pointwise and prior kernels, without LibTorch. Every kernel is checked against
// plain float64 code on odd sizes, with outputs that begin as NaN and guard zones around every
// buffer, must give the same bits twice, and is timed as a node of a replayed graph. One line each;
// the exit status says whether all agree.
//   nvcc -std=c++17 -O3 -arch=sm_90 -I. bench/kernel_lab.cu
//     facet/cuda/{adam,latent,likelihood,prior,random,sums}.cu -o kernel_lab
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "facet/cuda/adam.h"
#include "facet/cuda/latent.h"
#include "facet/cuda/likelihood.h"
#include "facet/cuda/prior.h"
#include "facet/cuda/random.h"
#include "facet/cuda/sums.h"

using namespace facet::cuda;

namespace {

void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

bool all_agree = true;
cudaStream_t stream;

/// Numbers on the card between two guard zones that nothing may write to.
template <typename Scalar>
class Buffer {
 public:
  /// Begins as NaN (all bits set).
  explicit Buffer(size_t count) : count_(count) {
    require(cudaMalloc(&base_, bytes() + 2 * guard), "cudaMalloc");
    require(cudaMemset(base_, 0xff, bytes() + 2 * guard), "cudaMemset");
  }
  explicit Buffer(const std::vector<Scalar>& values) : Buffer(values.size()) { set(values); }
  Buffer(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept : count_(other.count_), base_(other.base_) {
    other.base_ = nullptr;
  }
  ~Buffer() {
    if (base_) cudaFree(base_);
  }

  Scalar* get() const { return reinterpret_cast<Scalar*>(base_ + guard); }
  operator Scalar*() const { return get(); }
  void set(const std::vector<Scalar>& values) {
    require(cudaMemcpy(get(), values.data(), bytes(), cudaMemcpyHostToDevice), "copy to the card");
  }
  std::vector<Scalar> host() const {
    std::vector<unsigned char> all(bytes() + 2 * guard);
    require(cudaMemcpy(all.data(), base_, all.size(), cudaMemcpyDeviceToHost), "copy back");
    const auto touched = [](unsigned char byte) { return byte != 0xff; };
    if (std::any_of(all.begin(), all.begin() + guard, touched) ||
        std::any_of(all.end() - guard, all.end(), touched)) {
      std::printf("  a guard zone was written to\n");
      all_agree = false;
    }
    std::vector<Scalar> values(count_);
    std::memcpy(values.data(), all.data() + guard, bytes());
    return values;
  }

 private:
  static constexpr size_t guard = 256;
  size_t bytes() const { return count_ * sizeof(Scalar); }
  size_t count_;
  unsigned char* base_ = nullptr;
};

std::mt19937_64 engine(7);
template <typename Scalar>
std::vector<Scalar> normals(size_t count, double scale = 1, double shift = 0) {
  std::normal_distribution<double> normal;
  std::vector<Scalar> values(count);
  for (Scalar& value : values) value = static_cast<Scalar>(shift + scale * normal(engine));
  return values;
}
template <typename Scalar>
std::vector<Scalar> uniforms(size_t count, double low, double high) {
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<Scalar> values(count);
  for (Scalar& value : values) value = static_cast<Scalar>(uniform(engine));
  return values;
}

/// Largest |found - expected| / (1 + |expected|); NaN counts as infinite.
template <typename Found, typename Expected>
double error(const std::vector<Found>& found, const std::vector<Expected>& expected) {
  double largest = found.size() == expected.size() ? 0 : INFINITY;
  for (size_t i = 0; i < found.size() && i < expected.size(); ++i) {
    const double difference =
        std::fabs(static_cast<double>(found[i]) - static_cast<double>(expected[i])) /
        (1 + std::fabs(static_cast<double>(expected[i])));
    largest = std::max(largest, std::isnan(difference) ? INFINITY : difference);
  }
  return largest;
}

void report(const std::string& name, double found, double allowed) {
  const bool agrees = found <= allowed;
  all_agree = all_agree && agrees;
  std::printf("%-58s %s  error %.1e (allowed %.0e)\n", name.c_str(), agrees ? "ok  " : "FAIL",
              found, allowed);
}
void report(const std::string& name, bool holds) { report(name, holds ? 0 : 1, 0); }

void wait() {
  require(cudaGetLastError(), "launch");
  require(cudaStreamSynchronize(stream), "kernel");
}

/// Microseconds of one call inside a replayed graph of many.
void time(const std::string& name, const std::function<void()>& call) {
  constexpr int calls = 50, replays = 21;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  for (int i = 0; i < calls; ++i) call();
  require(cudaStreamEndCapture(stream, &graph), "capture");
  require(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> times;
  for (int i = 0; i < replays; ++i) {
    cudaEventRecord(begin, stream);
    require(cudaGraphLaunch(executable, stream), "replay");
    cudaEventRecord(end, stream);
    require(cudaEventSynchronize(end), "replay");
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, begin, end);
    times.push_back(1000 * milliseconds / calls);
  }
  std::sort(times.begin(), times.end());
  std::printf("%-58s time  %.2f us\n", name.c_str(), times[replays / 2]);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
}

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

void check_random() {
  // The known answer of Random123 for a key and a counter of zero.
  report("philox: known answer",
         philox(0, 0, 0) == std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const uint64_t key = 0x0123456789abcdefull;
  const int64_t step = 41;
  const Buffer<int64_t> counter(std::vector<int64_t>{step});
  for (const int64_t count : {1, 5, 1003}) {
    const auto size = static_cast<size_t>(count);
    std::vector<double> uniform(size), normal(size), wide_uniform(size), wide_normal(size);
    for (size_t i = 0; i < size; ++i) {
      const auto words = philox(key, step, i / 4);
      uniform[i] = std::ldexp(static_cast<double>(words[i % 4] >> 8), -24);
      const size_t pair = i % 4 / 2 * 2;
      // As the card sees it: the uniform rounded to float32.
      const double u = std::fma(static_cast<float>(words[pair]), 0x1p-32f, 0x1p-33f);
      const double radius = std::sqrt(-2 * std::log(static_cast<double>(static_cast<float>(u)))),
                   angle = M_PI * static_cast<double>(static_cast<float>(words[pair + 1])) / 0x1p31;
      normal[i] = radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
      const auto wide = philox(key, step, i / 2);
      const auto unit = [&](size_t at) {
        return std::ldexp(
            static_cast<double>(((static_cast<uint64_t>(wide[at]) << 32) | wide[at + 1]) >> 11),
            -53);
      };
      wide_uniform[i] = unit(i % 2 * 2);
      const double wide_radius = std::sqrt(-2 * std::log(1 - unit(0)));
      wide_normal[i] =
          wide_radius * (i % 2 == 0 ? std::cos(2 * M_PI * unit(2)) : std::sin(2 * M_PI * unit(2)));
    }
    const std::string name = " of " + std::to_string(count);
    const Buffer<float> a(size), b(size);
    const Buffer<double> c(size), d(size);
    fill_uniform(a, count, key, counter, stream);
    fill_normal(b, count, key, counter, stream);
    fill_uniform(c, count, key, counter, stream);
    fill_normal(d, count, key, counter, stream);
    wait();
    report("uniform, float32" + name, error(a.host(), uniform), 0);
    report("normal, float32" + name, error(b.host(), normal), 2e-6);
    report("uniform, float64" + name, error(c.host(), wide_uniform), 0);
    report("normal, float64" + name, error(d.host(), wide_normal), 1e-13);
  }
  const Buffer<float> out(4096);
  time("normal, float32 of 4096", [&] { fill_normal(out, 4096, key, counter, stream); });
}

void check_latent() {
  const int64_t images = 7, latents = 13, count = images * latents;
  const uint64_t key = 99;
  const Buffer<int64_t> counter(std::vector<int64_t>{3});
  const auto head = normals<float>(2 * count, 6);  // beyond the bounds now and then
  const auto of_mean = normals<float>(count), of_spread = normals<float>(count),
             of_z = normals<float>(count), of_kl = normals<float>(images);
  const Buffer<float> noise(count), d_head(head), d_of_mean(of_mean), d_of_spread(of_spread),
      d_of_z(of_z), d_of_kl(of_kl), mean(count), spread(count), z(count), gradient(2 * count),
      half(2 * count), again(count), spread_gradient(count), kl(images), kl_mean(count),
      kl_spread(count);
  const LatentShape shape{images, latents, -8.f, 5.f, key, counter};
  fill_normal(noise, count, key, counter, stream);
  split_encoding(d_head, mean, spread, z, shape, stream);
  split_encoding_gradient(d_head, d_of_mean, d_of_spread, d_of_z, gradient, shape, stream);
  split_encoding_gradient(d_head, nullptr, d_of_spread, nullptr, half, shape, stream);
  sample_latent(mean, spread, again, count, key, counter, stream);
  sample_latent_gradient(spread, d_of_z, spread_gradient, count, key, counter, stream);
  standard_normal_kl(mean, spread, kl, images, latents, stream);
  standard_normal_kl_gradient(mean, spread, d_of_kl, 1, kl_mean, kl_spread, images, latents,
                              stream);
  wait();
  const auto drawn = noise.host();
  std::vector<double> e_mean(count), e_spread(count), e_z(count), e_gradient(2 * count),
      e_half(2 * count), e_sample(count), e_kl(images), e_kl_mean(count), e_kl_spread(count);
  for (int64_t b = 0; b < images; ++b)
    for (int64_t d = 0; d < latents; ++d) {
      const int64_t i = b * latents + d, at = 2 * b * latents + d;
      const double m = head[at], raw = head[at + latents], v = std::clamp(raw, -8.0, 5.0);
      const double sigma = std::exp(0.5 * v), inside = raw >= -8 && raw <= 5;
      e_mean[i] = m, e_spread[i] = v, e_z[i] = m + sigma * drawn[i];
      e_sample[i] = 0.5 * of_z[i] * sigma * drawn[i];
      e_gradient[at] = static_cast<double>(of_mean[i]) + of_z[i];
      e_gradient[at + latents] = inside * (of_spread[i] + e_sample[i]);
      e_half[at] = 0, e_half[at + latents] = inside * of_spread[i];
      e_kl[b] += 0.5 * (m * m + std::exp(v) - 1 - v);
      e_kl_mean[i] = of_kl[b] * m, e_kl_spread[i] = 0.5 * of_kl[b] * (std::exp(v) - 1);
    }
  report("encoding: mean", error(mean.host(), e_mean), 0);
  report("encoding: log variance", error(spread.host(), e_spread), 0);
  report("encoding: draw", error(z.host(), e_z), 1e-6);
  report("encoding: gradient of all", error(gradient.host(), e_gradient), 1e-6);
  report("encoding: gradient of the log variance alone", error(half.host(), e_half), 0);
  report("latent draw", error(again.host(), e_z), 1e-6);
  report("latent draw: gradient", error(spread_gradient.host(), e_sample), 1e-6);
  report("KL to N(0, I)", error(kl.host(), e_kl), 1e-6);
  report("KL to N(0, I): gradient by the mean", error(kl_mean.host(), e_kl_mean), 1e-6);
  report("KL to N(0, I): gradient by the log variance", error(kl_spread.host(), e_kl_spread), 1e-6);

  const Buffer<float> big_head(normals<float>(2 * 4096)), a(4096), b(4096), c(4096), g(8192);
  const LatentShape big{64, 64, -12.f, 8.f, key, counter};
  time("encoding with draw, 64 x 64", [&] { split_encoding(big_head, a, b, c, big, stream); });
  time("encoding with draw, gradient, 64 x 64",
       [&] { split_encoding_gradient(big_head, a, b, c, g, big, stream); });
}

void check_likelihood(bool gaussian, bool channels_last, int64_t images, int64_t channels,
                      int64_t pixels, bool timed) {
  const int64_t numbers = gaussian ? 2 * channels : channels, size = numbers * pixels;
  const auto x = uniforms<float>(images * channels * pixels, gaussian ? -1 : 0, 1);
  const auto output = normals<float>(images * size, 4);
  const auto of_density = normals<float>(images);
  const Buffer<float> d_x(x), d_output(output), d_of_density(of_density), density(images),
      derivative(images * size), gradient(images * size);
  const ImageLayout rows{size, pixels, 1}, inside{size, 1, numbers};
  const LikelihoodShape shape{
      images, channels, pixels, {channels * pixels, pixels, 1}, channels_last ? inside : rows};
  const auto call = [&] {
    if (gaussian)
      gaussian_log_density(d_x, d_output, density, derivative, 0.01f, 0.4f, shape, stream);
    else
      bernoulli_log_density(d_x, d_output, density, derivative, shape, stream);
  };
  const std::string name = std::string(gaussian ? "gaussian" : "bernoulli") +
                           (channels_last ? ", channels last, " : ", ") + std::to_string(images) +
                           " x " + std::to_string(channels) + " x " + std::to_string(pixels);
  const auto back = [&] {
    scale_images(derivative, d_of_density, 1, gradient, images, size, stream);
  };
  call();
  back();
  wait();
  std::vector<double> e_density(images), e_derivative(images * size), e_gradient(images * size);
  for (int64_t b = 0; b < images; ++b)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < pixels; ++p) {
        const auto& o = shape.output;
        const int64_t at = b * o.image + c * o.channel + p * o.pixel,
                      other = at + channels * o.channel;
        const double value = x[(b * channels + c) * pixels + p];
        if (gaussian) {
          const double sigmoid = 1 / (1 + std::exp(-static_cast<double>(output[other])));
          const double deviation = 0.01 + 0.39 * sigmoid;
          const double scaled = (value - output[at]) / deviation;
          e_density[b] -= 0.5 * scaled * scaled + std::log(deviation) + 0.5 * std::log(2 * M_PI);
          e_derivative[at] = scaled / deviation;
          e_derivative[other] = (scaled * scaled - 1) / deviation * 0.39 * sigmoid * (1 - sigmoid);
        } else {
          const double l = output[at];
          e_density[b] += l * value - std::max(l, 0.0) - std::log1p(std::exp(-std::fabs(l)));
          e_derivative[at] = value - 1 / (1 + std::exp(-l));
        }
      }
  for (int64_t i = 0; i < images * size; ++i)
    e_gradient[i] = e_derivative[i] * of_density[i / size];
  report(name + ": log density", error(density.host(), e_density), 1e-5);
  report(name + ": derivative", error(derivative.host(), e_derivative), 1e-5);
  report(name + ": gradient", error(gradient.host(), e_gradient), 1e-5);
  if (!timed) return;
  time(name, call);
  time(name + ", gradient", back);
}

void check_pixels() {
  std::vector<uint8_t> pixels(1003);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 7);
  const Buffer<uint8_t> d_pixels(pixels);
  const Buffer<float> x(pixels.size());
  from_pixels(d_pixels, x, 1003, static_cast<float>(2.0 / 255), -1.0f, stream);
  wait();
  std::vector<float> expected;
  for (const uint8_t pixel : pixels) {
    volatile float product = static_cast<float>(pixel) * static_cast<float>(2.0 / 255);
    expected.push_back(product + -1.0f);
  }
  report("pixels to units", error(x.host(), expected), 0);
}

void check_adam(int64_t count, double largest, bool timed) {
  const auto size = static_cast<size_t>(count);
  const auto p = normals<float>(size), g = normals<float>(size), m = normals<float>(size, 0.1),
             v = uniforms<float>(size, 0, 1);
  const Buffer<float> d_p(p), d_g(g), d_m(m), d_v(v);
  const Buffer<uint16_t> shadow(size);
  const Buffer<double> partials(norm_partials()), norm(1), rate(std::vector<double>{0.01});
  const Buffer<int64_t> step(std::vector<int64_t>{3});
  const AdamSettings settings{0.9, 0.999, 1e-8, largest, rate, step, norm};
  gradient_norm(d_g, count, partials, norm, stream);
  adam_step(d_p, d_g, d_m, d_v, shadow, count, settings, stream);
  wait();
  double length = 0;
  for (const float value : g) length += static_cast<double>(value) * value;
  length = std::sqrt(length);
  const double shortening = largest > 0 ? std::min(1.0, largest / length) : 1;
  std::vector<double> e_p(size), e_m(size), e_v(size), e_shadow(size), found_shadow(size);
  const auto moved = d_p.host();
  const auto bits = shadow.host();
  for (size_t i = 0; i < size; ++i) {
    const double own = shortening * g[i];
    e_m[i] = 0.9 * m[i] + 0.1 * own;
    e_v[i] = 0.999 * v[i] + 0.001 * own * own;
    e_p[i] = p[i] - 0.01 / (1 - std::pow(0.9, 3)) * e_m[i] /
                        (std::sqrt(e_v[i] / (1 - std::pow(0.999, 3))) + 1e-8);
    const uint32_t wide = static_cast<uint32_t>(bits[i]) << 16;
    float narrow;
    std::memcpy(&narrow, &wide, 4);
    found_shadow[i] = std::fabs(narrow - moved[i]) <= std::fabs(moved[i]) / 256 ? 0 : 1;
  }
  const std::string name = "adam, " + std::to_string(count) + (largest > 0 ? ", shortened" : "");
  report(name + ": norm", error(norm.host(), std::vector<double>{length}), 1e-7);
  report(name + ": parameters", error(moved, e_p), 1e-6);
  report(name + ": first moment", error(d_m.host(), e_m), 1e-6);
  report(name + ": second moment", error(d_v.host(), e_v), 1e-6);
  report(name + ": shadow", error(found_shadow, e_shadow), 0);
  if (!timed) return;
  time(name, [&] { adam_step(d_p, d_g, d_m, d_v, shadow, count, settings, stream); });
  time(name + ", norm", [&] { gradient_norm(d_g, count, partials, norm, stream); });
}

void check_sums() {
  const auto a = normals<float>(67);
  const auto b = normals<double>(67);
  const std::vector<int64_t> labels = {-1, 3, 0, -1, 5};
  const Buffer<float> d_a(a);
  const Buffer<double> d_b(b), sums(std::vector<double>{1, 2, 3, 4}), loss(1),
      weight(std::vector<double>{0.25}), gradient(std::vector<double>{2.0}), derivatives(2);
  const Buffer<int64_t> d_labels(labels);
  const Buffer<float> small(2);
  double mean_a = 0, mean_b = 0;
  for (const float value : a) mean_a += value / 67.0;
  for (const double value : b) mean_b += value / 67.0;
  Terms metrics = {};
  metrics.count = 5;
  metrics.term[0] = {nullptr, 0, 0, Number::float32, Summary::sum, 1, nullptr, 0};
  metrics.term[1] = {d_a.get(), 67, 1, Number::float32, Summary::mean, 1, nullptr, 1};
  metrics.term[2] = {d_b.get(), 67, 1, Number::float64, Summary::sum, 1, nullptr, 2};
  metrics.term[3] = {d_labels.get(), 5, 1, Number::int64, Summary::known, 1, nullptr, 3};
  metrics.term[4] = {d_b.get(), 34, 2, Number::float64, Summary::mean, 1, weight, 1};
  Terms objective = {};
  objective.count = 2;
  objective.term[0] = {d_a.get(), 67, 1, Number::float32, Summary::mean, -1, nullptr, 0};
  objective.term[1] = {d_b.get(), 67, 1, Number::float64, Summary::mean, 1, weight, 0};
  add_terms(sums, metrics, false, stream);
  add_terms(loss, objective, true, stream);
  term_derivatives(gradient, objective, derivatives, small, stream);
  wait();
  double every_second = 0;
  for (size_t i = 0; i < 67; i += 2) every_second += b[i] / 34.0;
  report("sums of a metrics line",
         error(sums.host(),
               std::vector<double>{2, 2 + mean_a + 0.25 * every_second, 3 + 67 * mean_b, 7}),
         1e-12);
  report("loss", error(loss.host(), std::vector<double>{-mean_a + 0.25 * mean_b}), 1e-12);
  const std::vector<double> expected = {-2.0 / 67, 0.5 / 67};
  report("loss: derivatives", error(derivatives.host(), expected), 1e-15);
  report("loss: derivatives in float32", error(small.host(), expected), 1e-7);
  time("loss of three terms", [&] { add_terms(loss, objective, true, stream); });
}

double digamma_reference(double x) {
  long double sum = 0, y = x;
  for (; y < 40; y += 1) sum -= 1 / y;
  const long double z = 1 / (y * y);
  return static_cast<double>(
      sum + std::log(y) - 0.5L / y -
      z * (1.0L / 12 - z * (1.0L / 120 - z * (1.0L / 252 - z * (1.0L / 240 - z / 132)))));
}

/// One factor on the card with all the room it needs, and what plain code says of it.
struct Factor {
  int64_t B, K, D, row, begin;
  bool labelled;
  std::vector<double> mean, variance, log_variance;  // [B, D] as the card reads them
  std::vector<double> l1, l2, l3, l4, counts;
  std::vector<int64_t> labels;
  Buffer<double> d1, d2, d3, d4, d_counts, log_normal, log_weights, tile_sums, responsibilities,
      kl_z, kl_r, label_log_likelihood, coefficients, partials;
  Buffer<unsigned> tickets;
  Buffer<int64_t> d_labels;

  static std::vector<int64_t> some_labels(int64_t count, int64_t values) {
    std::vector<int64_t> result(static_cast<size_t>(count));
    for (int64_t b = 0; b < count; ++b)
      result[static_cast<size_t>(b)] = b % 3 == 1 ? (b * 5) % values : -1;
    return result;
  }

  Factor(int64_t images, int64_t components, int64_t dimensions, int64_t row_length,
         int64_t first_column, bool with_labels, const std::vector<float>& all_means,
         const std::vector<float>& all_spreads)
      : B(images),
        K(components),
        D(dimensions),
        row(row_length),
        begin(first_column),
        labelled(with_labels),
        labels(some_labels(images, components)),
        d1(K * D),
        d2(K * D),
        d3(K * D),
        d4(K * D),
        d_counts(K),
        log_normal(B * K),
        log_weights(K),
        tile_sums(tile_numbers(B, K)),
        responsibilities(B * K),
        kl_z(B),
        kl_r(B),
        label_log_likelihood(B),
        coefficients(2 * K * D),
        partials(std::max<int64_t>(1, partial_numbers(B, K, D))),
        tickets(ticket_numbers(B)),
        d_labels(labels) {
    for (int64_t b = 0; b < B; ++b)
      for (int64_t d = 0; d < D; ++d) {
        const size_t at = static_cast<size_t>(b * row + begin + d);
        mean.push_back(all_means[at]);
        log_variance.push_back(all_spreads[at]);
        variance.push_back(std::exp(static_cast<double>(all_spreads[at])));
      }
    const auto m = normals<double>(K * D), s = uniforms<double>(K * D, 0.5, 30),
               a = uniforms<double>(K * D, 0.01, 25), b = uniforms<double>(K * D, 0.5, 10);
    counts = uniforms<double>(K, 0.05, 50);
    for (int64_t i = 0; i < K * D; ++i) {
      l1.push_back(a[i] - 0.5);
      l2.push_back(-(b[i] + 0.5 * s[i] * m[i] * m[i]));
      l3.push_back(s[i] * m[i]);
      l4.push_back(-0.5 * s[i]);
    }
    reset();
  }

  void reset() { d1.set(l1), d2.set(l2), d3.set(l3), d4.set(l4), d_counts.set(counts); }

  PriorFactor pointers(const void* means, const void* spreads, int64_t row_length) {
    PriorFactor factor = {};
    factor.components = K, factor.dimensions = D;
    factor.mean = means, factor.spread = spreads, factor.row = row_length;
    factor.log_alpha = d1, factor.alpha = d2, factor.alpha_mu = d3, factor.alpha_mu2 = d4;
    factor.counts = d_counts;
    factor.labels = labelled ? d_labels.get() : nullptr, factor.labels_stride = 1;
    factor.log_normal = log_normal, factor.log_weights = log_weights;
    factor.tile_sums = tile_sums, factor.partials = partials, factor.tickets = tickets;
    factor.responsibilities = responsibilities;
    factor.kl_z = kl_z, factor.kl_r = kl_r, factor.label_log_likelihood = label_log_likelihood;
    return factor;
  }
};

/// What plain float64 code says, by the formulas of facet/prior.
struct Expected {
  std::vector<double> gamma, kl_z, kl_r, label, kl_mean, kl_spread, label_mean, label_spread;
  std::vector<double> l1, l2, l3, l4, counts;  // after the natural-gradient step
};
Expected expect(const Factor& f, double scale, double rho, const double (&h)[5]) {
  const int64_t B = f.B, K = f.K, D = f.D;
  Expected e;
  std::vector<double> precision(K * D), slope(K * D), constant(K), weight(K);
  double total = 0;
  for (const double count : f.counts) total += count;
  for (int64_t k = 0; k < K; ++k) {
    weight[k] = digamma_reference(f.counts[k]) - digamma_reference(total);
    for (int64_t d = 0; d < D; ++d) {
      const int64_t i = k * D + d;
      const double s = -2 * f.l4[i], m = f.l3[i] / s, a = f.l1[i] + 0.5,
                   b = -f.l2[i] - 0.5 * s * m * m;
      precision[i] = a / b;
      slope[i] = m * a / b;
      constant[k] +=
          0.5 * (digamma_reference(a) - std::log(b) - std::log(2 * M_PI) - 1 / s - m * m * a / b);
    }
  }
  e.gamma.resize(B * K);
  std::vector<double> counts(K), first(K * D), second(K * D), score(K), allocation(K);
  for (int64_t b = 0; b < B; ++b) {
    const double *mean = &f.mean[b * D], *variance = &f.variance[b * D];
    double highest = -INFINITY, sum = 0, entropy = 0;
    for (int64_t k = 0; k < K; ++k) {
      score[k] = constant[k];
      for (int64_t d = 0; d < D; ++d)
        score[k] += mean[d] * slope[k * D + d] -
                    0.5 * (mean[d] * mean[d] + variance[d]) * precision[k * D + d];
      highest = std::max(highest, score[k] + weight[k]);
    }
    for (int64_t k = 0; k < K; ++k) sum += std::exp(score[k] + weight[k] - highest);
    const double log_sum = highest + std::log(sum);
    const int64_t label = f.labelled ? f.labels[b] : -1;
    double kl_z = 0, kl_r = 0;
    for (int64_t k = 0; k < K; ++k) {
      allocation[k] = std::exp(score[k] + weight[k] - log_sum);
      const double gamma = label >= 0 ? (k == label) : allocation[k];
      e.gamma[b * K + k] = gamma;
      kl_z -= gamma * score[k];
      if (gamma > 0) kl_r += gamma * (std::log(gamma) - weight[k]);
      counts[k] += gamma;
      if (gamma == 0) continue;
      for (int64_t d = 0; d < D; ++d) {
        first[k * D + d] += gamma * mean[d];
        second[k * D + d] += gamma * (mean[d] * mean[d] + variance[d]);
      }
    }
    std::vector<double> of_mean(D), of_variance(D), free_mean(D), free_variance(D);
    for (int64_t k = 0; k < K; ++k) {
      const double gamma = e.gamma[b * K + k];
      for (int64_t d = 0; d < D; ++d) {
        const double by_mean = slope[k * D + d] - mean[d] * precision[k * D + d],
                     by_variance = -0.5 * precision[k * D + d];
        of_mean[d] += gamma * by_mean;
        of_variance[d] += gamma * by_variance;
        free_mean[d] += allocation[k] * by_mean;
        free_variance[d] += allocation[k] * by_variance;
      }
    }
    for (int64_t d = 0; d < D; ++d) {
      entropy += 0.5 * (f.log_variance[b * D + d] + std::log(2 * M_PI) + 1);
      e.kl_mean.push_back(-of_mean[d]);
      e.kl_spread.push_back(-variance[d] * of_variance[d] - 0.5);
      e.label_mean.push_back(label >= 0 ? of_mean[d] - free_mean[d] : 0);
      e.label_spread.push_back(label >= 0 ? variance[d] * (of_variance[d] - free_variance[d]) : 0);
    }
    e.kl_z.push_back(kl_z - entropy);
    e.kl_r.push_back(kl_r);
    e.label.push_back(label >= 0 ? score[label] + weight[label] - log_sum : 0);
  }
  const auto step = [&](double from, double to) { return from + rho * (to - from); };
  for (int64_t k = 0; k < K; ++k) {
    const double held = scale * counts[k];
    e.counts.push_back(step(f.counts[k], h[4] + held));
    for (int64_t d = 0; d < D; ++d) {
      const int64_t i = k * D + d;
      e.l1.push_back(step(f.l1[i], h[2] + 0.5 * held - 0.5));
      e.l2.push_back(step(f.l2[i], -(h[3] + 0.5 * h[1] * h[0] * h[0] + 0.5 * scale * second[i])));
      e.l3.push_back(step(f.l3[i], h[1] * h[0] + scale * first[i]));
      e.l4.push_back(step(f.l4[i], -0.5 * (h[1] + held)));
    }
  }
  return e;
}

struct FactorSize {
  int64_t components, dimensions;
  bool labelled;
};

/// Cuts factor f's columns out of a [B, Z] result.
std::vector<float> columns(const Factor& f, const std::vector<float>& all) {
  std::vector<float> own;
  for (int64_t b = 0; b < f.B; ++b)
    for (int64_t d = 0; d < f.D; ++d) own.push_back(all[b * f.row + f.begin + d]);
  return own;
}

void check_prior(const std::string& name, int64_t B, const std::vector<FactorSize>& sizes) {
  int64_t Z = 0;
  for (const FactorSize& size : sizes) Z += size.dimensions;
  const auto means = normals<float>(B * Z), spreads = normals<float>(B * Z, 0.7, -1.5);
  const Buffer<float> d_means(means), d_spreads(spreads), kl_mean(B * Z), kl_spread(B * Z),
      label_mean(B * Z), label_spread(B * Z), mean_gradient(B * Z), spread_gradient(B * Z);
  std::vector<Factor> factors;
  factors.reserve(sizes.size());
  PriorBatch batch = {};
  batch.count = static_cast<int>(sizes.size()), batch.images = B;
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); begin += sizes[i++].dimensions) {
    factors.emplace_back(B, sizes[i].components, sizes[i].dimensions, Z, begin, sizes[i].labelled,
                         means, spreads);
    Factor& f = factors.back();
    batch.factor[i] = f.pointers(d_means + begin, d_spreads + begin, Z);
    PriorFactor& factor = batch.factor[i];
    factor.kl_mean = kl_mean + begin, factor.kl_spread = kl_spread + begin;
    factor.label_mean = label_mean + begin, factor.label_spread = label_spread + begin;
    factor.coefficients = f.coefficients;
  }
  const double scale = 7.5, rho = 0.3, hyper[5] = {0.2, 1.5, 0.02, 0.03, 0.7};
  std::vector<Expected> expected;
  for (const Factor& f : factors) expected.push_back(expect(f, scale, rho, hyper));

  const auto of_kl = normals<double>(B), of_label = normals<double>(B);
  const Buffer<double> d_of_kl(of_kl), d_of_label(of_label);
  TermGradients gradient = {};
  for (size_t i = 0; i < factors.size(); ++i) {
    gradient.kl_z[i] = d_of_kl, gradient.label[i] = d_of_label;
    gradient.kl_z_stride[i] = gradient.label_stride[i] = 1;
    gradient.mean[i] = mean_gradient + factors[i].begin;
    gradient.spread[i] = spread_gradient + factors[i].begin;
  }
  prior_terms(batch, Encodings::log_variances, stream);
  prior_terms_gradient(batch, gradient, stream);
  wait();
  double gamma = 0, kl = 0, label = 0, by_kl = 0, by_label = 0, back = 0;
  for (size_t i = 0; i < factors.size(); ++i) {
    const Factor& f = factors[i];
    const Expected& e = expected[i];
    gamma = std::max(gamma, error(f.responsibilities.host(), e.gamma));
    kl = std::max({kl, error(f.kl_z.host(), e.kl_z), error(f.kl_r.host(), e.kl_r)});
    label = std::max(label, error(f.label_log_likelihood.host(), e.label));
    by_kl = std::max({by_kl, error(columns(f, kl_mean.host()), e.kl_mean),
                      error(columns(f, kl_spread.host()), e.kl_spread)});
    by_label = std::max({by_label, error(columns(f, label_mean.host()), e.label_mean),
                         error(columns(f, label_spread.host()), e.label_spread)});
    std::vector<double> e_mean, e_spread;
    for (int64_t j = 0; j < f.B * f.D; ++j) {
      e_mean.push_back(of_kl[j / f.D] * e.kl_mean[j] + of_label[j / f.D] * e.label_mean[j]);
      e_spread.push_back(of_kl[j / f.D] * e.kl_spread[j] + of_label[j / f.D] * e.label_spread[j]);
    }
    back = std::max({back, error(columns(f, mean_gradient.host()), e_mean),
                     error(columns(f, spread_gradient.host()), e_spread)});
  }
  // The variance is rounded to float32 once, as in the plain code: 1e-7 of the scores' large terms.
  report(name + ": responsibilities", gamma, 1e-5);
  report(name + ": KL", kl, 1e-6);
  report(name + ": label's log likelihood", label, 1e-5);
  report(name + ": derivatives of KL[z]", by_kl, 2e-5);
  report(name + ": derivatives of the label's", by_label, 2e-5);
  report(name + ": gradient", back, 2e-5);

  const auto once = factors.back().responsibilities.host();
  const auto once_kl = kl_mean.host();
  prior_terms(batch, Encodings::log_variances, stream);
  wait();
  const auto twice = factors.back().responsibilities.host();
  const auto twice_kl = kl_mean.host();
  report(name + ": the same bits twice",
         std::memcmp(once.data(), twice.data(), once.size() * sizeof(double)) == 0 &&
             std::memcmp(once_kl.data(), twice_kl.data(), once_kl.size() * sizeof(float)) == 0);

  const Buffer<double> d_rho(std::vector<double>{rho});
  const NaturalStep step{scale, d_rho, hyper[0], hyper[1], hyper[2], hyper[3], hyper[4]};
  const auto updated = [&](const char* what, double allowed) {
    double worst = 0;
    for (size_t i = 0; i < factors.size(); ++i) {
      const Factor& f = factors[i];
      const Expected& e = expected[i];
      worst = std::max({worst, error(f.d1.host(), e.l1), error(f.d2.host(), e.l2),
                        error(f.d3.host(), e.l3), error(f.d4.host(), e.l4),
                        error(f.d_counts.host(), e.counts)});
    }
    report(name + what, worst, allowed);
    for (Factor& f : factors) f.reset();
  };
  PriorBatch bare = batch;  // without terms
  for (size_t i = 0; i < factors.size(); ++i) {
    PriorFactor& factor = bare.factor[i];
    factor.responsibilities = nullptr;
    factor.kl_z = factor.kl_r = factor.label_log_likelihood = nullptr;
    factor.kl_mean = factor.kl_spread = factor.label_mean = factor.label_spread = nullptr;
    factor.coefficients = factor.partials = nullptr;
    factor.tickets = nullptr;
  }
  prior_update(bare, Encodings::log_variances, step, stream);
  wait();
  updated(": update", 1e-5);

  std::vector<Buffer<double>> blocks;
  PriorBatch wide = batch;  // terms without derivatives
  for (size_t i = 0; i < factors.size(); ++i) {
    blocks.emplace_back(factors[i].mean);
    blocks.emplace_back(factors[i].variance);
    wide.factor[i].mean = blocks[2 * i].get(), wide.factor[i].spread = blocks[2 * i + 1].get();
    wide.factor[i].row = factors[i].D;
    wide.factor[i].kl_mean = wide.factor[i].kl_spread = nullptr;
    wide.factor[i].coefficients = nullptr;
  }
  prior_terms(wide, Encodings::variances, stream);
  prior_update(wide, Encodings::variances, step, stream);
  wait();
  updated(": update from float64", 1e-10);
  double wide_kl = 0;
  for (size_t i = 0; i < factors.size(); ++i)
    wide_kl = std::max({wide_kl, error(factors[i].kl_z.host(), expected[i].kl_z),
                        error(factors[i].kl_r.host(), expected[i].kl_r)});
  report(name + ": KL from float64", wide_kl, 1e-10);

  time(name + ": terms with derivatives",
       [&] { prior_terms(batch, Encodings::log_variances, stream); });
  time(name + ": gradient", [&] { prior_terms_gradient(batch, gradient, stream); });
  // A step of 0, so that a thousand of them leave the posterior as it is.
  const Buffer<double> zero(std::vector<double>{0});
  const NaturalStep still{scale, zero, hyper[0], hyper[1], hyper[2], hyper[3], hyper[4]};
  time(name + ": update", [&] { prior_update(bare, Encodings::log_variances, still, stream); });
}

}  // namespace

int main() {
  cudaDeviceProp properties;
  require(cudaGetDeviceProperties(&properties, 0), "finding a card");
  std::printf("%s, %d multiprocessors\n", properties.name, properties.multiProcessorCount);
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  check_random();
  check_latent();
  for (const bool gaussian : {false, true})
    for (const bool channels_last : {false, true}) {
      check_likelihood(gaussian, channels_last, 3, 3, 35, false);
      check_likelihood(gaussian, channels_last, 5, 1, 784, false);
    }
  check_likelihood(false, false, 64, 1, 784, true);
  check_likelihood(true, true, 64, 3, 4096, true);
  check_pixels();
  check_adam(1003, 0, false);
  check_adam(1003, 5, false);
  check_adam(4000000, 0, true);
  check_sums();
  check_prior("prior, 3 factors, B 9", 9, {{3, 5, false}, {70, 64, true}, {130, 67, true}});
  check_prior("prior, B 130, K 33, D 2", 130, {{33, 2, true}});
  check_prior("prior, B 1, K 1, D 1", 1, {{1, 1, false}});
  check_prior("prior, K 600 and K 9, B 9", 9, {{600, 7, true}, {9, 3, false}});
  check_prior("prior, K 2", 64, {{2, 64, false}});
  check_prior("prior, K 64", 64, {{64, 64, false}});
  check_prior("prior, K 512", 64, {{512, 64, false}});
  check_prior("prior, 4 factors of K 64, D 16", 64,
              {{64, 16, false}, {64, 16, false}, {64, 16, false}, {64, 16, false}});
  check_prior("prior, K 4096", 64, {{4096, 64, false}});
  check_prior("prior, K 65536", 64, {{65536, 64, false}});
  std::printf("%s\n", all_agree ? "all agree" : "SOME DISAGREE");
  return all_agree ? 0 : 1;
}
