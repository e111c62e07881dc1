#include <sched.h>

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

/// Threads that are started while it lives do not interrupt a computing thread when they wake up.
/// Gloo's would at every packet that arrives, some thirty times per step, and then find little to
/// do: on machines with a processor per rank that makes steps a third longer.
class PatientThreads {
 public:
  PatientThreads() : policy_(sched_getscheduler(0)) {
    // Priorities that somebody has chosen stay.
    if (policy_ == SCHED_OTHER) set(SCHED_BATCH);
  }
  ~PatientThreads() {
    if (policy_ == SCHED_OTHER) set(SCHED_OTHER);
  }
  PatientThreads(const PatientThreads&) = delete;
  PatientThreads& operator=(const PatientThreads&) = delete;

 private:
  static void set(int policy) {
    const sched_param no_priority = {};
    (void)sched_setscheduler(0, policy, &no_priority);  // of this thread; without it all is slower
  }
  int policy_;
};

class GlooExchange : public RankExchange {
 public:
  GlooExchange(const RankStorePointer& store, const RankPlace& place,
               std::chrono::milliseconds timeout) {
    const PatientThreads patient;
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
