// The latent vector on a GPU, float32: the encoder's head [B, 2Z] cut into mean and log variance
// (the latter clamped between two bounds), the draw z = mean + sigma noise, and KL(q || N(0, I)).
// Each is one launch in either direction.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace facet::cuda {

struct LatentShape {
  int64_t images;       ///< B
  int64_t latents;      ///< Z
  float low, high;      ///< bounds of the log variance
  uint64_t key;         ///< of the noise
  const int64_t* step;  ///< of the noise, on the GPU; may be null
};

/// head [B, 2Z] to mean and log variance [B, Z], and to a draw z [B, Z] unless that is null. The
/// noise of z is that of fill_normal for [B, Z].
void split_encoding(const float* head, float* mean, float* log_variance, float* z,
                    const LatentShape& shape, cudaStream_t stream);

/// The gradient of the head from those of mean, log variance and z, null where there is none.
/// Beyond the bounds the log variance has no gradient.
void split_encoding_gradient(const float* head, const float* mean_gradient,
                             const float* log_variance_gradient, const float* z_gradient,
                             float* head_gradient, const LatentShape& shape, cudaStream_t stream);

/// z from mean and log variance; `count` is B Z.
void sample_latent(const float* mean, const float* log_variance, float* z, int64_t count,
                   uint64_t key, const int64_t* step, cudaStream_t stream);

/// The log variance's gradient; the mean's is that of z.
void sample_latent_gradient(const float* log_variance, const float* z_gradient,
                            float* log_variance_gradient, int64_t count, uint64_t key,
                            const int64_t* step, cudaStream_t stream);

/// KL(q || N(0, I)) of every image, [B].
void standard_normal_kl(const float* mean, const float* log_variance, float* kl, int64_t images,
                        int64_t latents, cudaStream_t stream);

/// `kl_gradient` [B] has the given stride, 0 where all images share one number.
void standard_normal_kl_gradient(const float* mean, const float* log_variance,
                                 const float* kl_gradient, int64_t kl_gradient_stride,
                                 float* mean_gradient, float* log_variance_gradient, int64_t images,
                                 int64_t latents, cudaStream_t stream);

}  // namespace facet::cuda
