// Normal and uniform draws: each thread computes 16 bytes from the counter that is its place, so
// that the result does not depend on the launch.
#include "facet/cuda/philox.cuh"
#include "facet/cuda/random.h"

namespace facet::cuda {

namespace {

constexpr int threads = 256;

struct Normal {
  __device__ static void draw(const Draws& draws, uint64_t place, float (&out)[4]) {
    const float4 four = four_normals(draws, place);
    out[0] = four.x, out[1] = four.y, out[2] = four.z, out[3] = four.w;
  }
  __device__ static void draw(const Draws& draws, uint64_t place, double (&out)[2]) {
    const uint4 words = random_words(draws, place);
    // 1 - u is in (0, 1].
    const double radius = sqrt(-2.0 * log(1.0 - uniform_double(words.x, words.y)));
    double sine, cosine;
    sincospi(2.0 * uniform_double(words.z, words.w), &sine, &cosine);
    out[0] = radius * cosine, out[1] = radius * sine;
  }
};

struct Uniform {
  __device__ static void draw(const Draws& draws, uint64_t place, float (&out)[4]) {
    const uint4 words = random_words(draws, place);
    const uint32_t all[4] = {words.x, words.y, words.z, words.w};
    for (int i = 0; i < 4; ++i) out[i] = static_cast<float>(all[i] >> 8) * 0x1p-24f;
  }
  __device__ static void draw(const Draws& draws, uint64_t place, double (&out)[2]) {
    const uint4 words = random_words(draws, place);
    out[0] = uniform_double(words.x, words.y), out[1] = uniform_double(words.z, words.w);
  }
};

/// One place per thread: 16 bytes.
template <typename Distribution, typename Scalar>
__global__ void fill(Scalar* out, int64_t count, uint64_t key, const int64_t* step) {
  constexpr int width = 16 / sizeof(Scalar);
  const int64_t place = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (place * width >= count) return;
  Scalar values[width];
  Distribution::draw(draws_of(key, step), static_cast<uint64_t>(place), values);
  for (int i = 0; i < width && place * width + i < count; ++i) out[place * width + i] = values[i];
}

template <typename Distribution, typename Scalar>
void launch(Scalar* out, int64_t count, uint64_t key, const int64_t* step, cudaStream_t stream) {
  if (count == 0) return;
  const int64_t places = (count * static_cast<int64_t>(sizeof(Scalar)) + 15) / 16;
  const auto blocks = static_cast<unsigned>((places + threads - 1) / threads);
  fill<Distribution><<<blocks, threads, 0, stream>>>(out, count, key, step);
}

}  // namespace

void fill_normal(float* out, int64_t count, uint64_t key, const int64_t* step,
                 cudaStream_t stream) {
  launch<Normal>(out, count, key, step, stream);
}
void fill_normal(double* out, int64_t count, uint64_t key, const int64_t* step,
                 cudaStream_t stream) {
  launch<Normal>(out, count, key, step, stream);
}
void fill_uniform(float* out, int64_t count, uint64_t key, const int64_t* step,
                  cudaStream_t stream) {
  launch<Uniform>(out, count, key, step, stream);
}
void fill_uniform(double* out, int64_t count, uint64_t key, const int64_t* step,
                  cudaStream_t stream) {
  launch<Uniform>(out, count, key, step, stream);
}

}  // namespace facet::cuda
