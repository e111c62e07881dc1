// Exchanges between GPUs with NCCL, by c10d. Collectives go onto the current stream, so that a
// captured step contains them. Who of the ranks is lost is found out on the host
// (core/rank_watch.h): c10d's own watchdog would end the process, and does not see captured steps.
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <fmt/format.h>
#include <torch/csrc/cuda/nccl.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "facet/core/error.h"
#include "facet/core/rank_exchange.h"
#include "facet/core/torch.h"

namespace facet {

namespace {

using NcclGroup = c10d::ProcessGroupNCCL;

/// Collectives on the current stream, where LibTorch has the choice (2.7); before, c10d had streams
/// of its own, for which the current one waits.
template <class Options>
Options on_current_stream() {
  Options options;
  if constexpr (requires { options.asyncOp; }) options.asyncOp = false;
  return options;
}

/// c10d's classes, which are made here, contain structures of NCCL's headers. With those of another
/// version than LibTorch was built with they have another size, and memory would be overwritten.
void require_same_headers() {
  const uint64_t of_libtorch = torch::cuda::nccl::version();
  const uint64_t major = of_libtorch >> 32, minor = of_libtorch >> 16 & 0xffff;
  if (major != NCCL_MAJOR || minor != NCCL_MINOR)
    throw Error({.doing = "connecting GPUs with NCCL",
                 .found = fmt::format("a program built with the headers of NCCL {}.{}", NCCL_MAJOR,
                                      NCCL_MINOR),
                 .expected = fmt::format("those of {}.{}, as LibTorch", major, minor),
                 .cause = "configure again with -DFACET_NCCL_FOLDER=... where that nccl.h is"});
}

/// Not where the user has set them.
void quiet_watchdog() {
  for (const char* name : {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_ENABLE_MONITORING",
                           "TORCH_NCCL_DUMP_ON_TIMEOUT", "TORCH_NCCL_RETHROW_CUDA_ERRORS"})
    setenv(name, "0", /*overwrite=*/0);
}

class NcclExchange : public GpuExchange {
 public:
  NcclExchange(const RankStorePointer& store, const RankPlace& place, torch::Device device,
               std::chrono::milliseconds timeout)
      : device_(device), size_(place.size) {
    require_same_headers();
    quiet_watchdog();
    const c10::cuda::CUDAGuard guard(device_);
    auto options = NcclGroup::Options::create();
    options->timeout = std::chrono::hours(24 * 365);  // rank_watch.h has the time-outs
    group_ = c10::make_intrusive<NcclGroup>(store, static_cast<int>(place.rank),
                                            static_cast<int>(place.size), options);
    warm_up();
    wait(timeout, [] { return false; });
  }
  ~NcclExchange() override {
    if (left_) return;
    // All ranks have come to the end, and captured graphs are gone. Unlike shutdown(), this does
    // not wait for the others.
    try {
      const c10::cuda::CUDAGuard guard(device_);
      c10::cuda::device_synchronize();
      group_->abort();
    } catch (const std::exception&) {  // a lost GPU: its next use throws
    }
  }

  void all_gather(torch::Tensor& all, torch::Tensor own) override {
    finish(group_->_allgather_base(all, own, on_current_stream<c10d::AllgatherOptions>()));
  }
  void all_to_all(torch::Tensor& received, torch::Tensor sent, std::vector<int64_t> received_rows,
                  std::vector<int64_t> sent_rows) override {
    finish(group_->alltoall_base(received, sent, received_rows, sent_rows,
                                 on_current_stream<c10d::AllToAllOptions>()));
  }
  void sum(torch::Tensor& values) override {
    std::vector<torch::Tensor> in_place = {values};
    finish(group_->allreduce(in_place, on_current_stream<c10d::AllreduceOptions>()));
  }

  /// Ends the collectives that wait on the GPU for a lost rank, so that the GPU can be waited for.
  /// In a thread of its own: NCCL then waits until the graphs that have captured it are gone.
  void leave() override {
    if (left_.exchange(true)) return;
    std::thread([group = group_] {
      try {
        group->abort();
      } catch (const std::exception&) {  // the process ends anyway
      }
    }).detach();
  }

  void wait(std::chrono::milliseconds timeout, const std::function<bool()>& give_up) override {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + timeout;
    at::cuda::CUDAEvent done;
    done.record(at::cuda::getCurrentCUDAStream(device_.index()));
    while (!done.query()) {
      if (Clock::now() > end || give_up())
        throw std::runtime_error("the GPU waits for another rank");
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

 private:
  static void finish(const c10::intrusive_ptr<c10d::Work>& work) {
    if (work) work->wait();  // on the stream, not on the host
  }

  /// Connections are made at the first use of each kind of exchange, which cannot be captured.
  void warm_up() {
    const auto options = torch::TensorOptions().dtype(kFloat32).device(device_);
    torch::Tensor row = torch::zeros({size_}, options), other = torch::zeros({size_}, options);
    const std::vector<int64_t> one_each(static_cast<size_t>(size_), 1);
    sum(row);
    all_to_all(other, row, one_each, one_each);
    torch::Tensor all = torch::zeros({size_, size_}, options);
    all_gather(all, row);
  }

  torch::Device device_;
  int64_t size_;
  c10::intrusive_ptr<NcclGroup> group_;
  std::atomic<bool> left_ = false;
};

}  // namespace

std::unique_ptr<GpuExchange> make_nccl_exchange(const RankStorePointer& store,
                                                const RankPlace& place, torch::Device device,
                                                std::chrono::milliseconds timeout) {
  return std::make_unique<NcclExchange>(store, place, device, timeout);
}

}  // namespace facet
