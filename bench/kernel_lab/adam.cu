// Adam's step with clipping, weight decay and the bf16 copy of the weights, and the gradient's
// norm, against plain code.
#include "bench/kernel_lab/lab.cuh"
#include "facet/cuda/adam.h"

namespace facet::lab {

namespace {

constexpr double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, learning_rate = 0.01;
constexpr int64_t step = 3;

struct AdamCase {
  int64_t count;
  double largest_norm, weight_decay;

  std::string name() const {
    return "adam, " + std::to_string(count) + (largest_norm > 0 ? ", clipped" : "") +
           (weight_decay > 0 ? ", weight decay" : "");
  }
};

struct AdamExpected {
  double norm = 0;
  std::vector<double> parameters, first, second;

  AdamExpected(const AdamCase& c, const std::vector<float>& p, const std::vector<float>& g,
               const std::vector<float>& m, const std::vector<float>& v) {
    for (const float value : g) norm += static_cast<double>(value) * value;
    norm = std::sqrt(norm);
    const double clip = c.largest_norm > 0 ? std::min(1.0, c.largest_norm / norm) : 1;
    const double correction1 = 1 - std::pow(beta1, step), correction2 = 1 - std::pow(beta2, step);
    for (size_t i = 0; i < p.size(); ++i) {
      const double gradient = clip * g[i];
      first.push_back(beta1 * m[i] + (1 - beta1) * gradient);
      second.push_back(beta2 * v[i] + (1 - beta2) * gradient * gradient);
      parameters.push_back((1 - c.weight_decay * learning_rate) * p[i] -
                           learning_rate / correction1 * first[i] /
                               (std::sqrt(second[i] / correction2) + epsilon));
    }
  }
};

/// Whether every number of the copy is the parameter rounded to bf16.
bool is_rounded_copy(const std::vector<uint16_t>& copy, const std::vector<float>& parameters) {
  for (size_t i = 0; i < copy.size(); ++i) {
    const uint32_t bits = static_cast<uint32_t>(copy[i]) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    if (!(std::fabs(value - parameters[i]) <= std::fabs(parameters[i]) / 256)) return false;
  }
  return true;
}

void check_case(Lab& lab, const AdamCase& c, bool timed) {
  const auto size = static_cast<size_t>(c.count);
  const auto p = lab.normals<float>(size), g = lab.normals<float>(size),
             m = lab.normals<float>(size, 0.1), v = lab.uniforms<float>(size, 0, 1);
  const Buffer<float> parameters(p), gradients(g), first(m), second(v);
  const Buffer<uint16_t> weight_copy(size);
  const Buffer<double> partials(cuda::norm_partials()), norm(1),
      rate(std::vector<double>{learning_rate});
  const Buffer<int64_t> counter(std::vector<int64_t>{step});
  const cuda::AdamSettings settings{beta1,          beta2, epsilon, c.largest_norm,
                                    c.weight_decay, rate,  counter, norm};
  const auto find_norm = [&](cudaStream_t stream) {
    cuda::gradient_norm(gradients, c.count, partials, norm, stream);
  };
  const auto move = [&](cudaStream_t stream) {
    cuda::adam_step(parameters, gradients, first, second, weight_copy, c.count, settings, stream);
  };
  find_norm(lab.stream());
  move(lab.stream());
  lab.wait();
  const AdamExpected expected(c, p, g, m, v);
  const std::string name = c.name();
  lab.report(name + ": norm", error(norm.host(), std::vector<double>{expected.norm}), 1e-7);
  lab.report(name + ": parameters", error(parameters.host(), expected.parameters), 1e-6);
  lab.report(name + ": first moment", error(first.host(), expected.first), 1e-6);
  lab.report(name + ": second moment", error(second.host(), expected.second), 1e-6);
  lab.report(name + ": bf16 copy", is_rounded_copy(weight_copy.host(), parameters.host()));
  if (!timed) return;
  lab.time(name, move);
  lab.time(name + ", norm", find_norm);
}

}  // namespace

void check_adam(Lab& lab) {
  check_case(lab, {1003, 0, 0}, false);
  check_case(lab, {1003, 5, 0}, false);
  check_case(lab, {1003, 0, 0.5}, false);
  check_case(lab, {4000000, 0, 0}, true);
}

}  // namespace facet::lab
