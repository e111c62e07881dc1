// Adam's step and the gradient's norm over flat float32 buffers on a GPU. What changes from step to
// step is read from the GPU's memory, so that a captured step can be replayed.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace facet::cuda {

struct AdamSettings {
  double beta1, beta2, epsilon;
  double clip_grad_norm;        ///< 0 leaves the gradient as it is
  double weight_decay;          ///< times the learning rate: the share that parameters lose
  const double* learning_rate;  ///< on the GPU
  const int64_t* step;          ///< on the GPU, counted from 1
  const double* norm;  ///< on the GPU, the gradient's norm; may be null where none is clipped
};

/// One step in place. `bf16_copy` receives the new parameters as bfloat16; it may be null.
void adam_step(float* parameters, const float* gradients, float* first, float* second,
               uint16_t* bf16_copy, int64_t count, const AdamSettings& settings,
               cudaStream_t stream);

/// How many partial sums gradient_norm needs memory for.
int64_t norm_partials();

/// The Euclidean norm of `gradients`, in two launches.
void gradient_norm(const float* gradients, int64_t count, double* partials, double* norm,
                   cudaStream_t stream);

}  // namespace facet::cuda
