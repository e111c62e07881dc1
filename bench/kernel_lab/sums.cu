// The loss, its derivatives and the sums of a metrics line against plain sums.
#include "bench/kernel_lab/lab.cuh"
#include "facet/cuda/sums.h"

namespace facet::lab {

using cuda::Number;
using cuda::Summary;

void check_sums(Lab& lab) {
  const auto a = lab.normals<float>(67);
  const auto b = lab.normals<double>(67);
  const std::vector<int64_t> labels = {-1, 3, 0, -1, 5};
  const Buffer<float> d_a(a);
  const Buffer<double> d_b(b), sums(std::vector<double>{1, 2, 3, 4}), loss(1),
      weight(std::vector<double>{0.25}), gradient(std::vector<double>{2.0}), derivatives(2);
  const Buffer<int64_t> d_labels(labels);
  const Buffer<float> small(2);
  cuda::Terms metrics = {};
  metrics.count = 5;
  metrics.term[0] = {nullptr, 0, 0, Number::float32, Summary::sum, 1, nullptr, 0};
  metrics.term[1] = {d_a.get(), 67, 1, Number::float32, Summary::mean, 1, nullptr, 1};
  metrics.term[2] = {d_b.get(), 67, 1, Number::float64, Summary::sum, 1, nullptr, 2};
  metrics.term[3] = {d_labels.get(), 5, 1, Number::int64, Summary::known, 1, nullptr, 3};
  metrics.term[4] = {d_b.get(), 34, 2, Number::float64, Summary::mean, 1, weight, 1};
  cuda::Terms objective = {};
  objective.count = 2;
  objective.term[0] = {d_a.get(), 67, 1, Number::float32, Summary::mean, -1, nullptr, 0};
  objective.term[1] = {d_b.get(), 67, 1, Number::float64, Summary::mean, 1, weight, 0};
  cuda::add_terms(sums, metrics, false, lab.stream());
  cuda::add_terms(loss, objective, true, lab.stream());
  cuda::term_derivatives(gradient, objective, derivatives, small, lab.stream());
  lab.wait();

  double mean_a = 0, mean_b = 0, every_second = 0;
  for (const float value : a) mean_a += value / 67.0;
  for (const double value : b) mean_b += value / 67.0;
  for (size_t i = 0; i < 67; i += 2) every_second += b[i] / 34.0;
  const std::vector<double> expected_sums = {2, 2 + mean_a + 0.25 * every_second, 3 + 67 * mean_b,
                                             7};
  const std::vector<double> expected_loss = {-mean_a + 0.25 * mean_b};
  const std::vector<double> expected_derivatives = {-2.0 / 67, 0.5 / 67};
  lab.report("sums of a metrics line", error(sums.host(), expected_sums), 1e-12);
  lab.report("loss", error(loss.host(), expected_loss), 1e-12);
  lab.report("loss: derivatives", error(derivatives.host(), expected_derivatives), 1e-15);
  lab.report("loss: derivatives in float32", error(small.host(), expected_derivatives), 1e-7);
  lab.time("loss of two terms",
           [&](cudaStream_t stream) { cuda::add_terms(loss, objective, true, stream); });
}

}  // namespace facet::lab
