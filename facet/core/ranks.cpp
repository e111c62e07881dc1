#include "facet/core/ranks.h"

#include <algorithm>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "facet/core/error.h"
#include "facet/core/process.h"
#include "facet/core/rank_exchange.h"
#include "facet/core/rank_join.h"
#include "facet/core/rank_watch.h"
#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"

namespace facet {

namespace {

using Milliseconds = std::chrono::milliseconds;
using namespace std::chrono_literals;

RankDevice describe_device(torch::Device device) {
  if (device.is_cpu()) return {"CPU", ""};
  return {cuda::gpu_name(device), cuda::gpu_identity(device)};
}

/// The first ranks that share a GPU, "0, 1"; empty if each has its own.
std::string ranks_that_share(const std::vector<RankCard>& cards) {
  for (size_t first = 0; first < cards.size(); ++first) {
    std::vector<size_t> sharing;
    for (size_t rank = first; rank < cards.size(); ++rank)
      if (cards[rank].gpu == cards[first].gpu) sharing.push_back(rank);
    if (sharing.size() > 1) return fmt::format("{}", fmt::join(sharing, ", "));
  }
  return "";
}

/// The first lines in which two texts differ.
std::pair<std::string, std::string> differing_lines(const std::string& one,
                                                    const std::string& other) {
  std::istringstream first(one), second(other);
  std::string line, line_of_other;
  while (std::getline(first, line))
    if (!std::getline(second, line_of_other) || line != line_of_other) break;
  return {line, line_of_other};
}

int64_t sum_of(const std::vector<int64_t>& numbers) {
  int64_t sum = 0;
  for (const int64_t number : numbers) sum += number;
  return sum;
}

/// `sum` may be a row itself if it is the only one.
void add_in_order(const torch::Tensor& rows, torch::Tensor& sum) {
  if (rows.size(0) > 1)
    torch::add_out(sum, rows[0], rows[1]);
  else if (rows.data_ptr() != sum.data_ptr())
    sum.copy_(rows[0]);
  for (int64_t row = 2; row < rows.size(0); ++row) sum.add_(rows[row]);
}

}  // namespace

/// The connections of a rank to the others.
class Ranks::Group {
 public:
  Group(const RankPlace& place, Milliseconds timeout, torch::Device device)
      : hosts_store_(place.hosts_store), waiting_time_(timeout * 7 / 10) {
    try {
      join(place, timeout, device);
    } catch (const Error&) {
      linger(std::min<Milliseconds>(timeout / 10, 1s));
      throw;
    } catch (const RankLost&) {
      linger(std::min<Milliseconds>(timeout / 10, 1s));
      throw;
    } catch (const std::exception& error) {
      fail_to_join(place, fmt::format("a lost connection ({})", library_failure(error).line),
                   "connections between all ranks",
                   "have others given up? GLOO_SOCKET_IFNAME names the network interface");
    }
  }

  void all_gather(torch::Tensor& all, const torch::Tensor& own) {
    if (gpu_ && own.is_cuda()) return attempt([&] { gpu_->all_gather(all, own); });
    torch::Tensor host_all = on_host(all);
    exchange([&] { host_->all_gather(host_all, own.cpu()); });
    if (!all.is_cpu()) all.copy_(host_all);
  }
  void all_to_all(torch::Tensor& received, const torch::Tensor& sent,
                  const std::vector<int64_t>& received_rows,
                  const std::vector<int64_t>& sent_rows) {
    if (gpu_ && sent.is_cuda())
      return attempt([&] { gpu_->all_to_all(received, sent, received_rows, sent_rows); });
    torch::Tensor host_received = on_host(received);
    exchange([&] { host_->all_to_all(host_received, sent.cpu(), received_rows, sent_rows); });
    if (!received.is_cpu()) received.copy_(host_received);
  }
  void sum(torch::Tensor& values) {
    if (gpu_ && values.is_cuda()) return attempt([&] { gpu_->sum(values); });
    torch::Tensor host_values = values.cpu();  // itself where it is there
    exchange([&] { host_->sum(host_values); });
    if (!values.is_cpu()) values.copy_(host_values);
  }
  /// For the work of this rank's GPU, in which it may wait for other ranks.
  void wait_for_gpu() {
    if (!gpu_) return;
    attempt([&] { gpu_->wait(waiting_time_, [&] { return watch_->lost(); }); });
  }

  /// Tells the others why this rank ends, while no exchange is under way.
  void fail(const std::string& reason) {
    watch_->publish(reason);
    host_->leave();
    if (gpu_) gpu_->leave();
    linger(2 * watch_->interval());
  }

  const std::string& name(int64_t rank) const { return names_[static_cast<size_t>(rank)]; }
  bool has_gpu_exchange() const { return gpu_ != nullptr; }
  const std::optional<std::string>& remark() const { return remark_; }

 private:
  static torch::Tensor on_host(const torch::Tensor& tensor) {
    return tensor.is_cpu() ? tensor : torch::empty(tensor.sizes(), tensor.scalar_type());
  }

  /// Runs an exchange in which the host waits for other ranks.
  template <class Work>
  void exchange(const Work& work) {
    watch_->enter();
    attempt(work);
  }
  template <class Work>
  void attempt(const Work& work) {
    try {
      if (watch_->lost()) throw std::runtime_error("a rank is lost");
      work();
    } catch (const std::exception& error) {
      const std::string reason = watch_->reason(library_failure(error).line);
      watch_->publish(reason);
      if (gpu_) gpu_->leave();
      linger(2 * watch_->interval());
      throw RankLost(to_string({.doing = fmt::format("training with {} ranks", names_.size()),
                                .found = reason,
                                .expected = "all ranks at work"}));
    }
  }

  /// The others read the reason from the store, which ends with the process that hosts it.
  void linger(Milliseconds time) const {
    if (hosts_store_) std::this_thread::sleep_for(time);
  }

  void join(const RankPlace& place, Milliseconds timeout, torch::Device device) {
    store_ = open_rank_store(place, hosts_store_, timeout);
    const std::vector<RankCard> cards = exchange_cards(
        *store_, place, describe_device(device), gloo_available() ? "Gloo" : "the store", timeout);
    for (const RankCard& card : cards) names_.push_back(card.name);
    const std::string alive = "0 0";
    store_->set(RankWatch::alive_key(place.rank), std::vector<uint8_t>(alive.begin(), alive.end()));
    // The rest of the time-out is for finding out whose fault it is.
    host_ = gloo_available()
                ? make_gloo_exchange(store_, place, waiting_time_)
                : make_store_exchange(open_rank_store(place, false, waiting_time_), place);
    if (!device.is_cpu()) connect_gpus(place, cards, timeout, device);
    const std::string host = place.store_of_starter ? "the store of all ranks" : names_[0];
    RankGuard guard;
    if (gpu_) guard = {waiting_time_, [this] { gpu_->leave(); }};
    watch_ =
        std::make_unique<RankWatch>(open_rank_store(place, false, timeout), place.rank, names_,
                                    fmt::format("{} at {}:{}", host, place.address, place.port),
                                    std::clamp<Milliseconds>(timeout / 20, 50ms, 1s), guard);
  }

  void connect_gpus(const RankPlace& place, const std::vector<RankCard>& cards,
                    Milliseconds timeout, torch::Device device) {
    const std::string sharing = ranks_that_share(cards);
    if (sharing.empty())
      gpu_ = make_nccl_exchange(c10::make_intrusive<c10d::PrefixStore>("nccl", store_), place,
                                device, timeout);
    if (gpu_) return;
    remark_ = fmt::format(
        "{}: what ranks exchange goes through the memory of the host, and steps "
        "are not captured",
        sharing.empty() ? "this facet was built without NCCL"
                        : fmt::format("ranks {} share a GPU", sharing));
  }

  bool hosts_store_;
  Milliseconds waiting_time_;
  RankStorePointer store_;
  std::vector<std::string> names_;
  std::unique_ptr<RankExchange> host_;
  std::unique_ptr<GpuExchange> gpu_;  ///< null on the CPU, and where exchanges go through the host
  std::optional<std::string> remark_;
  std::unique_ptr<RankWatch> watch_;
};

Ranks::Ranks() = default;

Ranks::Ranks(const RankPlace& place, Milliseconds timeout, torch::Device device)
    : rank_(place.rank),
      size_(place.size),
      group_(std::make_unique<Group>(place, timeout, device)) {}

Ranks::~Ranks() = default;

bool Ranks::through_host() const { return !alone() && !group_->has_gpu_exchange(); }

std::optional<std::string> Ranks::remark() const {
  return alone() ? std::nullopt : group_->remark();
}

torch::Tensor Ranks::gather(const torch::Tensor& own, const std::vector<int64_t>& rows) {
  if (alone()) return own;
  torch::NoGradGuard no_gradient;
  // Exchanges are of equal shapes: all have the length of the longest.
  std::vector<int64_t> shape = own.sizes().vec();
  shape[0] = *std::max_element(rows.begin(), rows.end());
  if (shape[0] == 0) return own;  // nobody has any, and Gloo does not exchange nothing
  torch::Tensor input = own.contiguous();
  if (shape[0] != own.size(0)) {
    input = torch::zeros(shape, own.options());
    input.narrow(0, 0, own.size(0)).copy_(own);
  }
  shape.insert(shape.begin(), size_);
  torch::Tensor all = torch::empty(shape, own.options());
  group_->all_gather(all, input);
  if (shape[1] * size_ == sum_of(rows)) return all.flatten(0, 1);
  std::vector<torch::Tensor> parts;
  for (int64_t rank = 0; rank < size_; ++rank)
    parts.push_back(all[rank].narrow(0, 0, rows[static_cast<size_t>(rank)]));
  return torch::cat(parts);
}

void Ranks::sum_rows(const torch::Tensor& own, const std::vector<int64_t>& rows,
                     torch::Tensor& sum) {
  torch::NoGradGuard no_gradient;
  if (size_ == 1) return add_in_order(own, sum);
  const int64_t width = own.size(1) / size_, sliced = size_ * width, rest = own.size(1) - sliced;
  // The last columns, fewer than ranks, are added by all. Their rows go first, for `sum` may be
  // one.
  torch::Tensor of_rest;
  if (rest > 0) of_rest = gather(own.narrow(1, sliced, rest), rows);
  if (width > 0) {
    // Slice r of every own row goes to rank r, which gets that slice of all rows, [rows, width].
    const torch::Tensor sent = own.narrow(1, 0, sliced)
                                   .view({own.size(0), size_, width})
                                   .transpose(0, 1)
                                   .contiguous()
                                   .view({-1, width});
    torch::Tensor received = torch::empty({sum_of(rows), width}, own.options());
    group_->all_to_all(received, sent, rows,
                       std::vector<int64_t>(static_cast<size_t>(size_), own.size(0)));
    torch::Tensor slices = sum.narrow(0, 0, sliced).view({size_, width}), slice = slices[rank_];
    add_in_order(received, slice);
    group_->all_gather(slices, slice);
  }
  if (rest > 0) {
    torch::Tensor end = sum.narrow(0, sliced, rest);
    add_in_order(of_rest, end);
  }
}

void Ranks::sum(torch::Tensor& values) {
  if (!alone()) group_->sum(values);
}

bool Ranks::any(bool own) {
  const std::vector<int64_t> one_each(static_cast<size_t>(size_), 1);
  return gather(torch::full({1}, own, kUInt8), one_each).any().item<bool>();
}

void Ranks::barrier() {
  if (alone()) return;
  group_->wait_for_gpu();
  any(false);
}

std::string Ranks::broadcast(const std::string& text, int64_t root) {
  if (alone()) return text;
  const std::vector<int64_t> one_each(static_cast<size_t>(size_), 1);
  const auto length =
      gather(torch::full({1}, static_cast<int64_t>(text.size()), kInt64), one_each)[root]
          .item<int64_t>();
  std::vector<int64_t> lengths(static_cast<size_t>(size_));
  lengths[static_cast<size_t>(root)] = length;
  std::string own = rank_ == root ? text : "";
  const torch::Tensor bytes =
      gather(torch::from_blob(own.data(), {static_cast<int64_t>(own.size())}, kUInt8), lengths);
  return {static_cast<const char*>(bytes.data_ptr()), static_cast<size_t>(length)};
}

void Ranks::agree(const std::string& what, const std::string& value) {
  if (alone()) return;
  const std::string expected = broadcast(value);
  const std::vector<int64_t> one_each(static_cast<size_t>(size_), 1);
  const torch::Tensor differs = gather(torch::full({1}, value != expected, kInt32), one_each);
  for (int64_t rank = 1; rank < size_; ++rank) {
    if (differs[rank].item<int32_t>() == 0) continue;
    const std::string other = broadcast(value, rank);
    const auto [of_first, of_other] = differing_lines(expected, other);
    Attempt{fmt::format("comparing {} of {} ranks", what, size_)}.fail(
        fmt::format("{} at {}", of_other, group_->name(rank)),
        fmt::format("{} as at {}", of_first, group_->name(0)));
  }
}

void Ranks::report_failure(const std::string& reason) noexcept {
  if (alone()) return;
  try {
    group_->fail(fmt::format("a failure of {} ({})", group_->name(rank_), reason));
  } catch (const std::exception&) {  // they will find out
  }
}

}  // namespace facet
