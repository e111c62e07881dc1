// Log densities of images with their derivatives, and pixels to units, against plain code.
#include "bench/kernel_lab/lab.cuh"
#include "facet/cuda/likelihood.h"

namespace facet::lab {

namespace {

constexpr double smallest_stddev = 0.01, largest_stddev = 0.4;

struct LikelihoodCase {
  bool gaussian, channels_last;
  int64_t images, channels, pixels;

  /// Numbers of the decoder's output per image.
  int64_t outputs() const { return (gaussian ? 2 : 1) * channels * pixels; }
  cuda::LikelihoodShape shape() const {
    const int64_t numbers = outputs() / pixels;
    const cuda::ImageLayout rows{outputs(), pixels, 1}, inside{outputs(), 1, numbers};
    return {
        images, channels, pixels, {channels * pixels, pixels, 1}, channels_last ? inside : rows};
  }
  std::string name() const {
    return std::string(gaussian ? "gaussian" : "bernoulli") +
           (channels_last ? ", channels last, " : ", ") + std::to_string(images) + " x " +
           std::to_string(channels) + " x " + std::to_string(pixels);
  }
};

/// Log density per image, and its derivative by the output.
struct LikelihoodExpected {
  std::vector<double> density, derivative;

  LikelihoodExpected(const LikelihoodCase& c, const std::vector<float>& x,
                     const std::vector<float>& output)
      : density(c.images), derivative(c.images * c.outputs()) {
    const cuda::ImageLayout layout = c.shape().output;
    for (int64_t b = 0; b < c.images; ++b)
      for (int64_t channel = 0; channel < c.channels; ++channel)
        for (int64_t p = 0; p < c.pixels; ++p) {
          const int64_t at = b * layout.image + channel * layout.channel + p * layout.pixel;
          const double value = x[(b * c.channels + channel) * c.pixels + p];
          if (c.gaussian)
            add_gaussian(b, at, at + c.channels * layout.channel, value, output);
          else
            add_bernoulli(b, at, value, output);
        }
  }

 private:
  void add_gaussian(int64_t image, int64_t at, int64_t other, double value,
                    const std::vector<float>& output) {
    const double range = largest_stddev - smallest_stddev;
    const double sigmoid = 1 / (1 + std::exp(-static_cast<double>(output[other])));
    const double stddev = smallest_stddev + range * sigmoid;
    const double scaled = (value - output[at]) / stddev;
    density[image] -= 0.5 * scaled * scaled + std::log(stddev) + 0.5 * std::log(2 * M_PI);
    derivative[at] = scaled / stddev;
    derivative[other] = (scaled * scaled - 1) / stddev * range * sigmoid * (1 - sigmoid);
  }
  void add_bernoulli(int64_t image, int64_t at, double value, const std::vector<float>& output) {
    const double l = output[at];
    density[image] += l * value - std::max(l, 0.0) - std::log1p(std::exp(-std::fabs(l)));
    derivative[at] = value - 1 / (1 + std::exp(-l));
  }
};

void check_case(Lab& lab, const LikelihoodCase& c, bool timed) {
  const int64_t outputs = c.outputs(), all = c.images * outputs;
  const auto x = lab.uniforms<float>(c.images * c.channels * c.pixels, c.gaussian ? -1 : 0, 1);
  const auto output = lab.normals<float>(all, 4);
  const auto of_density = lab.normals<float>(c.images);
  const Buffer<float> d_x(x), d_output(output), d_of_density(of_density), density(c.images),
      derivative(all), gradient(all);
  const cuda::LikelihoodShape shape = c.shape();
  const auto forward = [&](cudaStream_t stream) {
    if (c.gaussian)
      cuda::gaussian_log_density(d_x, d_output, density, derivative, smallest_stddev,
                                 largest_stddev, shape, stream);
    else
      cuda::bernoulli_log_density(d_x, d_output, density, derivative, shape, stream);
  };
  const auto backward = [&](cudaStream_t stream) {
    cuda::scale_images(derivative, d_of_density, 1, gradient, c.images, outputs, stream);
  };
  forward(lab.stream());
  backward(lab.stream());
  lab.wait();
  const LikelihoodExpected expected(c, x, output);
  std::vector<double> expected_gradient(all);
  for (int64_t i = 0; i < all; ++i)
    expected_gradient[i] = expected.derivative[i] * of_density[i / outputs];
  lab.report(c.name() + ": log density", error(density.host(), expected.density), 1e-5);
  lab.report(c.name() + ": derivative", error(derivative.host(), expected.derivative), 1e-5);
  lab.report(c.name() + ": gradient", error(gradient.host(), expected_gradient), 1e-5);
  if (!timed) return;
  lab.time(c.name(), forward);
  lab.time(c.name() + ", gradient", backward);
}

void check_pixels(Lab& lab) {
  std::vector<uint8_t> pixels(1003);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 7);
  const Buffer<uint8_t> d_pixels(pixels);
  const Buffer<float> x(pixels.size());
  cuda::from_pixels(d_pixels, x, 1003, static_cast<float>(2.0 / 255), -1.0f, lab.stream());
  lab.wait();
  std::vector<float> expected;
  for (const uint8_t pixel : pixels) {
    volatile float product = static_cast<float>(pixel) * static_cast<float>(2.0 / 255);
    expected.push_back(product + -1.0f);
  }
  lab.report("pixels to units", error(x.host(), expected), 0);
}

}  // namespace

void check_likelihood(Lab& lab) {
  for (const bool gaussian : {false, true})
    for (const bool channels_last : {false, true}) {
      check_case(lab, {gaussian, channels_last, 3, 3, 35}, false);
      check_case(lab, {gaussian, channels_last, 5, 1, 784}, false);
    }
  check_case(lab, {false, false, 64, 1, 784}, true);
  check_case(lab, {true, true, 64, 3, 4096}, true);
  check_pixels(lab);
}

}  // namespace facet::lab
