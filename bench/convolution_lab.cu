// Checks the convolution kernels against plain float64 sums on the card, on the layers of both of
// the paper's networks and on odd sizes, and times them. Needs nothing but CUDA:
//   nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -I. bench/convolution_lab.cu
//     facet/cuda/convolution*.cu -o lab
//   ./lab [check|time|tune [LAYER]]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_bf16.h>
#include <string>
#include <vector>

#include "facet/cuda/convolution.h"
#include "facet/cuda/convolution_wgmma.cuh"

using namespace facet::cuda;

namespace {

void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

template <class T>
T* allocate(size_t count) {
  void* data = nullptr;
  require(cudaMalloc(&data, count * sizeof(T)), "cudaMalloc");
  return static_cast<T*>(data);
}

/// Uniform numbers in [-1, 1) that the operand can hold.
__global__ void fill(void* data, size_t count, unsigned seed, int kind) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    unsigned long long x = (i + 1) * 0x9e3779b97f4a7c15ull + seed * 0xbf58476d1ce4e5b9ull;
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    x ^= x >> 31;
    const float value = static_cast<float>(x >> 40) / 8388608.0f - 1.0f;
    if (kind == 2)
      static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(value);
    else
      static_cast<float*>(data)[i] = __uint_as_float(__float_as_uint(value) & 0xffffe000u);
  }
}

__device__ double read(const void* data, int kind, size_t i) {
  return kind == 2 ? __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i])
                   : static_cast<const float*>(data)[i];
}

__global__ void plain_forward(ConvolutionSizes s, const void* x, const void* w, const float* bias,
                              int kind, bool relu, double* y) {
  const size_t count = size_t(s.batch) * s.height_out * s.width_out * s.channels_out;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int n = i % s.channels_out;
    const int ow = i / s.channels_out % s.width_out;
    const int oh = i / s.channels_out / s.width_out % s.height_out;
    const int b = i / s.channels_out / s.width_out / s.height_out;
    double sum = bias[n];
    for (int r = 0; r < s.kernel; ++r)
      for (int q = 0; q < s.kernel; ++q) {
        const int h = oh * s.stride - s.padding + r, v = ow * s.stride - s.padding + q;
        if (h < 0 || h >= s.height_in || v < 0 || v >= s.width_in) continue;
        for (int c = 0; c < s.channels_in; ++c)
          sum +=
              read(x, kind, ((size_t(b) * s.height_in + h) * s.width_in + v) * s.channels_in + c) *
              read(w, kind, ((size_t(n) * s.kernel + r) * s.kernel + q) * s.channels_in + c);
      }
    y[i] = sum > 0 || !relu ? sum : 0;
  }
}

__global__ void plain_transposed(ConvolutionSizes s, const void* y, const void* w, const void* mask,
                                 int kind, double* x) {
  const size_t count = size_t(s.batch) * s.height_in * s.width_in * s.channels_in;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int c = i % s.channels_in;
    const int v = i / s.channels_in % s.width_in;
    const int h = i / s.channels_in / s.width_in % s.height_in;
    const int b = i / s.channels_in / s.width_in / s.height_in;
    double sum = 0;
    for (int r = 0; r < s.kernel; ++r)
      for (int q = 0; q < s.kernel; ++q) {
        const int a = h + s.padding - r, e = v + s.padding - q;
        if (a < 0 || e < 0 || a % s.stride || e % s.stride) continue;
        const int oh = a / s.stride, ow = e / s.stride;
        if (oh >= s.height_out || ow >= s.width_out) continue;
        for (int n = 0; n < s.channels_out; ++n)
          sum += read(y, kind,
                      ((size_t(b) * s.height_out + oh) * s.width_out + ow) * s.channels_out + n) *
                 read(w, kind, ((size_t(n) * s.kernel + r) * s.kernel + q) * s.channels_in + c);
      }
    x[i] = !mask || read(mask, kind, i) > 0 ? sum : 0;
  }
}

/// One block an entry: [channels_out][taps * channels_in + 1], the last column the bias.
__global__ void plain_weights(ConvolutionSizes s, const void* x, const void* y, int kind,
                              double* out) {
  const int columns = s.kernel * s.kernel * s.channels_in + 1;
  const int n = blockIdx.x / columns, column = blockIdx.x % columns;
  const int tap = column / s.channels_in, c = column % s.channels_in;
  double sum = 0;
  const int pixels = s.batch * s.height_out * s.width_out;
  for (int p = threadIdx.x; p < pixels; p += blockDim.x) {
    const int ow = p % s.width_out, oh = p / s.width_out % s.height_out;
    const int b = p / s.width_out / s.height_out;
    const double gradient = read(y, kind, size_t(p) * s.channels_out + n);
    if (column == columns - 1) {
      sum += gradient;
      continue;
    }
    const int h = oh * s.stride - s.padding + tap / s.kernel;
    const int v = ow * s.stride - s.padding + tap % s.kernel;
    if (h < 0 || h >= s.height_in || v < 0 || v >= s.width_in) continue;
    sum += gradient *
           read(x, kind, ((size_t(b) * s.height_in + h) * s.width_in + v) * s.channels_in + c);
  }
  __shared__ double parts[128];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = parts[0];
}

/// ||out - reference|| / ||reference||, infinite where something is not finite.
double distance(const std::vector<double>& out, const std::vector<double>& reference) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!std::isfinite(out[i])) return INFINITY;
    difference += (out[i] - reference[i]) * (out[i] - reference[i]);
    norm += reference[i] * reference[i];
  }
  return std::sqrt(difference / norm);
}

std::vector<double> download(const void* data, size_t count, int kind) {
  std::vector<double> values(count);
  std::vector<char> bytes(count * (kind == 2 ? 2 : kind));
  require(cudaMemcpy(bytes.data(), data, bytes.size(), cudaMemcpyDeviceToHost), "download");
  for (size_t i = 0; i < count; ++i) {
    if (kind == 8) std::memcpy(&values[i], &bytes[8 * i], 8);
    if (kind == 4) {
      float value;
      std::memcpy(&value, &bytes[4 * i], 4);
      values[i] = value;
    }
    if (kind == 2) {
      unsigned bits = 0;
      std::memcpy(reinterpret_cast<char*>(&bits) + 2, &bytes[2 * i], 2);
      float value;
      std::memcpy(&value, &bits, 4);
      values[i] = value;
    }
  }
  return values;
}

View packed(void* data, int height, int width, int channels, bool single) {
  View view;
  view.data = data;
  view.single = single;
  view.column = channels;
  view.row = width * channels;
  view.batch = height * width * channels;
  return view;
}

template <class Call>
double microseconds(Call call) {
  cudaStream_t stream;
  require(cudaStreamCreate(&stream), "stream");
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  constexpr int repeats = 20;
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  for (int i = 0; i < repeats; ++i) call(stream);
  require(cudaStreamEndCapture(stream, &graph), "end of capture");
  require(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
  cudaEvent_t start, end;
  cudaEventCreate(&start);
  cudaEventCreate(&end);
  double best = 1e30;
  for (int round = 0; round < 5; ++round) {
    cudaEventRecord(start, stream);
    require(cudaGraphLaunch(executable, stream), "launch");
    cudaEventRecord(end, stream);
    require(cudaStreamSynchronize(stream), "replay");
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, start, end);
    best = std::min(best, 1e3 * milliseconds / repeats);
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  return best;
}

/// Adds (out - reference)^2 and reference^2 to sums; `last` of every `columns` references, where
/// not zero, is not the output's.
__global__ void add_squares(const void* out, int kind, const double* reference, size_t count,
                            int columns, double* sums) {
  double difference = 0, norm = 0;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const double expected = reference[columns ? i + i / (columns - 1) : i];
    const double found = read(out, kind, i);
    difference += isfinite(found) ? (found - expected) * (found - expected) : INFINITY;
    norm += expected * expected;
  }
  atomicAdd(sums, difference);
  atomicAdd(sums + 1, norm);
}

/// One kind of product of one layer: what there is to compare its results with.
struct Trial {
  void* out;
  int kind;
  size_t count;
  const double* reference;
  int columns;

  double error() const {
    double* sums = allocate<double>(2);
    cudaMemset(sums, 0, 16);
    add_squares<<<264, 256>>>(out, kind, reference, count, columns, sums);
    double values[2];
    require(cudaMemcpy(values, sums, 16, cudaMemcpyDeviceToHost), "products");
    cudaFree(sums);
    return std::sqrt(values[0] / values[1]);
  }
};

/// Times of one cut by sharing, "!" and the error beside wrong ones.
template <class Launch>
void scan(const char* what, const char* name, const Trial& trial, int tiles, int tile_elements,
          int steps, Launch launch) {
  std::printf("  %s %-16s %4d tiles %4d steps ", what, name, tiles, steps);
  for (const Sharing sharing :
       {Sharing{1, 1}, Sharing{2, 1}, Sharing{2, 2}, Sharing{3, 1}, Sharing{4, 1}, Sharing{4, 2},
        Sharing{4, 4}, Sharing{6, 2}, Sharing{8, 4}, Sharing{8, 8}, Sharing{12, 2}, Sharing{12, 4},
        Sharing{16, 8}, Sharing{24, 4}, Sharing{24, 8}, Sharing{32, 8}, Sharing{48, 8},
        Sharing{64, 8}}) {
    if (2 * sharing.splits > steps || (sharing.splits > 1 && tiles * sharing.splits > 560) ||
        (tiles * sharing.splits < 100 && 2 * steps > 3 * sharing.splits) ||
        size_t(tiles) * (sharing.splits / sharing.cluster) * tile_elements > workspace_sums)
      continue;
    cudaMemset(trial.out, 0xff, trial.count * trial.kind);
    launch(nullptr, sharing);
    const double error = trial.error();
    std::printf(" %d/%d:%.1f", sharing.splits, sharing.cluster,
                microseconds([&](cudaStream_t stream) { launch(stream, sharing); }));
    if (!(error < 3e-3)) std::printf("!%.0e", error);
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// Times of every cut and sharing for one layer, to choose the rules of convolution_launch.cuh by.
template <class T>
void tune(const ConvolutionSizes& s, const View& x, const View& y, const void* w,
          const Finish& forward, const Finish& backward, float* dw, float* db,
          const Workspace& workspace) {
  if (s.channels_in % 64 || s.channels_out % 64) return;
  constexpr int kind = sizeof(T);
  const size_t xs = size_t(s.batch) * s.height_in * s.width_in * s.channels_in;
  const size_t ys = size_t(s.batch) * s.height_out * s.width_out * s.channels_out;
  const int columns = s.kernel * s.kernel * s.channels_in + 1;
  double *expected_y = allocate<double>(ys), *expected_x = allocate<double>(xs),
         *expected_w = allocate<double>(size_t(s.channels_out) * columns);
  plain_forward<<<1056, 128>>>(s, x.data, w, forward.bias, kind, forward.relu, expected_y);
  plain_transposed<<<1056, 128>>>(s, y.data, w, x.data, kind, expected_x);
  plain_weights<<<s.channels_out * columns, 128>>>(s, x.data, y.data, kind, expected_w);
  require(cudaDeviceSynchronize(), "references");
  const Trial to_y{forward.out.data, kind, ys, expected_y, 0};
  const Trial to_x{backward.out.data, kind, xs, expected_x, 0};
  const Trial to_w{dw, 4, size_t(s.channels_out) * (columns - 1), expected_w, columns};
  const GatherProblem f = gather_problem<T, false>(s, x, w, forward, workspace);
  const GatherProblem b = gather_problem<T, true>(s, y, w, backward, workspace);
  const WeightProblem g = weight_problem<T>(s, x, y, dw, db, workspace);
  const auto each = [&](auto cut, const char* name) {
    using C = decltype(cut);
    const int area = C::rows * C::columns;
    const auto tiles = [](int rows, int across) {
      return divide_up(rows, C::rows) * divide_up(across, C::columns);
    };
    const int classes = s.stride * s.stride, taps = divide_up(s.kernel, s.stride);
    if (s.channels_in % C::depth == 0)
      scan("forward", name, to_y, tiles(s.batch * s.height_out * s.width_out, s.channels_out), area,
           divide_up(s.kernel * s.kernel * s.channels_in, C::depth),
           [&](cudaStream_t stream, Sharing sharing) {
             launch_gather<T, C, false, Fetch::even>(f, stream, sharing);
           });
    if (s.channels_out % C::depth == 0)
      scan("transpo", name, to_x,
           classes * tiles(s.batch * s.height_in * s.width_in / classes, s.channels_in), area,
           divide_up(taps * taps * s.channels_out, C::depth),
           [&](cudaStream_t stream, Sharing sharing) {
             launch_gather<T, C, true, Fetch::even>(b, stream, sharing);
           });
    scan("weights", name, to_w, tiles(s.channels_out, columns), area,
         divide_up(s.batch * s.height_out * s.width_out, C::depth),
         [&](cudaStream_t stream, Sharing sharing) {
           launch_weights<T, C, Fetch::even>(g, stream, sharing);
         });
  };
  if (s.height_out == 1) {
    each(MediumCut{}, "64x64");
    each(LongCut<T>{}, "64x64 long");
    each(WideCut<T>{}, "64x128 long");
  } else if (s.channels_in <= 64) {
    each(TinyCut{}, "32x32");
    each(SmallCut{}, "64x32");
    each(MediumCut{}, "64x64");
  } else {
    each(LargeCut<T>{}, "128x128");
    if constexpr (sizeof(T) == 2) each(WarpgroupCut{}, "warpgroups");
  }
  for (double* data : {expected_y, expected_x, expected_w}) cudaFree(data);
}

struct Layer {
  const char* name;
  ConvolutionSizes sizes;
};

ConvolutionSizes layer(int batch, int in, int out, int side, int stride, int kernel = 3) {
  const int padding = (kernel - 1) / 2, after = (side + 2 * padding - kernel) / stride + 1;
  return {batch, in, side, side, out, after, after, kernel, stride, padding};
}

bool failed = false;
double totals[3];

void run(const Layer& layer, Operand operand, bool check, bool time, bool scan_cuts,
         const Workspace& workspace) {
  const ConvolutionSizes& s = layer.sizes;
  const int kind = operand == Operand::bf16 ? 2 : 4;
  const size_t xs = size_t(s.batch) * s.height_in * s.width_in * s.channels_in;
  const size_t ys = size_t(s.batch) * s.height_out * s.width_out * s.channels_out;
  const size_t ws = size_t(s.channels_out) * s.kernel * s.kernel * s.channels_in;
  // Few channels come as float32: images and the decoder's output.
  const bool x_single = s.channels_in % 8 != 0, y_single = s.channels_out % 8 != 0;
  const int x_kind = x_single ? 4 : kind, y_kind = y_single ? 4 : kind;
  void *x = allocate<char>(xs * 4), *y = allocate<char>(ys * 4), *w = allocate<char>(ws * 4),
       *out = allocate<char>(std::max(xs, ys) * 4);
  float *bias = allocate<float>(s.channels_out), *dw = allocate<float>(ws),
        *db = allocate<float>(s.channels_out);
  // Values that both kinds hold exactly, so that one reference reader serves.
  fill<<<264, 256>>>(x, xs, 1, kind);
  fill<<<264, 256>>>(y, ys, 2, kind);
  fill<<<264, 256>>>(w, ws, 3, kind);
  fill<<<8, 256>>>(bias, s.channels_out, 4, 4);
  void *x_in = x, *y_in = y;
  std::vector<float> widened;
  const auto widen = [&](void* data, size_t count) {
    const std::vector<double> values = download(data, count, kind);
    widened.assign(values.begin(), values.end());
    void* single = allocate<float>(count);
    cudaMemcpy(single, widened.data(), count * 4, cudaMemcpyHostToDevice);
    return single;
  };
  if (x_single && kind == 2) x_in = widen(x, xs);
  if (y_single && kind == 2) y_in = widen(y, ys);
  const View xv = packed(x_in, s.height_in, s.width_in, s.channels_in, x_single);
  const View yv = packed(y_in, s.height_out, s.width_out, s.channels_out, y_single);
  View mask = xv;
  Finish forward, backward;
  forward.out = packed(out, s.height_out, s.width_out, s.channels_out, y_single);
  forward.bias = bias;
  forward.relu = true;
  backward.out = packed(out, s.height_in, s.width_in, s.channels_in, x_single);
  backward.mask = mask;
  const bool x_narrow = x_single, y_narrow = y_single && !x_single;
  const int taps = s.kernel * s.kernel, vector = kind == 2 ? 8 : 4;
  const auto filled = [](int count, int unit) { return (count + unit - 1) / unit * unit; };
  const int known = taps * (x_narrow ? s.channels_in : s.channels_out);
  const int pitch = filled(known + 1, vector), product_pitch = filled(known, 4);
  const size_t rows =
      size_t(s.batch) * (x_narrow ? s.height_out * s.width_out : s.height_in * s.width_in);
  void* patches = x_narrow || y_narrow ? allocate<char>(rows * pitch * 4) : nullptr;
  float* products = x_narrow || y_narrow ? allocate<float>(rows * product_pitch) : nullptr;
  float* no_bias = allocate<float>(std::max(s.channels_in, s.channels_out));
  cudaMemset(no_bias, 0, std::max(s.channels_in, s.channels_out) * 4);
  const int patch_height = x_narrow ? s.height_out : s.height_in;
  const int patch_width = x_narrow ? s.width_out : s.width_in;
  const View patch_view = packed(patches, patch_height, patch_width, pitch, false);
  ConvolutionSizes flat{s.batch,
                        x_narrow ? pitch : s.channels_in,
                        patch_height,
                        patch_width,
                        y_narrow ? pitch : s.channels_out,
                        patch_height,
                        patch_width,
                        1,
                        1,
                        0,
                        known,
                        y_narrow};
  ConvolutionSizes product = flat;
  product.known_channels = 0;
  (x_narrow ? product.channels_in : product.channels_out) = known;
  Finish to_products;
  to_products.out = packed(products, patch_height, patch_width, product_pitch, true);
  if (x_narrow) backward.mask = View{};
  if (y_narrow) forward.relu = false;
  const auto run_forward = [&](cudaStream_t stream) {
    if (x_narrow) {
      unfold(operand, s, xv, patches, pitch, stream);
      convolve(operand, flat, patch_view, w, forward, workspace, stream);
    } else if (y_narrow) {
      convolve(operand, product, xv, w, to_products, workspace, stream);
      fold(s, products, product_pitch, bias, forward.out, stream);
    } else {
      convolve(operand, s, xv, w, forward, workspace, stream);
    }
  };
  const auto run_backward = [&](cudaStream_t stream) {
    if (x_narrow) {
      convolve_transposed(operand, product, yv, w, to_products, workspace, stream);
      fold_transposed(s, products, product_pitch, no_bias, backward.out, stream);
    } else if (y_narrow) {
      unfold_transposed(operand, s, yv, patches, pitch, stream);
      convolve_transposed(operand, flat, patch_view, w, backward, workspace, stream);
    } else {
      convolve_transposed(operand, s, yv, w, backward, workspace, stream);
    }
  };
  const auto run_weights = [&](cudaStream_t stream) {
    if (x_narrow) {
      weight_gradient(operand, flat, patch_view, yv, dw, db, workspace, stream);
    } else if (y_narrow) {
      weight_gradient(operand, flat, xv, patch_view, dw, nullptr, workspace, stream);
      channel_sums(operand, yv, s.batch, s.height_out, s.width_out, s.channels_out, db, workspace,
                   stream);
    } else {
      weight_gradient(operand, s, xv, yv, dw, db, workspace, stream);
    }
  };
  std::printf("%-4s %-22s", operand == Operand::bf16 ? "bf16" : "tf32", layer.name);
  if (check) {
    double* reference = allocate<double>(std::max(std::max(xs, ys), ws + s.channels_out));
    cudaMemset(out, 0xff, std::max(xs, ys) * 4);
    run_forward(nullptr);
    plain_forward<<<1056, 128>>>(s, x, w, bias, kind, !y_narrow, reference);
    require(cudaDeviceSynchronize(), "forward");
    const double e1 = distance(download(out, ys, y_kind), download(reference, ys, 8));
    cudaMemset(out, 0xff, std::max(xs, ys) * 4);
    run_backward(nullptr);
    plain_transposed<<<1056, 128>>>(s, y, w, x_narrow ? nullptr : x, kind, reference);
    require(cudaDeviceSynchronize(), "transposed");
    const double e2 = distance(download(out, xs, x_kind), download(reference, xs, 8));
    cudaMemset(dw, 0xff, ws * 4);
    cudaMemset(db, 0xff, s.channels_out * 4);
    if (x_narrow) unfold(operand, s, xv, patches, pitch, nullptr);
    run_weights(nullptr);
    const int columns = s.kernel * s.kernel * s.channels_in + 1;
    plain_weights<<<s.channels_out * columns, 128>>>(s, x, y, kind, reference);
    require(cudaDeviceSynchronize(), "weights");
    const std::vector<double> all = download(reference, size_t(s.channels_out) * columns, 8);
    std::vector<double> weights, biases;
    for (size_t i = 0; i < all.size(); ++i)
      (i % columns == size_t(columns - 1) ? biases : weights).push_back(all[i]);
    const double e3 = distance(download(dw, ws, 4), weights);
    const double e4 = distance(download(db, s.channels_out, 4), biases);
    channel_sums(operand, yv, s.batch, s.height_out, s.width_out, s.channels_out, db, workspace,
                 nullptr);
    require(cudaDeviceSynchronize(), "sums");
    const double e5 = distance(download(db, s.channels_out, 4), biases);
    const double limit = kind == 2 ? 3e-3 : 5e-4;
    const bool good = e1 < limit && e2 < limit && e3 < 1e-4 && e4 < 1e-4 && e5 < 1e-4;
    failed |= !good;
    std::printf(" %.1e %.1e %.1e %.1e %.1e %s", e1, e2, e3, e4, e5, good ? "ok" : "WRONG");
    cudaFree(reference);
  }
  if (time) {
    const double gigaflop = 2e-9 * s.batch * s.height_out * s.width_out * double(s.channels_out) *
                            s.channels_in * s.kernel * s.kernel;
    const double t[3] = {microseconds(run_forward), microseconds(run_backward),
                         microseconds(run_weights)};
    for (int i = 0; i < 3; ++i) totals[i] += t[i];
    std::printf("  %6.1f %6.1f %6.1f us  %6.1f %6.1f %6.1f TFLOP/s", t[0], t[1], t[2],
                1e3 * gigaflop / t[0], 1e3 * gigaflop / t[1], 1e3 * gigaflop / t[2]);
  }
  std::printf("\n");
  if (scan_cuts && x_narrow) {
    std::printf(
        "  unfold %.1f, product %.1f; back: product %.1f, fold %.1f; weights %.1f\n",
        microseconds([&](cudaStream_t stream) { unfold(operand, s, xv, patches, pitch, stream); }),
        microseconds([&](cudaStream_t stream) {
          convolve(operand, flat, patch_view, w, forward, workspace, stream);
        }),
        microseconds([&](cudaStream_t stream) {
          convolve_transposed(operand, product, yv, w, to_products, workspace, stream);
        }),
        microseconds([&](cudaStream_t stream) {
          fold_transposed(s, products, product_pitch, no_bias, backward.out, stream);
        }),
        microseconds(run_weights));
  }
  if (scan_cuts && kind == 2)
    tune<__nv_bfloat16>(s, xv, yv, w, forward, backward, dw, db, workspace);
  if (scan_cuts && kind == 4 && s.channels_in <= 64)
    tune<float>(s, xv, yv, w, forward, backward, dw, db, workspace);
  if (x_in != x) cudaFree(x_in);
  if (y_in != y) cudaFree(y_in);
  for (void* data : {x, y, w, out, patches}) cudaFree(data);
  for (float* data : {bias, dw, db, products, no_bias}) cudaFree(data);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "both", only = argc > 2 ? argv[2] : "";
  const bool check = what != "time" && what != "tune", time = what != "check";
  Workspace workspace{allocate<float>(workspace_sums), allocate<int>(workspace_counters)};
  cudaMemset(workspace.counters, 0, workspace_counters * sizeof(int));
  const std::vector<Layer> odd = {{"3 5->7 side 9 /2", layer(3, 5, 7, 9, 2)},
                                  {"2 8->16 side 7 /1", layer(2, 8, 16, 7, 1)},
                                  {"5 24->40 side 5 /2", layer(5, 24, 40, 5, 2)},
                                  {"1 16->8 side 3 /1", layer(1, 16, 8, 3, 1)},
                                  {"3 8->8 side 8 /2 k4", layer(3, 8, 8, 8, 2, 4)},
                                  {"7 96->96 side 6 /1", layer(7, 96, 96, 6, 1)},
                                  {"4 16->200 side 6 /2", layer(4, 16, 200, 6, 2)},
                                  {"2 40->1 side 12 /1 k5", layer(2, 40, 1, 12, 1, 5)},
                                  {"5 8->16 side 10 /3", layer(5, 8, 16, 10, 3)},
                                  {"33 72->48 side 1 k1", layer(33, 72, 48, 1, 1, 1)},
                                  {"21 192->320 side 19 /2", layer(21, 192, 320, 19, 2)},
                                  {"13 128->192 s. 16 k5", layer(13, 128, 192, 16, 1, 5)},
                                  {"150 128->128 s. 20 /3", layer(150, 128, 128, 20, 3)},
                                  {"64 5->128 side 24 /1", layer(64, 5, 128, 24, 1)},
                                  {"64 2->128 side 24 /1", layer(64, 2, 128, 24, 1)}};
  const int b = 64;
  const std::vector<Layer> paper28 = {{"1->32 28", layer(b, 1, 32, 28, 1)},
                                      {"32->32 28/2", layer(b, 32, 32, 28, 2)},
                                      {"32->32 14", layer(b, 32, 32, 14, 1)},
                                      {"32->64 14/2", layer(b, 32, 64, 14, 2)},
                                      {"64->64 7", layer(b, 64, 64, 7, 1)},
                                      {"64->64 7/2", layer(b, 64, 64, 7, 2)},
                                      {"64->64 4", layer(b, 64, 64, 4, 1)},
                                      {"head 1024->128", layer(b, 1024, 128, 1, 1, 1)},
                                      {"stem 64->1024", layer(b, 64, 1024, 1, 1, 1)},
                                      {"32->1 28", layer(b, 32, 1, 28, 1)}};
  const std::vector<Layer> paper64 = {{"3->128 64/2", layer(b, 3, 128, 64, 2)},
                                      {"128->256 32/2", layer(b, 128, 256, 32, 2)},
                                      {"256->512 16/2", layer(b, 256, 512, 16, 2)},
                                      {"512->1024 8/2", layer(b, 512, 1024, 8, 2)},
                                      {"head 16384->640", layer(b, 16384, 640, 1, 1, 1)},
                                      {"stem 320->16384", layer(b, 320, 16384, 1, 1, 1)},
                                      {"6->128 64/2", layer(b, 6, 128, 64, 2)}};
  std::printf(
      "relative errors: forward, transposed, weights, bias, sums; times of the first three\n");
  for (const Operand operand : {Operand::tf32, Operand::bf16}) {
    if (check)
      for (const Layer& layer : odd)
        if (std::string(layer.name).find(only) != std::string::npos)
          run(layer, operand, true, false, false, workspace);
    for (const auto& network : {paper28, paper64}) {
      std::fill(totals, totals + 3, 0.0);
      for (const Layer& layer : network)
        if (std::string(layer.name).find(only) != std::string::npos)
          run(layer, operand, check, time, what == "tune", workspace);
      if (time)
        std::printf("     sum of the above: %.1f %.1f %.1f us\n", totals[0], totals[1], totals[2]);
    }
  }
  std::printf(failed ? "WRONG\n" : "all right\n");
  return failed;
}
