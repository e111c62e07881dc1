// What the kernels of this folder are to LibTorch: functions on tensors, differentiable where the
// plain formula is. Each stands for a formula that another layer writes out in LibTorch's own
// operations, which is the reference; callers ask takes() first and use the formula otherwise. In
// builds without CUDA takes() is false. All read what changes from step to step on the GPU and
// never wait for it, so that a step can be recorded and replayed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "facet/core/tensor.h"

namespace facet::cuda {

/// Whether `tensor` is float32 on a GPU, and this build has kernels.
bool takes(const torch::Tensor& tensor);
/// Whether `tensor` is float64 on a GPU: a block of encodings as phase 2 keeps them.
bool takes_block(const torch::Tensor& tensor);
/// Whether `tensor` is U8 on a GPU.
bool takes_pixels(const torch::Tensor& tensor);
/// Whether random numbers of these options are drawn here: float32 or float64 on a GPU.
bool draws(const torch::TensorOptions& options);

/// Element i is a pure function of the key, of the number in `counter` (int64 on the GPU;
/// undefined stands for 0) and of i.
torch::Tensor standard_normal(uint64_t key, const torch::Tensor& counter, torch::IntArrayRef shape,
                              const torch::TensorOptions& options);
torch::Tensor uniform(uint64_t key, const torch::Tensor& counter, torch::IntArrayRef shape,
                      const torch::TensorOptions& options);

/// Mean, log variance and z, [B, Z] each.
struct LatentDraw {
  torch::Tensor mean, log_variance, z;
};
/// The encoder's head [B, 2Z] as mean and log variance, the latter held between two bounds.
std::pair<torch::Tensor, torch::Tensor> split_encoding(const torch::Tensor& head, double lowest,
                                                       double highest);
/// The same with z = mean + sigma noise, the noise that of standard_normal.
LatentDraw draw_encoding(const torch::Tensor& head, double lowest, double highest, uint64_t key,
                         const torch::Tensor& counter);
/// z = mean + exp(log_variance / 2) noise, [B, Z].
torch::Tensor sample_latent(const torch::Tensor& mean, const torch::Tensor& log_variance,
                            uint64_t key, const torch::Tensor& counter);
/// KL(N(mean, exp(log_variance)) || N(0, I)), [B].
torch::Tensor standard_normal_kl(const torch::Tensor& mean, const torch::Tensor& log_variance);

/// U8 pixels as float32: pixels * scale + shift.
torch::Tensor from_pixels(const torch::Tensor& pixels, double scale, double shift);
/// log p(x|z) summed over an image, [B]; `output` [B, C, H, W] holds logits.
torch::Tensor bernoulli_log_density(const torch::Tensor& x, const torch::Tensor& output);
/// The same where `output` [B, 2C, H, W] holds means and what a sigmoid makes deviations of.
torch::Tensor gaussian_log_density(const torch::Tensor& x, const torch::Tensor& output,
                                   double smallest_stddev, double largest_stddev);

/// The posterior of one factor and what is known of the images.
struct PriorFactorTensors {
  torch::Tensor log_alpha, alpha, alpha_mu, alpha_mu2;  ///< natural parameters, float64 [K, D]
  torch::Tensor counts;                                 ///< float64 [K]
  torch::Tensor labels;  ///< int64 [B], -1 where unknown; undefined where there are none
};
struct PriorTermTensors {
  torch::Tensor responsibilities;                  ///< [B, K], float64 as all here
  torch::Tensor kl_z, kl_r, label_log_likelihood;  ///< [B]
};
/// The prior's terms of every factor. Factor i's block of mean and log variance [B, Z] begins at
/// column `begins[i]`; a column of no factor gets no gradient. Gradients flow from kl_z and the
/// label's log likelihood to mean and log variance.
std::vector<PriorTermTensors> prior_terms(const torch::Tensor& mean,
                                          const torch::Tensor& log_variance,
                                          const std::vector<PriorFactorTensors>& factors,
                                          const std::vector<int64_t>& begins);

struct NaturalStepNumbers {
  double scale;       ///< N / |B|
  torch::Tensor rho;  ///< one float64 number on the GPU
  double m0, s0, a0, b0, c0;
};
/// E-step, conjugate posterior and natural-gradient step, in place, of several factors with blocks
/// of mean and log variance as above.
void natural_gradient_update(const torch::Tensor& mean, const torch::Tensor& log_variance,
                             const std::vector<PriorFactorTensors>& factors,
                             const std::vector<int64_t>& begins, const NaturalStepNumbers& step);
/// The same for one block in float64 with variances, [B, D] each.
void natural_gradient_update(const torch::Tensor& mean, const torch::Tensor& variance,
                             const PriorFactorTensors& factor, const NaturalStepNumbers& step);
/// Responsibilities and terms of one block in float64 with variances; nothing is differentiable.
PriorTermTensors prior_terms(const torch::Tensor& mean, const torch::Tensor& variance,
                             const PriorFactorTensors& factor);

/// factor * weight * the mean of `values` [B].
struct WeightedMean {
  torch::Tensor values;  ///< float32 or float64
  double factor = 1.0;
  torch::Tensor weight;  ///< one float64 number on the GPU; undefined stands for 1
};
/// Their sum, one float64 number; gradients flow to the values.
torch::Tensor weighted_sum(const std::vector<WeightedMean>& terms);

/// What is added to one of the sums of a metrics line.
struct SummedTerm {
  enum class What { mean, sum, known /* how many are not negative */ };
  int64_t at;            ///< which sum
  torch::Tensor values;  ///< float32, float64 or int64, one row; undefined adds 1
  What what = What::mean;
};
/// `sums` is float64.
void add_to_sums(const torch::Tensor& sums, const std::vector<SummedTerm>& terms);

struct AdamNumbers {
  double beta1, beta2, epsilon;
  double clip_grad_norm;        ///< 0 leaves gradients as they are
  double weight_decay;          ///< times the learning rate: the share that parameters lose
  torch::Tensor learning_rate;  ///< one float64 number on the GPU
  torch::Tensor step;           ///< one int64 number on the GPU, counted from 1
  torch::Tensor norm;           ///< gradient_norm(); not needed where nothing is shortened
};
/// One step of flat float32 parameters in place. `shadow`, where defined, becomes their bfloat16
/// copy.
void adam_step(const torch::Tensor& parameters, const torch::Tensor& gradients,
               const torch::Tensor& first, const torch::Tensor& second, const torch::Tensor& shadow,
               const AdamNumbers& numbers);
/// The length of a flat float32 gradient, one float64 number on the GPU.
torch::Tensor gradient_norm(const torch::Tensor& gradients);

}  // namespace facet::cuda
