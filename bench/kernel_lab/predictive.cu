// The predictive log density of rows of z against plain sums.
#include "bench/kernel_lab/lab.cuh"
#include "facet/cuda/predictive.h"

namespace facet::lab {

namespace {

/// A mixture on the host and on the GPU.
struct Mixture {
  std::vector<double> constant, centre, inverse, power;
  Buffer<double> d_constant, d_centre, d_inverse, d_power;
  int64_t components, dimensions;

  Mixture(Lab& lab, int64_t k, int64_t d)
      : constant(lab.normals<double>(k, 5, -20)),
        centre(lab.normals<double>(k * d)),
        inverse(lab.uniforms<double>(k * d, 0.01, 2)),
        power(lab.uniforms<double>(k * d, 0.5, 40)),
        d_constant(constant),
        d_centre(centre),
        d_inverse(inverse),
        d_power(power),
        components(k),
        dimensions(d) {}

  cuda::PredictiveMixture on_gpu() const {
    return {components, dimensions, d_constant, d_centre, d_inverse, d_power};
  }
  double density(const float* z) const {
    std::vector<double> values = constant;
    for (int64_t k = 0; k < components; ++k)
      for (int64_t d = 0; d < dimensions; ++d) {
        const int64_t at = k * dimensions + d;
        const double offset = z[d] - centre[at];
        values[k] -= power[at] * std::log1p(offset * offset * inverse[at]);
      }
    const double largest = *std::max_element(values.begin(), values.end());
    double sum = 0;
    for (const double value : values) sum += std::exp(value - largest);
    return largest + std::log(sum);
  }
};

void check(Lab& lab, int64_t rows, int64_t components, int64_t dimensions) {
  const int64_t stride = dimensions + 3;
  const Mixture mixture(lab, components, dimensions);
  const auto z = lab.normals<float>(rows * stride);
  const Buffer<float> d_z(z);
  const Buffer<double> density(rows);
  std::vector<double> expected;
  for (int64_t row = 0; row < rows; ++row) expected.push_back(mixture.density(&z[row * stride]));
  const auto compute = [&](bool add) {
    cuda::predictive_log_density(d_z, rows, stride, mixture.on_gpu(), add, density, lab.stream());
    lab.wait();
    return error(density.host(), expected);
  };
  const std::string size = std::to_string(rows) + " rows, K = " + std::to_string(components) +
                           ", D = " + std::to_string(dimensions);
  lab.report("predictive density, " + size, compute(false), 1e-12);
  for (double& value : expected) value *= 2;
  lab.report("predictive density, added, " + size, compute(true), 1e-12);
}

}  // namespace

void check_predictive(Lab& lab) {
  check(lab, 70, 37, 45);
  check(lab, 1, 1, 1);
  check(lab, 31, 17, 64);
  check(lab, 33, 300, 5);
  const int64_t rows = 5000;
  const Mixture mixture(lab, 512, 64);
  const Buffer<float> z(lab.normals<float>(rows * 64));
  const Buffer<double> density(rows);
  lab.time("predictive density, 5,000 rows, K = 512, D = 64", [&](cudaStream_t stream) {
    cuda::predictive_log_density(z, rows, 64, mixture.on_gpu(), false, density, stream);
  });
}

}  // namespace facet::lab
