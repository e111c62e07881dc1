// Random numbers on a GPU: element i of what is drawn is a pure function of the key, of the number
// at `step` (on the GPU; null stands for 0) and of i.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace facet::cuda {

void fill_normal(float* out, int64_t count, uint64_t key, const int64_t* step, cudaStream_t stream);
void fill_normal(double* out, int64_t count, uint64_t key, const int64_t* step,
                 cudaStream_t stream);
/// In [0, 1).
void fill_uniform(float* out, int64_t count, uint64_t key, const int64_t* step,
                  cudaStream_t stream);
void fill_uniform(double* out, int64_t count, uint64_t key, const int64_t* step,
                  cudaStream_t stream);

}  // namespace facet::cuda
