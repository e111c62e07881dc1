// What stands in for the *_ops.cpp files in builds without CUDA. kernels_available() is false
// there, so nobody calls these functions.
#include <stdexcept>

#include "facet/core/torch.h"
#include "facet/cuda/adam_ops.h"
#include "facet/cuda/group_norm_ops.h"
#include "facet/cuda/latent_ops.h"
#include "facet/cuda/likelihood_ops.h"
#include "facet/cuda/predictive_ops.h"
#include "facet/cuda/prior_ops.h"
#include "facet/cuda/random_ops.h"
#include "facet/cuda/sums_ops.h"

namespace facet::cuda {

namespace {

[[noreturn]] void absent() { throw std::logic_error("this build has no kernels for a GPU"); }

}  // namespace

torch::Tensor standard_normal(uint64_t, const torch::Tensor&, torch::IntArrayRef,
                              const torch::TensorOptions&) {
  absent();
}
torch::Tensor uniform(uint64_t, const torch::Tensor&, torch::IntArrayRef,
                      const torch::TensorOptions&) {
  absent();
}
std::pair<torch::Tensor, torch::Tensor> split_encoding(const torch::Tensor&, double, double) {
  absent();
}
LatentDraw draw_encoding(const torch::Tensor&, double, double, uint64_t, const torch::Tensor&) {
  absent();
}
torch::Tensor sample_latent(const torch::Tensor&, const torch::Tensor&, uint64_t,
                            const torch::Tensor&) {
  absent();
}
torch::Tensor standard_normal_kl(const torch::Tensor&, const torch::Tensor&) { absent(); }
torch::Tensor from_pixels(const torch::Tensor&, double, double) { absent(); }
torch::Tensor bernoulli_log_density(const torch::Tensor&, const torch::Tensor&) { absent(); }
torch::Tensor gaussian_log_density(const torch::Tensor&, const torch::Tensor&, double, double) {
  absent();
}
std::vector<PriorTermTensors> prior_terms(const torch::Tensor&, const torch::Tensor&,
                                          const std::vector<PriorFactorTensors>&,
                                          const std::vector<int64_t>&) {
  absent();
}
PriorTermTensors prior_terms(const torch::Tensor&, const torch::Tensor&,
                             const PriorFactorTensors&) {
  absent();
}
void natural_gradient_update(const torch::Tensor&, const torch::Tensor&,
                             const std::vector<PriorFactorTensors>&, const std::vector<int64_t>&,
                             const NaturalStepNumbers&) {
  absent();
}
void natural_gradient_update(const torch::Tensor&, const torch::Tensor&, const PriorFactorTensors&,
                             const NaturalStepNumbers&) {
  absent();
}
torch::Tensor predictive_log_density(const torch::Tensor&, const std::vector<PredictiveTensors>&,
                                     const std::vector<int64_t>&) {
  absent();
}
torch::Tensor weighted_sum(const std::vector<WeightedMean>&) { absent(); }
void add_to_sums(const torch::Tensor&, const std::vector<SummedTerm>&) { absent(); }
void adam_step(const torch::Tensor&, const torch::Tensor&, const torch::Tensor&,
               const torch::Tensor&, const torch::Tensor&, const AdamNumbers&) {
  absent();
}
torch::Tensor gradient_norm(const torch::Tensor&) { absent(); }
bool normalises(int64_t, int64_t) { return false; }
torch::Tensor group_norm(const torch::Tensor&, int64_t, const torch::Tensor&, const torch::Tensor&,
                         const torch::Tensor&, bool) {
  absent();
}

}  // namespace facet::cuda
