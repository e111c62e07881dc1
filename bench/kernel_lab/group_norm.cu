// Group norm with modulation and SiLU, and its gradients, against plain float64 code.
#include "bench/kernel_lab/lab.cuh"
#include "facet/cuda/group_norm.h"

namespace facet::lab {

namespace {

constexpr double epsilon = 1e-5;
/// A bfloat16 has eight bits.
constexpr double rounding = 1.0 / 256;

uint16_t to_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}
double from_bits(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
std::vector<uint16_t> bf16(const std::vector<float>& values) {
  std::vector<uint16_t> result;
  for (const float value : values) result.push_back(to_bits(value));
  return result;
}
std::vector<double> numbers(const std::vector<uint16_t>& values) {
  std::vector<double> result;
  for (const uint16_t value : values) result.push_back(from_bits(value));
  return result;
}

struct NormInputs {
  cuda::GroupNormShape shape;
  bool modulated;
  std::vector<uint16_t> x, gradient;
  std::vector<float> weight, bias, modulation;

  NormInputs(Lab& lab, const cuda::GroupNormShape& s, bool m)
      : shape(s),
        modulated(m),
        x(bf16(lab.normals<float>(s.images * s.pixels * s.channels, 1.5, 0.7))),
        gradient(bf16(lab.normals<float>(s.images * s.pixels * s.channels))),
        weight(lab.normals<float>(s.channels)),
        bias(lab.normals<float>(s.channels)),
        modulation(lab.normals<float>(2 * s.images * s.channels)) {}

  double more(int64_t image, int64_t c) const {
    return modulated ? 1.0 + modulation[2 * image * shape.channels + c] : 1.0;
  }
  double added(int64_t image, int64_t c) const {
    return modulated ? modulation[(2 * image + 1) * shape.channels + c] : 0.0;
  }
};

/// What plain code makes of them.
struct NormExpected {
  std::vector<double> y, x_gradient, weight, bias, modulation;

  explicit NormExpected(const NormInputs& in)
      : y(in.x.size()),
        x_gradient(in.x.size()),
        weight(in.shape.images * in.shape.channels),
        bias(weight.size()),
        modulation(2 * weight.size()) {
    const int64_t size = in.shape.channels / in.shape.groups;
    for (int64_t image = 0; image < in.shape.images; ++image)
      for (int64_t group = 0; group < in.shape.groups; ++group) add(in, image, group * size, size);
  }

 private:
  /// The group of `size` channels from `first` on.
  void add(const NormInputs& in, int64_t image, int64_t first, int64_t size) {
    const int64_t channels = in.shape.channels, pixels = in.shape.pixels;
    const auto at = [&](int64_t p, int64_t c) { return (image * pixels + p) * channels + c; };
    const auto each = [&](const auto& work) {
      for (int64_t p = 0; p < pixels; ++p)
        for (int64_t c = first; c < first + size; ++c) work(at(p, c), c);
    };
    const double count = static_cast<double>(pixels * size);
    double mean = 0, variance = 0, inner = 0, product = 0;
    each([&](int64_t i, int64_t) { mean += from_bits(in.x[i]) / count; });
    each([&](int64_t i, int64_t) { variance += std::pow(from_bits(in.x[i]) - mean, 2) / count; });
    const double inverse = 1 / std::sqrt(variance + epsilon);
    std::vector<double> of_norm(in.x.size());
    each([&](int64_t i, int64_t c) {
      const double normed = (from_bits(in.x[i]) - mean) * inverse;
      const double plain = normed * in.weight[c] + in.bias[c];
      const double u = plain * in.more(image, c) + in.added(image, c), s = 1 / (1 + std::exp(-u));
      y[i] = in.shape.silu ? u * s : u;
      const double g = from_bits(in.gradient[i]) * (in.shape.silu ? s * (1 + u * (1 - s)) : 1);
      weight[image * channels + c] += g * in.more(image, c) * normed;
      bias[image * channels + c] += g * in.more(image, c);
      modulation[2 * image * channels + c] += g * plain;
      modulation[(2 * image + 1) * channels + c] += g;
      of_norm[i] = g * in.more(image, c) * in.weight[c];
      inner += of_norm[i] / count;
      product += of_norm[i] * normed / count;
    });
    each([&](int64_t i, int64_t) {
      x_gradient[i] =
          inverse * (of_norm[i] - inner - (from_bits(in.x[i]) - mean) * inverse * product);
    });
  }
};

struct NormBuffers {
  Buffer<uint16_t> x, gradient, y, x_gradient;
  Buffer<float> weight, bias, modulation, scales, shifts, means, inverses, partials, coefficients,
      of_weight, of_bias, of_modulation;

  explicit NormBuffers(const NormInputs& in)
      : x(in.x),
        gradient(in.gradient),
        y(in.x.size()),
        x_gradient(in.x.size()),
        weight(in.weight),
        bias(in.bias),
        modulation(in.modulation),
        scales(in.shape.images * in.shape.channels),
        shifts(in.shape.images * in.shape.channels),
        means(in.shape.images * in.shape.groups),
        inverses(in.shape.images * in.shape.groups),
        partials(in.shape.images * in.shape.parts() * in.shape.channels * 2),
        coefficients(in.shape.images * in.shape.groups * 2),
        of_weight(in.shape.images * in.shape.channels),
        of_bias(in.shape.images * in.shape.channels),
        of_modulation(2 * in.shape.images * in.shape.channels) {}

  void forward(const NormInputs& in, cudaStream_t stream) const {
    cuda::group_norm(x, weight, bias, in.modulated ? modulation.get() : nullptr, y,
                     {scales, shifts, means, inverses}, partials, in.shape, stream);
  }
  void backward(const NormInputs& in, cudaStream_t stream) const {
    cuda::group_norm_backward(x, gradient, weight, bias, in.modulated ? modulation.get() : nullptr,
                              {scales, shifts, means, inverses}, x_gradient, of_weight, of_bias,
                              in.modulated ? of_modulation.get() : nullptr, partials, coefficients,
                              in.shape, stream);
  }
};

void check_case(Lab& lab, const cuda::GroupNormShape& shape, bool modulated) {
  const NormInputs in(lab, shape, modulated);
  const NormBuffers buffers(in);
  buffers.forward(in, lab.stream());
  buffers.backward(in, lab.stream());
  lab.wait();
  const NormExpected expected(in);
  const std::string name = "group norm, " + std::to_string(shape.images) + " x " +
                           std::to_string(shape.pixels) + " x " + std::to_string(shape.channels) +
                           (shape.silu ? ", silu" : "") + (modulated ? ", modulated" : "");
  lab.report(name, error(numbers(buffers.y.host()), expected.y), rounding);
  lab.report(name + ": gradient", error(numbers(buffers.x_gradient.host()), expected.x_gradient),
             rounding);
  // Sums over all pixels of an image, in float32.
  const double sums = 1e-5 * std::sqrt(static_cast<double>(shape.pixels));
  lab.report(name + ": weight", error(buffers.of_weight.host(), expected.weight), sums);
  lab.report(name + ": bias", error(buffers.of_bias.host(), expected.bias), sums);
  if (modulated)
    lab.report(name + ": modulation", error(buffers.of_modulation.host(), expected.modulation),
               sums);
}

void time_case(Lab& lab, const cuda::GroupNormShape& shape) {
  const NormInputs in(lab, shape, true);
  const NormBuffers buffers(in);
  const std::string name = "group norm, " + std::to_string(shape.images) + " x " +
                           std::to_string(shape.pixels) + " x " + std::to_string(shape.channels);
  lab.time(name, [&](cudaStream_t stream) { buffers.forward(in, stream); });
  lab.time(name + ", gradient", [&](cudaStream_t stream) { buffers.backward(in, stream); });
}

}  // namespace

void check_group_norm(Lab& lab) {
  const auto shape = [](int64_t images, int64_t pixels, int64_t channels, int64_t groups,
                        bool silu) {
    return cuda::GroupNormShape{images, pixels, channels, groups, static_cast<float>(epsilon),
                                silu};
  };
  for (const bool silu : {false, true})
    for (const bool modulated : {false, true}) {
      check_case(lab, shape(3, 35, 24, 4, silu), modulated);
      check_case(lab, shape(1, 1, 40, 4, silu), modulated);
      check_case(lab, shape(2, 561, 8, 4, silu), modulated);
      check_case(lab, shape(2, 1024, 288, 16, silu), modulated);
      check_case(lab, shape(1, 9, 2048, 16, silu), modulated);
    }
  time_case(lab, shape(128, 4096, 96, 16, true));
  time_case(lab, shape(128, 64, 384, 16, true));
}

}  // namespace facet::lab
