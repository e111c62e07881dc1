// The lab of the pointwise and prior kernels: reports of agreement with plain float64 code, times,
// and random inputs. One line per report; the exit status says whether all agree.
#pragma once

#include <cmath>
#include <random>
#include <string>

#include "bench/lab.cuh"

namespace facet::lab {

class Lab {
 public:
  /// Names the GPU.
  Lab();
  ~Lab();
  Lab(const Lab&) = delete;

  cudaStream_t stream() const { return stream_; }
  /// Waits for all kernels.
  void wait() const;
  void report(const std::string& name, double error, double allowed);
  void report(const std::string& name, bool holds) { report(name, holds ? 0 : 1, 0); }
  /// Reports the median time of a call.
  void time(const std::string& name, const std::function<void(cudaStream_t)>& call);
  bool all_agree() const { return all_agree_; }

  template <typename Scalar>
  std::vector<Scalar> normals(size_t count, double scale = 1, double shift = 0) {
    std::normal_distribution<double> normal;
    std::vector<Scalar> values(count);
    for (Scalar& value : values) value = static_cast<Scalar>(shift + scale * normal(engine_));
    return values;
  }
  template <typename Scalar>
  std::vector<Scalar> uniforms(size_t count, double low, double high) {
    std::uniform_real_distribution<double> uniform(low, high);
    std::vector<Scalar> values(count);
    for (Scalar& value : values) value = static_cast<Scalar>(uniform(engine_));
    return values;
  }

 private:
  cudaStream_t stream_ = nullptr;
  std::mt19937_64 engine_{7};
  bool all_agree_ = true;
};

/// Largest |found - expected| / (1 + |expected|); NaN counts as infinite.
template <typename Found, typename Expected>
double error(const std::vector<Found>& found, const std::vector<Expected>& expected) {
  double largest = found.size() == expected.size() ? 0 : INFINITY;
  for (size_t i = 0; i < found.size() && i < expected.size(); ++i) {
    const double value = static_cast<double>(expected[i]);
    const double difference =
        std::fabs(static_cast<double>(found[i]) - value) / (1 + std::fabs(value));
    largest = std::max(largest, std::isnan(difference) ? INFINITY : difference);
  }
  return largest;
}

void check_random(Lab& lab);
void check_latent(Lab& lab);
void check_likelihood(Lab& lab);
void check_adam(Lab& lab);
void check_sums(Lab& lab);
void check_prior(Lab& lab);
void check_predictive(Lab& lab);
void check_group_norm(Lab& lab);

}  // namespace facet::lab
