// Times of every tile and way to share a sum, for one layer. The tiles' kernels are those of the
// library; which of them convolution_launch.cuh takes was chosen by these times.
#include "bench/convolution_lab/layer.cuh"
#include "facet/cuda/convolution_wgmma.cuh"

namespace facet::lab {

using cuda::divide_up;
using cuda::GatherProblem;
using cuda::Loads;
using cuda::SplitSum;
using cuda::WeightProblem;

namespace {

/// The three products of a layer in one shape of tile.
template <class T, class Shape>
struct TileLaunch {
  static void forward(const GatherProblem& problem, cudaStream_t stream, SplitSum split_sum) {
    cuda::launch_gather<T, Shape, false, Loads::aligned>(problem, stream, split_sum);
  }
  static void transposed(const GatherProblem& problem, cudaStream_t stream, SplitSum split_sum) {
    cuda::launch_gather<T, Shape, true, Loads::aligned>(problem, stream, split_sum);
  }
  static void gradients(const WeightProblem& problem, cudaStream_t stream, SplitSum split_sum) {
    cuda::launch_weights<T, Shape, Loads::aligned>(problem, stream, split_sum);
  }
};
/// Compiled for sm_90a alone, in convolution_wgmma.cu.
template <>
struct TileLaunch<__nv_bfloat16, cuda::WarpgroupTile> {
  static void forward(const GatherProblem& problem, cudaStream_t stream, SplitSum split_sum) {
    cuda::warpgroup_gather<false>(problem, stream, split_sum);
  }
  static void transposed(const GatherProblem& problem, cudaStream_t stream, SplitSum split_sum) {
    cuda::warpgroup_gather<true>(problem, stream, split_sum);
  }
  static void gradients(const WeightProblem& problem, cudaStream_t stream, SplitSum split_sum) {
    cuda::warpgroup_weights(problem, stream, split_sum);
  }
};

/// The result of one of a layer's products, and what it must be.
struct Trial {
  const char* name;
  void* out;
  Storage storage;
  size_t count;
  const double* expected;
  ReferenceLayout layout;

  double error() const { return relative_error({out, storage}, count, expected, layout); }
};

/// How one product is cut: tiles of the result, and stages of its sum.
struct Grid {
  int tiles, tile_elements, steps;

  /// Whether a way to share the sum is worth a try: neither too few blocks nor far too many.
  bool suits(const SplitSum& split_sum) const {
    const int splits = split_sum.splits, blocks = tiles * splits;
    const size_t sums = size_t(tiles) * (splits / split_sum.cluster) * tile_elements;
    return 2 * splits <= steps && (splits == 1 || blocks <= 560) &&
           (blocks >= 100 || 2 * steps <= 3 * splits) && sums <= cuda::workspace_sums;
  }
};

template <class Launch>
void scan(const Trial& trial, const char* tile, const Grid& grid, cudaStream_t stream,
          Launch launch) {
  std::printf("  %s %-16s %4d tiles %4d steps ", trial.name, tile, grid.tiles, grid.steps);
  for (const SplitSum split_sum :
       {SplitSum{1, 1}, SplitSum{2, 1}, SplitSum{2, 2}, SplitSum{3, 1}, SplitSum{4, 1},
        SplitSum{4, 2}, SplitSum{4, 4}, SplitSum{6, 2}, SplitSum{8, 4}, SplitSum{8, 8},
        SplitSum{12, 2}, SplitSum{12, 4}, SplitSum{16, 8}, SplitSum{24, 4}, SplitSum{24, 8},
        SplitSum{32, 8}, SplitSum{48, 8}, SplitSum{64, 8}}) {
    if (!grid.suits(split_sum)) continue;
    require(cudaMemset(trial.out, 0xff, trial.count * bytes_of(trial.storage)), "cudaMemset");
    launch(nullptr, split_sum);
    const double error = trial.error();
    std::printf(" %d/%d:%.1f", split_sum.splits, split_sum.cluster,
                microseconds(stream, [&](cudaStream_t on) { launch(on, split_sum); }));
    if (!(error < 3e-3)) std::printf("!%.0e", error);
  }
  std::printf("\n");
  std::fflush(stdout);
}

template <class T>
class Tuning {
 public:
  Tuning(const Layer& layer, cudaStream_t stream)
      : layer_(layer),
        stream_(stream),
        expected_y_(layer.y_count),
        expected_x_(layer.x_count),
        expected_w_(size_t(layer.sizes.channels_out) * layer.gradient_columns()),
        forward_(cuda::gather_problem<T, false>(layer.sizes, layer.x_view, layer.weights,
                                                layer.to_y, layer.workspace)),
        transposed_(cuda::gather_problem<T, true>(layer.sizes, layer.y_view, layer.weights,
                                                  layer.to_x, layer.workspace)),
        gradients_(cuda::weight_problem<T>(layer.sizes, layer.x_view, layer.y_view,
                                           layer.weights_gradient, layer.bias_gradient,
                                           layer.workspace)) {
    plain_forward(layer.sizes, layer.x_numbers(), layer.weight_numbers(), layer.bias,
                  layer.to_y.relu, expected_y_);
    plain_transposed(layer.sizes, layer.y_numbers(), layer.weight_numbers(), layer.x_numbers(),
                     expected_x_);
    plain_weights(layer.sizes, layer.x_numbers(), layer.y_numbers(), expected_w_);
  }

  template <class Shape>
  void time_tile(const char* name) const {
    using Tile = TileLaunch<T, Shape>;
    const cuda::ConvolutionSizes& s = layer_.sizes;
    const auto grid = [](int matrices, int rows, int columns, int depth) {
      const int tiles = divide_up(rows, Shape::rows) * divide_up(columns, Shape::columns);
      return Grid{matrices * tiles, Shape::rows * Shape::columns, divide_up(depth, Shape::depth)};
    };
    const int phases = s.stride * s.stride, taps = divide_up(s.kernel, s.stride);
    const int pixels_in = s.batch * s.height_in * s.width_in;
    const int pixels_out = s.batch * s.height_out * s.width_out;
    const size_t columns = layer_.gradient_columns(), weights = columns - 1;
    const Trial to_y{"forward", layer_.out, layer_.precision, layer_.y_count, expected_y_, {}};
    const Trial to_x{"transposed", layer_.out, layer_.precision, layer_.x_count, expected_x_, {}};
    const Trial to_w{"weights",   layer_.weights_gradient, Storage::float32, layer_.weight_count,
                     expected_w_, {0, weights, 1}};
    if (s.channels_in % Shape::depth == 0)
      scan(to_y, name, grid(1, pixels_out, s.channels_out, s.kernel * s.kernel * s.channels_in),
           stream_, [&](cudaStream_t on, SplitSum split) { Tile::forward(forward_, on, split); });
    if (s.channels_out % Shape::depth == 0)
      scan(to_x, name,
           grid(phases, pixels_in / phases, s.channels_in, taps * taps * s.channels_out), stream_,
           [&](cudaStream_t on, SplitSum split) { Tile::transposed(transposed_, on, split); });
    scan(to_w, name, grid(1, s.channels_out, static_cast<int>(columns), pixels_out), stream_,
         [&](cudaStream_t on, SplitSum split) { Tile::gradients(gradients_, on, split); });
  }

 private:
  const Layer& layer_;
  cudaStream_t stream_;
  Buffer<double> expected_y_, expected_x_, expected_w_;
  GatherProblem forward_, transposed_;
  WeightProblem gradients_;
};

template <class T>
void time_tiles(const Layer& layer, cudaStream_t stream) {
  const Tuning<T> tuning(layer, stream);
  if (layer.sizes.height_out == 1) {
    tuning.template time_tile<cuda::MediumTile>("64x64");
    tuning.template time_tile<cuda::LongTile<T>>("64x64 long");
    tuning.template time_tile<cuda::WideTile<T>>("64x128 long");
  } else if (layer.sizes.channels_in <= 64) {
    tuning.template time_tile<cuda::TinyTile>("32x32");
    tuning.template time_tile<cuda::SmallTile>("64x32");
    tuning.template time_tile<cuda::MediumTile>("64x64");
  } else {
    tuning.template time_tile<cuda::LargeTile<T>>("128x128");
    if constexpr (sizeof(T) == 2)
      if (cuda::has_warpgroups()) tuning.template time_tile<cuda::WarpgroupTile>("warpgroups");
  }
}

/// The parts of a layer whose input has few channels.
void time_patches(const Layer& layer, cudaStream_t stream) {
  const PatchSizes& patch = layer.patch;
  const auto time = [&](const auto& call) { return microseconds(stream, call); };
  const double unfold = time([&](cudaStream_t on) {
    cuda::unfold(layer.operand, layer.sizes, layer.x_view, layer.patches, patch.pitch, on);
  });
  const double product = time([&](cudaStream_t on) {
    cuda::convolve(layer.operand, patch.from_patches, layer.patch_view, layer.weights, layer.to_y,
                   layer.workspace, on);
  });
  const double back = time([&](cudaStream_t on) {
    cuda::convolve_transposed(layer.operand, patch.to_products, layer.y_view, layer.weights,
                              layer.to_products, layer.workspace, on);
  });
  const double fold = time([&](cudaStream_t on) {
    cuda::fold_transposed(layer.sizes, layer.products, patch.product_pitch, nullptr, layer.to_x.out,
                          on);
  });
  const double gradients = time([&](cudaStream_t on) { layer.gradients(on); });
  std::printf("  unfold %.1f, product %.1f; back: product %.1f, fold %.1f; weights %.1f\n", unfold,
              product, back, fold, gradients);
}

}  // namespace

void tune(const Layer& layer, cudaStream_t stream) {
  const cuda::ConvolutionSizes& s = layer.sizes;
  if (layer.patch.x_narrow) time_patches(layer, stream);
  if (s.channels_in % 64 != 0 || s.channels_out % 64 != 0) return;
  if (layer.operand == cuda::Operand::bf16)
    time_tiles<__nv_bfloat16>(layer, stream);
  else if (s.channels_in <= 64)
    time_tiles<float>(layer, stream);
}

}  // namespace facet::lab
