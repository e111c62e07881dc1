#include "bench/kernel_lab/lab.cuh"

namespace facet::lab {

Lab::Lab() {
  cudaDeviceProp properties;
  require(cudaGetDeviceProperties(&properties, 0), "finding a GPU");
  std::printf("%s, %d multiprocessors\n", properties.name, properties.multiProcessorCount);
  require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
}

Lab::~Lab() { cudaStreamDestroy(stream_); }

void Lab::wait() const {
  require(cudaGetLastError(), "launch");
  require(cudaStreamSynchronize(stream_), "kernel");
}

void Lab::report(const std::string& name, double error, double allowed) {
  const bool agrees = error <= allowed;
  all_agree_ = all_agree_ && agrees;
  std::printf("%-58s %s  error %.1e (allowed %.0e)\n", name.c_str(), agrees ? "ok  " : "FAIL",
              error, allowed);
}

void Lab::time(const std::string& name, const std::function<void(cudaStream_t)>& call) {
  const std::vector<double> times = replay_times(stream_, 50, 21, call);
  std::printf("%-58s time  %.2f us\n", name.c_str(), times[times.size() / 2]);
}

}  // namespace facet::lab
