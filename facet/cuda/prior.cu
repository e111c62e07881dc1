// The launches behind prior.h: scores, then terms or update, each for all factors of a model at
// once; smaller factors leave the blocks past their end without work.
#include <algorithm>

#include "facet/cuda/prior_scores.cuh"
#include "facet/cuda/prior_terms.cuh"
#include "facet/cuda/prior_update.cuh"

namespace facet::cuda {

namespace {

using namespace prior_kernels;

int64_t largest(const PriorBatch& batch, int64_t PriorFactor::*size) {
  int64_t result = 0;
  for (int i = 0; i < batch.count; ++i) result = std::max(result, batch.factor[i].*size);
  return result;
}

unsigned blocks(int64_t count, int64_t of) { return static_cast<unsigned>(divide_up(count, of)); }

template <Encodings encodings>
void launch_scores(const PriorBatch& batch, cudaStream_t stream) {
  const int64_t tiles = tiles_of(largest(batch, &PriorFactor::components));
  const auto factors = static_cast<unsigned>(batch.count);
  const dim3 grid(static_cast<unsigned>(tiles), blocks(batch.images, stretch), factors);
  scores<encodings><<<grid, threads + 32, 0, stream>>>(batch);
  if (tiles > most_tiles)
    combine<<<dim3(static_cast<unsigned>(batch.images), factors), threads, 0, stream>>>(batch);
}

template <Encodings encodings>
void launch_terms(const PriorBatch& batch, cudaStream_t stream) {
  launch_scores<encodings>(batch, stream);
  int64_t chunks = 1;
  for (int i = 0; i < batch.count; ++i)
    chunks = std::max(chunks, chunks_of(batch.factor[i].components));
  const dim3 grid(static_cast<unsigned>(chunks), blocks(batch.images, side),
                  static_cast<unsigned>(batch.count));
  terms<encodings><<<grid, threads, 0, stream>>>(batch);
}

template <Encodings encodings>
void launch_update(const PriorBatch& batch, const NaturalStep& step, cudaStream_t stream) {
  launch_scores<encodings>(batch, stream);
  const dim3 grid(static_cast<unsigned>(tiles_of(largest(batch, &PriorFactor::components))),
                  static_cast<unsigned>(batch.count));
  update<encodings><<<grid, threads, 0, stream>>>(batch, step);
}

}  // namespace

int64_t tile_numbers(int64_t images, int64_t components) {
  return (2 * images + 1) * tiles_of(components);
}

int64_t partial_numbers(int64_t images, int64_t components, int64_t dimensions) {
  const int64_t chunks = chunks_of(components);
  return chunks == 1 ? 0 : chunks * images * (2 * dimensions + 1);
}

int64_t ticket_numbers(int64_t images) { return divide_up(images, side); }

void prior_terms(const PriorBatch& batch, Encodings encodings, cudaStream_t stream) {
  if (batch.count == 0 || batch.images == 0) return;
  if (encodings == Encodings::variances)
    launch_terms<Encodings::variances>(batch, stream);
  else
    launch_terms<Encodings::log_variances>(batch, stream);
}

void prior_terms_gradient(const PriorBatch& batch, const TermGradients& gradients,
                          cudaStream_t stream) {
  if (batch.count == 0 || batch.images == 0) return;
  const int64_t numbers = batch.images * largest(batch, &PriorFactor::dimensions);
  terms_gradient<<<dim3(blocks(numbers, threads), static_cast<unsigned>(batch.count)), threads, 0,
                   stream>>>(batch, gradients);
}

void prior_update(const PriorBatch& batch, Encodings encodings, const NaturalStep& step,
                  cudaStream_t stream) {
  if (batch.count == 0 || batch.images == 0) return;
  if (encodings == Encodings::variances)
    launch_update<Encodings::variances>(batch, step, stream);
  else
    launch_update<Encodings::log_variances>(batch, step, stream);
}

}  // namespace facet::cuda
