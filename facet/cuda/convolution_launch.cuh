// Which kernel, in which tiles and with how many blocks per sum, computes a convolution: a question
// of sizes and of the kind of GPU (kernel_target.h), so that equal inputs give equal bits.
#pragma once

#include <algorithm>

#include "facet/cuda/convolution_gather.cuh"
#include "facet/cuda/convolution_weights.cuh"
#include "facet/cuda/kernel_target.h"

namespace facet::cuda {

inline int divide_up(int a, int b) { return (a + b - 1) / b; }

/// A launch with the shared memory that it needs, in clusters of blocks along the grid's z.
/// (Letting a kernel begin while the one before it ends made a step a sixth slower.)
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, int threads, int shared_bytes, int cluster,
            cudaStream_t stream, const Arguments&... arguments) {
  // More than 48 KiB must be asked for, once per kernel; asking again costs the GPU nothing.
  if (shared_bytes > 48 * 1024)
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {1, 1, static_cast<unsigned>(cluster)};
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = cluster > 1 ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

/// How many blocks share a sum of `steps` stages so that the GPU's 132 multiprocessors have work.
inline SplitSum choose_split(int wanted_blocks, int tiles, int steps, int tile_elements) {
  const bool clusters_exist = current_target().clusters;
  // Without clusters every part goes through memory, and one block adds them all.
  const int fewest_steps = 4, most = clusters_exist ? 128 : 32;
  const int largest_cluster = clusters_exist ? 8 : 1;
  const int splits = std::min({most, wanted_blocks / tiles, steps / fewest_steps});
  if (splits < 2) return {};
  SplitSum split_sum;
  while (split_sum.cluster < largest_cluster && split_sum.cluster * 2 <= splits)
    split_sum.cluster *= 2;
  const auto fits = [&](int clusters) {
    return static_cast<size_t>(tiles) * clusters * tile_elements <= workspace_sums &&
           static_cast<size_t>(tiles) * split_sum.cluster <= workspace_counters;
  };
  int clusters = splits / split_sum.cluster;
  while (clusters > 1 && !fits(clusters)) --clusters;
  split_sum.splits = clusters * split_sum.cluster;
  return split_sum;
}

/// The same for tiles that say how many of their blocks a multiprocessor holds, which are those of
/// warpgroups: all blocks run at once. Clusters of four meet fastest.
inline SplitSum choose_one_wave(int blocks, int tiles, int steps, int most) {
  const int splits = std::min({most, 132 * blocks / tiles, steps / 4});
  if (splits >= 4) return {splits / 4 * 4, 4};
  return splits == 2 ? SplitSum{2, 2} : SplitSum{std::max(splits, 1), 1};
}

/// Chooses how many blocks share a sum where `split_sum` has no splits.
template <class T, class Shape, bool Transposed, Loads How>
void launch_gather(GatherProblem problem, cudaStream_t stream, SplitSum split_sum = {0, 1}) {
  using Product = typename Shape::template Product<T, false, Transposed>;
  const int phases = Transposed ? problem.stride * problem.stride : 1;
  const int step = Transposed ? problem.stride : 1;
  const int rows =
      problem.batch * divide_up(problem.out_height, step) * divide_up(problem.out_width, step);
  const int row_tiles = divide_up(rows, Shape::rows);
  const int column_tiles = divide_up(problem.columns, Shape::columns);
  const int taps = divide_up(problem.kernel, step);
  const int tiles = row_tiles * column_tiles * phases;
  const int steps = divide_up(taps * taps * problem.channels, Shape::depth);
  problem.split_sum = split_sum.splits > 0 ? split_sum
                      : Shape::blocks > 0
                          ? choose_one_wave(Shape::blocks, tiles, steps, 2)
                          : choose_split(200, tiles, steps, Shape::rows * Shape::columns);
  problem.by_splits = Divider(problem.split_sum.splits);
  launch(gather_product<T, Shape, Transposed, How>,
         dim3(row_tiles, column_tiles, phases * problem.split_sum.splits), Shape::threads,
         Product::shared_bytes, problem.split_sum.cluster, stream, problem);
}

/// Whether the current GPU has Hopper's warpgroup instructions, with which convolution_wgmma.cu
/// multiplies the largest bfloat16 tiles, and this build that file.
bool has_warpgroups();
template <bool Transposed>
void warpgroup_gather(const GatherProblem& problem, cudaStream_t stream,
                      SplitSum split_sum = {0, 1});
void warpgroup_weights(const WeightProblem& problem, cudaStream_t stream,
                       SplitSum split_sum = {0, 1});

/// Products of very many rows with few columns, in convolution_rows.cu; false for others.
bool try_row_product(const GatherProblem& problem, bool transposed, cudaStream_t stream);

/// For few rows and many weights, each of which is read once: many loads in flight at a time.
template <class T>
using LongTile = TileShape<64, 64, 2, 2, 128 / static_cast<int>(sizeof(T)), 4>;
template <class T>
using WideTile = TileShape<64, 128, 2, 4, 128 / static_cast<int>(sizeof(T)), 4>;

/// The largest tile; its ring takes half of a multiprocessor's shared memory on H100 and H200.
template <class T>
using LargeTile = TileShape<128, 128, 2, 4, 128 / static_cast<int>(sizeof(T)), 3>;

/// What takes the place of the last two where a block has 99 KiB (compute capability 8.6, 8.9, 12).
template <class T>
using ShortWideTile = TileShape<64, 128, 2, 4, 128 / static_cast<int>(sizeof(T)), 3>;
template <class T>
using ShortLargeTile = TileShape<128, 128, 2, 4, 64 / static_cast<int>(sizeof(T)), 4>;

/// What kernels have at most in shared memory besides the ring; scripts/kernel-resources checks it.
constexpr int bytes_besides_ring = 2048;

/// Whether the current GPU has shared memory for blocks with this ring.
template <class Product>
bool fits() {
  return Product::shared_bytes + bytes_besides_ring <= current_target().shared_bytes;
}
using MediumTile = TileShape<64, 64, 2, 2>;
using SmallTile = TileShape<64, 32, 2, 2>;
using TinyTile = TileShape<32, 32, 2, 2>;
using NarrowTile = TileShape<64, 8, 4, 1>;

template <class T, class Shape, class Shorter, bool Transposed>
void launch_larger_gather(const GatherProblem& problem, cudaStream_t stream) {
  if (fits<typename Shape::template Product<T, false, Transposed>>())
    launch_gather<T, Shape, Transposed, Loads::aligned>(problem, stream);
  else
    launch_gather<T, Shorter, Transposed, Loads::aligned>(problem, stream);
}

/// Tiles small enough that the GPU is full, large enough that operands are reused.
template <class T, bool Transposed>
void choose_gather(const GatherProblem& problem, cudaStream_t stream) {
  const int n = problem.columns;
  const int rows = problem.batch * problem.out_height * problem.out_width;
  const auto tiles = [&](int r, int c) { return divide_up(rows, r) * divide_up(n, c); };
  const bool aligned_loads =
      problem.vector_source && problem.vector_weights && problem.known_channels == 0 &&
      problem.channels % TinyTile::depth == 0 && problem.kernel * problem.kernel <= 32;
  if constexpr (sizeof(T) == 2)
    if (try_row_product(problem, Transposed, stream)) return;
  if (!aligned_loads) {
    if (n <= 8) return launch_gather<T, NarrowTile, Transposed, Loads::any>(problem, stream);
    if (n <= 32) return launch_gather<T, SmallTile, Transposed, Loads::any>(problem, stream);
    return launch_gather<T, MediumTile, Transposed, Loads::any>(problem, stream);
  }
  if (n <= 8) return launch_gather<T, NarrowTile, Transposed, Loads::aligned>(problem, stream);
  if (n >= 96 && tiles(128, 128) >= 48 && problem.channels % LargeTile<T>::depth == 0) {
    if constexpr (sizeof(T) == 2)
      if (has_warpgroups()) return warpgroup_gather<Transposed>(problem, stream);
    return launch_larger_gather<T, LargeTile<T>, ShortLargeTile<T>, Transposed>(problem, stream);
  }
  if (rows <= 64 && problem.kernel == 1 && static_cast<size_t>(n) * problem.channels >= 1 << 21 &&
      problem.channels % LongTile<T>::depth == 0) {
    if (tiles(64, 128) >= 100)
      return launch_larger_gather<T, WideTile<T>, ShortWideTile<T>, Transposed>(problem, stream);
    const int steps = problem.channels / LongTile<T>::depth;
    return launch_gather<T, LongTile<T>, Transposed, Loads::aligned>(
        problem, stream, choose_split(250, tiles(64, 64), steps, 64 * 64));
  }
  if (n > 32 && tiles(64, 64) >= 100)
    return launch_gather<T, MediumTile, Transposed, Loads::aligned>(problem, stream);
  if (tiles(64, 32) >= 100)
    return launch_gather<T, SmallTile, Transposed, Loads::aligned>(problem, stream);
  return launch_gather<T, TinyTile, Transposed, Loads::aligned>(problem, stream);
}

template <class T, class Shape, Loads How>
void launch_weights(WeightProblem problem, cudaStream_t stream, SplitSum split_sum = {0, 1}) {
  using Product = typename Shape::template Product<T, true, true>;
  const int columns = problem.columns + (problem.bias ? 1 : 0);
  const int column_tiles = divide_up(columns, Shape::columns);
  const int row_tiles = divide_up(problem.rows, Shape::rows);
  const int tiles = row_tiles * column_tiles, steps = divide_up(problem.pixels, Shape::depth);
  problem.split_sum = split_sum.splits > 0 ? split_sum
                      : Shape::blocks > 0  ? choose_one_wave(Shape::blocks, tiles, steps, 64)
                                           : choose_split(Shape::rows >= 128 ? 300 : 640, tiles,
                                                         steps, Shape::rows * Shape::columns);
  problem.by_splits = Divider(problem.split_sum.splits);
  launch(weight_product<T, Shape, How>, dim3(column_tiles, row_tiles, problem.split_sum.splits),
         Shape::threads, Product::shared_bytes, problem.split_sum.cluster, stream, problem);
}

template <class T>
void choose_weights(const WeightProblem& problem, cudaStream_t stream) {
  const auto tiles = [&](int r, int c) {
    return divide_up(problem.rows, r) * divide_up(problem.columns, c);
  };
  if (!problem.vector_x || !problem.vector_gradient) {
    if (problem.rows <= 32) return launch_weights<T, TinyTile, Loads::any>(problem, stream);
    return launch_weights<T, MediumTile, Loads::any>(problem, stream);
  }
  if (problem.rows >= 96 && tiles(128, 128) >= 16) {
    if constexpr (sizeof(T) == 2)
      if (has_warpgroups()) return warpgroup_weights(problem, stream);
    if (fits<typename LargeTile<T>::template Product<T, true, true>>())
      return launch_weights<T, LargeTile<T>, Loads::aligned>(problem, stream);
    return launch_weights<T, ShortLargeTile<T>, Loads::aligned>(problem, stream);
  }
  if (problem.rows > 32) return launch_weights<T, MediumTile, Loads::aligned>(problem, stream);
  return launch_weights<T, TinyTile, Loads::aligned>(problem, stream);
}

/// Whether rows of channels can be copied in pieces of 16 bytes.
template <class T>
bool aligned(const View& view, int channels, bool one_pixel = false) {
  constexpr int vector = OperandTraits<T>::vector;
  const auto whole = [](int stride) { return stride % vector == 0; };
  return (!view.single || sizeof(T) == 4) && view.channel == 1 && view.channel_group == 1 &&
         channels % vector == 0 && whole(view.batch) &&
         (one_pixel || (whole(view.row) && whole(view.column))) &&
         reinterpret_cast<uintptr_t>(view.data) % 16 == 0;
}

template <class T, bool Transposed>
GatherProblem gather_problem(const ConvolutionSizes& sizes, const View& source, const void* weights,
                             const Finish& finish, const Workspace& workspace) {
  GatherProblem problem{};
  problem.source = source;
  problem.out = finish.out;
  problem.mask = finish.mask;
  problem.weights = weights;
  problem.bias = finish.bias;
  problem.relu = finish.relu;
  problem.batch = sizes.batch;
  problem.columns = Transposed ? sizes.channels_in : sizes.channels_out;
  problem.channels = Transposed ? sizes.channels_out : sizes.channels_in;
  problem.source_height = Transposed ? sizes.height_out : sizes.height_in;
  problem.source_width = Transposed ? sizes.width_out : sizes.width_in;
  problem.out_height = Transposed ? sizes.height_in : sizes.height_out;
  problem.out_width = Transposed ? sizes.width_in : sizes.width_out;
  problem.kernel = sizes.kernel;
  problem.stride = sizes.stride;
  problem.padding = sizes.padding;
  problem.workspace = workspace;
  problem.by_channels = Divider(problem.channels);
  problem.by_stride = Divider(sizes.stride);
  // A float32 source must be rounded to the operand's type, which a plain copy does not do.
  problem.vector_source = !source.single && aligned<T>(source, problem.channels);
  const int inner = sizes.known_channels > 0 ? sizes.known_channels
                                             : sizes.kernel * sizes.kernel * sizes.channels_in;
  const int contiguous = Transposed ? sizes.channels_in : inner;
  problem.vector_weights =
      contiguous % OperandTraits<T>::vector == 0 && reinterpret_cast<uintptr_t>(weights) % 16 == 0;
  const int step = Transposed ? sizes.stride : 1;
  problem.most_rows = divide_up(problem.out_height, step);
  problem.most_columns = divide_up(problem.out_width, step);
  for (int i = 0; i < 2; ++i) {
    const auto side = [&](int whole, int fewer) {
      return std::max(1, divide_up(whole, step) - fewer);
    };
    problem.by_columns[i] = Divider(side(problem.out_width, i));
    for (int j = 0; j < 2; ++j)
      problem.by_pixels[i][j] = Divider(side(problem.out_height, i) * side(problem.out_width, j));
  }
  problem.vector_mask =
      finish.mask.data && !finish.mask.single && aligned<T>(finish.mask, problem.columns);
  problem.known_channels = sizes.known_channels;
  const View& out = finish.out;
  problem.vector_out = out.channel == 1 && out.channel_group == 1 && out.batch % 4 == 0 &&
                       out.row % 4 == 0 && out.column % 4 == 0 &&
                       reinterpret_cast<uintptr_t>(out.data) % 16 == 0;
  return problem;
}

template <class T, bool Transposed>
void gather(const ConvolutionSizes& sizes, const View& source, const void* weights,
            const Finish& finish, const Workspace& workspace, cudaStream_t stream) {
  choose_gather<T, Transposed>(
      gather_problem<T, Transposed>(sizes, source, weights, finish, workspace), stream);
}

template <class T>
WeightProblem weight_problem(const ConvolutionSizes& sizes, const View& x, const View& y_gradient,
                             float* weights_gradient, float* bias_gradient,
                             const Workspace& workspace) {
  WeightProblem problem{};
  problem.x = x;
  problem.gradient = y_gradient;
  problem.weights = weights_gradient;
  problem.bias = bias_gradient;
  // Patches stand on the side that has more channels than the weights know.
  const bool x_patches = sizes.known_channels > 0 && !sizes.known_side_out;
  const bool y_patches = sizes.known_channels > 0 && sizes.known_side_out;
  problem.rows = y_patches ? sizes.known_channels : sizes.channels_out;
  problem.columns =
      x_patches ? sizes.known_channels : sizes.kernel * sizes.kernel * sizes.channels_in;
  problem.pixels = sizes.batch * sizes.height_out * sizes.width_out;
  problem.channels_in = sizes.channels_in;
  problem.source_height = sizes.height_in;
  problem.source_width = sizes.width_in;
  problem.kernel = sizes.kernel;
  problem.stride = sizes.stride;
  problem.padding = sizes.padding;
  problem.workspace = workspace;
  problem.by_channels = Divider(sizes.channels_in);
  problem.by_image = Divider(sizes.height_out * sizes.width_out);
  problem.by_width = Divider(sizes.width_out);
  problem.vector_x = !x.single && aligned<T>(x, sizes.channels_in);
  const bool one_pixel = sizes.height_out * sizes.width_out == 1;
  const bool contiguous = one_pixel || (y_gradient.row == y_gradient.column * sizes.width_out &&
                                        y_gradient.batch == y_gradient.row * sizes.height_out);
  problem.vector_gradient =
      !y_gradient.single && contiguous && aligned<T>(y_gradient, sizes.channels_out, one_pixel);
  if (one_pixel) problem.gradient.view.column = y_gradient.batch;  // pixels are images
  return problem;
}

template <class T>
void weights(const ConvolutionSizes& sizes, const View& x, const View& y_gradient,
             float* weights_gradient, float* bias_gradient, const Workspace& workspace,
             cudaStream_t stream) {
  choose_weights<T>(
      weight_problem<T>(sizes, x, y_gradient, weights_gradient, bias_gradient, workspace), stream);
}

}  // namespace facet::cuda
