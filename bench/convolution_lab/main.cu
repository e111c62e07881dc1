// Checks the convolution kernels against plain float64 sums, on the layers of both of the paper's
// networks and on odd sizes, and times them. bench_convolution_lab [check|time|tune [LAYER]]: all
// layers whose name contains LAYER; without arguments, checks and times. Checks go on with what
// other GPUs would choose, as far as this one has it.
#include <string>

#include "bench/convolution_lab/layer.cuh"
#include "facet/cuda/convolution_launch.cuh"

namespace facet::lab {

namespace {

using cuda::ConvolutionSizes;
using cuda::Operand;

struct NamedLayer {
  const char* name;
  ConvolutionSizes sizes;
};

ConvolutionSizes layer(int batch, int in, int out, int side, int stride, int kernel = 3) {
  const int padding = (kernel - 1) / 2, after = (side + 2 * padding - kernel) / stride + 1;
  return {batch, in, side, side, out, after, after, kernel, stride, padding};
}

const std::vector<NamedLayer> odd_layers = {{"3 5->7 side 9 /2", layer(3, 5, 7, 9, 2)},
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
const std::vector<NamedLayer> paper28 = {{"1->32 28", layer(64, 1, 32, 28, 1)},
                                         {"32->32 28/2", layer(64, 32, 32, 28, 2)},
                                         {"32->32 14", layer(64, 32, 32, 14, 1)},
                                         {"32->64 14/2", layer(64, 32, 64, 14, 2)},
                                         {"64->64 7", layer(64, 64, 64, 7, 1)},
                                         {"64->64 7/2", layer(64, 64, 64, 7, 2)},
                                         {"64->64 4", layer(64, 64, 64, 4, 1)},
                                         {"head 1024->128", layer(64, 1024, 128, 1, 1, 1)},
                                         {"stem 64->1024", layer(64, 64, 1024, 1, 1, 1)},
                                         {"32->1 28", layer(64, 32, 1, 28, 1)}};
const std::vector<NamedLayer> paper64 = {{"3->128 64/2", layer(64, 3, 128, 64, 2)},
                                         {"128->256 32/2", layer(64, 128, 256, 32, 2)},
                                         {"256->512 16/2", layer(64, 256, 512, 16, 2)},
                                         {"512->1024 8/2", layer(64, 512, 1024, 8, 2)},
                                         {"head 16384->640", layer(64, 16384, 640, 1, 1, 1)},
                                         {"stem 320->16384", layer(64, 320, 16384, 1, 1, 1)},
                                         {"6->128 64/2", layer(64, 6, 128, 64, 2)}};

/// What to do with the layers.
struct Plan {
  bool check, time, tune;
  std::string only;
};

class Session {
 public:
  explicit Session(Plan plan) : plan_(std::move(plan)) {
    require(cudaStreamCreate(&stream_), "stream");
  }
  ~Session() { cudaStreamDestroy(stream_); }
  Session(const Session&) = delete;

  void run(const std::vector<NamedLayer>& layers, Operand operand, bool timed);
  bool failed() const { return failed_; }

 private:
  void check(const Layer& layer);
  void time(const Layer& layer, double (&totals)[3]) const;

  Plan plan_;
  cudaStream_t stream_ = nullptr;
  WorkspaceMemory workspace_;
  bool failed_ = false;
};

void Session::check(const Layer& layer) {
  const LayerErrors e = layer.check();
  const double limit = layer.operand == Operand::bf16 ? 3e-3 : 5e-4;
  const bool good = e.forward < limit && e.transposed < limit && e.weights < 1e-4 &&
                    e.bias < 1e-4 && e.channel_sums < 1e-4;
  failed_ |= !good;
  std::printf(" %.1e %.1e %.1e %.1e %.1e %s", e.forward, e.transposed, e.weights, e.bias,
              e.channel_sums, good ? "ok" : "WRONG");
}

void Session::time(const Layer& layer, double (&totals)[3]) const {
  const double times[3] = {microseconds(stream_, [&](cudaStream_t on) { layer.forward(on); }),
                           microseconds(stream_, [&](cudaStream_t on) { layer.transposed(on); }),
                           microseconds(stream_, [&](cudaStream_t on) { layer.gradients(on); })};
  for (const double t : times) std::printf(" %6.1f", t);
  std::printf(" us ");
  for (const double t : times) std::printf(" %6.1f", 1e3 * layer.gigaflop() / t);
  std::printf(" TFLOP/s");
  for (int i = 0; i < 3; ++i) totals[i] += times[i];
}

void Session::run(const std::vector<NamedLayer>& layers, Operand operand, bool timed) {
  double totals[3] = {};
  for (const NamedLayer& named : layers) {
    if (std::string(named.name).find(plan_.only) == std::string::npos) continue;
    const Layer layer(named.sizes, operand, workspace_.get());
    std::printf("%-4s %-22s", operand == Operand::bf16 ? "bf16" : "tf32", named.name);
    if (plan_.check) check(layer);
    if (timed && plan_.time) time(layer, totals);
    std::printf("\n");
    if (timed && plan_.tune) tune(layer, stream_);
  }
  if (timed && plan_.time)
    std::printf("     sum of the above: %.1f %.1f %.1f us\n", totals[0], totals[1], totals[2]);
}

struct NamedTarget {
  const char* name;
  cuda::KernelTarget most;
};
constexpr NamedTarget other_targets[] = {{"8.0", {true, false, false, 163 << 10}},
                                         {"8.6 and 8.9", {true, false, false, 99 << 10}},
                                         {"10.0", {true, true, false, 227 << 10}},
                                         {"12.0", {true, true, false, 99 << 10}}};

int run_all(const std::string& what, const std::string& only) {
  const cuda::KernelTarget own = cuda::current_target();
  std::printf("kernels %s, clusters %s, warpgroups %s, %d KiB of shared memory per block\n",
              own.kernels ? "run" : "DO NOT RUN", own.clusters ? "yes" : "no",
              cuda::has_warpgroups() ? "yes" : "no", own.shared_bytes >> 10);
  if (!own.kernels) return 1;
  const bool tunes = what == "tune", times = tunes || what != "check";
  Session session({!tunes && what != "time", times, tunes, only});
  std::printf(
      "relative errors: forward, transposed, weights, bias, sums; times of the first three\n");
  for (const Operand operand : {Operand::tf32, Operand::bf16}) {
    if (!tunes && what != "time") session.run(odd_layers, operand, false);
    session.run(paper28, operand, true);
    session.run(paper64, operand, true);
  }
  if (!tunes && what != "time")
    for (const NamedTarget& target : other_targets) {
      std::printf("as compute capability %s\n", target.name);
      const cuda::LimitedTarget limited(target.most);
      for (const Operand operand : {Operand::tf32, Operand::bf16})
        for (const auto* layers : {&odd_layers, &paper28, &paper64})
          session.run(*layers, operand, false);
    }
  std::printf(session.failed() ? "WRONG\n" : "all right\n");
  return session.failed() ? 1 : 0;
}

}  // namespace

}  // namespace facet::lab

int main(int argc, char** argv) {
  return facet::lab::run_all(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
}
