#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "facet/core/network.h"
#include "facet/core/rank_exchange.h"
#include "facet/core/torch.h"

namespace facet {

namespace {

std::shared_ptr<gloo::transport::Device> gloo_device(const RankPlace& place) {
  if (const auto name = process_environment()("GLOO_SOCKET_IFNAME"))
    return c10d::ProcessGroupGloo::createDeviceForInterface(*name);
  const std::string address = own_address(place.address);
  return address.empty() ? c10d::ProcessGroupGloo::createDefaultDevice()
                         : c10d::ProcessGroupGloo::createDeviceForHostname(address);
}

class GlooExchange : public RankExchange {
 public:
  GlooExchange(const RankStorePointer& store, const RankPlace& place,
               std::chrono::milliseconds timeout) {
    auto options = c10d::ProcessGroupGloo::Options::create(timeout);
    options->devices.push_back(gloo_device(place));
    group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, static_cast<int>(place.rank),
                                                         static_cast<int>(place.size), options);
  }
  ~GlooExchange() override {
    // After a failure connections may be in any state, and the process ends: their threads are not
    // waited for.
    if (failed_) (void)group_.release();
  }

  void all_gather(torch::Tensor& all, torch::Tensor own) override {
    std::vector<std::vector<torch::Tensor>> outputs = {all.unbind(0)};
    std::vector<torch::Tensor> input = {std::move(own)};
    wait([&] { return group_->allgather(outputs, input); });
  }
  void all_to_all(torch::Tensor& received, torch::Tensor sent, std::vector<int64_t> received_rows,
                  std::vector<int64_t> sent_rows) override {
    wait([&] { return group_->alltoall_base(received, sent, received_rows, sent_rows); });
  }
  void sum(torch::Tensor& values) override {
    std::vector<torch::Tensor> in_place = {values};
    wait([&] { return group_->allreduce(in_place); });
  }
  void leave() override { group_.reset(); }

 private:
  template <class Start>
  void wait(const Start& start) {
    failed_ = true;
    start()->wait();
    failed_ = false;
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  bool failed_ = false;
};

}  // namespace

bool gloo_available() { return true; }

std::unique_ptr<RankExchange> make_gloo_exchange(const RankStorePointer& store,
                                                 const RankPlace& place,
                                                 std::chrono::milliseconds timeout) {
  return std::make_unique<GlooExchange>(store, place, timeout);
}

}  // namespace facet
