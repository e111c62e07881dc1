#include "facet/core/ranks.h"

#include <algorithm>
#include <sstream>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/version.h>

#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/core/network.h"
#include "facet/core/process.h"
#include "facet/core/rank_store.h"
#include "facet/core/rank_watch.h"
#include "facet/core/torch.h"
#include "facet/core/version.h"

namespace facet {

namespace {

using Milliseconds = std::chrono::milliseconds;
using namespace std::chrono_literals;

std::string seconds_text(Milliseconds time) {
  return fmt::format("{} s", static_cast<double>(time.count()) / 1e3);
}

[[noreturn]] void fail_to_join(const RankPlace& place, const std::string& found,
                               const std::string& expected, const std::string& cause = {}) {
  throw RankLost(
      to_string({.doing = fmt::format("joining as rank {} of {}", place.rank, place.size),
                 .found = found,
                 .expected = expected,
                 .cause = cause}));
}

/// A connection to the store of its own, with the keys of this attempt.
c10::intrusive_ptr<c10d::Store> open_store(const RankPlace& place, bool host,
                                           Milliseconds timeout) {
  if (host && !port_is_free(place.port))
    Attempt{fmt::format("joining as rank 0 of {}", place.size)}.fail(
        fmt::format("port {} in use", place.port), "a free port",
        "is another run there? MASTER_PORT names another port");
  if (!host && !wait_for_listener(place.address, place.port, timeout))
    fail_to_join(place,
                 fmt::format("no answer from {}:{} within {}", place.address, place.port,
                             seconds_text(timeout)),
                 "rank 0 there", "has it been started? MASTER_ADDR and MASTER_PORT name it");
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(place.port);
  options.isServer = host;
  options.waitWorkers = false;
  options.timeout = timeout;
  return c10::make_intrusive<c10d::PrefixStore>(
      "facet/" + place.attempt, c10::make_intrusive<c10d::TCPStore>(place.address, options));
}

/// Gloo's connections. GLOO_SOCKET_IFNAME names the network where there are several.
std::shared_ptr<gloo::transport::Device> make_device(const RankPlace& place) {
  if (const auto name = process_environment()("GLOO_SOCKET_IFNAME"))
    return c10d::ProcessGroupGloo::createDeviceForInterface(*name);
  const std::string address = own_address(place.address);
  return address.empty() ? c10d::ProcessGroupGloo::createDefaultDevice()
                         : c10d::ProcessGroupGloo::createDeviceForHostname(address);
}

/// What a rank says of itself before all others know that it is there.
Json own_card(const RankPlace& place) {
  return {{"host", host_name()},
          {"process", getpid()},
          {"number of ranks", place.size},
          {"version of Facet", version()},
          {"version of LibTorch", TORCH_VERSION}};
}

std::string card_key(int64_t rank) { return fmt::format("rank/{}", rank); }

std::string name_of(int64_t rank, const Json& card) {
  return fmt::format("rank {} (process {} on {})", rank, card["process"].get<int64_t>(),
                     card["host"].get<std::string>());
}

/// Ranks of different programs cannot work together.
void require_same_program(int64_t rank, const Json& card, const Json& of_first) {
  for (const char* what : {"number of ranks", "version of Facet", "version of LibTorch"})
    if (card[what] != of_first[what])
      Attempt{fmt::format("comparing the {} that ranks have", what)}.fail(
          fmt::format("{} at {}", card[what].dump(), name_of(rank, card)),
          fmt::format("{} as at {}", of_first[what].dump(), name_of(0, of_first)));
}

void wait_for_cards(c10d::Store& store, const RankPlace& place, int64_t ranks,
                    Milliseconds timeout) {
  std::vector<std::string> keys;
  for (int64_t rank = 0; rank < ranks; ++rank) keys.push_back(card_key(rank));
  try {
    store.wait(keys, timeout);
  } catch (const std::exception&) {
    std::vector<int64_t> absent;
    for (int64_t rank = 0; rank < place.size; ++rank)
      if (!store.check({card_key(rank)})) absent.push_back(rank);
    fail_to_join(
        place, fmt::format("no rank {} within {}", fmt::join(absent, ", "), seconds_text(timeout)),
        "all ranks", "were all started? --rank-timeout allows more time");
  }
}

/// The cards of all ranks, when all are there and fit together.
std::vector<Json> exchange_cards(c10d::Store& store, const RankPlace& place, Milliseconds timeout) {
  if (store.add(fmt::format("taken/{}", place.rank), 1) > 1)
    fail_to_join(place, "another process with this rank", "one process per rank",
                 "are two runs started with the same MASTER_PORT?");
  const Json own = own_card(place);
  const std::string text = own.dump();
  store.set(card_key(place.rank), {text.begin(), text.end()});
  const auto card_of = [&](int64_t rank) { return Json::parse(store.get(card_key(rank))); };
  // Who differs from the first does not wait for the others.
  wait_for_cards(store, place, 1, timeout);
  require_same_program(place.rank, own, card_of(0));
  wait_for_cards(store, place, place.size, timeout);
  std::vector<Json> cards;
  for (int64_t rank = 0; rank < place.size; ++rank) {
    cards.push_back(card_of(rank));
    require_same_program(rank, cards.back(), cards.front());
  }
  return cards;
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

}  // namespace

/// The connections of a rank to the others.
class Ranks::Group {
 public:
  Group(const RankPlace& place, Milliseconds timeout) : hosts_store_(place.hosts_store) {
    try {
      join(place, timeout);
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

  ~Group() {
    // After a failure connections may be in any state, and the process ends: their threads are not
    // waited for.
    if (failed_) (void)group_.release();
  }

  /// Runs an exchange.
  template <class Start>
  void exchange(const Start& start) {
    watch_->enter();
    try {
      start(*group_)->wait();
    } catch (const std::exception& error) {
      const std::string reason = watch_->reason(library_failure(error).line);
      failed_ = true;
      watch_->publish(reason);
      linger(2 * watch_->interval());
      throw RankLost(to_string({.doing = fmt::format("training with {} ranks", names_.size()),
                                .found = reason,
                                .expected = "all ranks at work"}));
    }
  }

  /// Tells the others why this rank ends, while no exchange is under way.
  void fail(const std::string& reason) {
    failed_ = true;
    watch_->publish(reason);
    group_.reset();  // which wakes those who wait for it
    linger(2 * watch_->interval());
  }

  const std::string& name(int64_t rank) const { return names_[static_cast<size_t>(rank)]; }

 private:
  /// The others read the reason from the store, which ends with the process that hosts it.
  void linger(Milliseconds time) const {
    if (hosts_store_) std::this_thread::sleep_for(time);
  }

  void join(const RankPlace& place, Milliseconds timeout) {
    store_ = open_store(place, hosts_store_, timeout);
    const std::vector<Json> cards = exchange_cards(*store_, place, timeout);
    for (const Json& card : cards)
      names_.push_back(name_of(static_cast<int64_t>(names_.size()), card));
    const std::string alive = "0 0";
    store_->set(RankWatch::alive_key(place.rank), {alive.begin(), alive.end()});
    // The rest of the time-out is for finding out whose fault it is.
    auto options = c10d::ProcessGroupGloo::Options::create(timeout * 7 / 10);
    options->devices.push_back(make_device(place));
    group_ = std::make_unique<c10d::ProcessGroupGloo>(store_, static_cast<int>(place.rank),
                                                      static_cast<int>(place.size), options);
    const std::string host = place.store_of_starter ? "the store of all ranks" : names_[0];
    watch_ =
        std::make_unique<RankWatch>(open_store(place, false, timeout), place.rank, names_,
                                    fmt::format("{} at {}:{}", host, place.address, place.port),
                                    std::clamp<Milliseconds>(timeout / 20, 50ms, 1s));
  }

  bool hosts_store_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::vector<std::string> names_;
  std::unique_ptr<c10d::ProcessGroupGloo> group_;
  std::unique_ptr<RankWatch> watch_;
  bool failed_ = false;
};

Ranks::Ranks() = default;

Ranks::Ranks(const RankPlace& place, Milliseconds timeout)
    : rank_(place.rank), size_(place.size), group_(std::make_unique<Group>(place, timeout)) {}

Ranks::~Ranks() = default;

torch::Tensor Ranks::gather(const torch::Tensor& own, const std::vector<int64_t>& rows) {
  if (alone()) return own;
  torch::NoGradGuard no_gradient;
  // Gloo gathers equal shapes: all have the length of the longest.
  std::vector<int64_t> shape = own.sizes().vec();
  shape[0] = *std::max_element(rows.begin(), rows.end());
  std::vector<torch::Tensor> input = {own.contiguous()};
  if (shape[0] != own.size(0)) {
    input[0] = torch::zeros(shape, own.options());
    input[0].narrow(0, 0, own.size(0)).copy_(own);
  }
  std::vector<std::vector<torch::Tensor>> all(1);
  for (int64_t rank = 0; rank < size_; ++rank) all[0].push_back(torch::empty(shape, own.options()));
  group_->exchange([&](c10d::ProcessGroupGloo& group) { return group.allgather(all, input); });
  for (size_t rank = 0; rank < rows.size(); ++rank)
    all[0][rank] = all[0][rank].narrow(0, 0, rows[rank]);
  return torch::cat(all[0]);
}

torch::Tensor Ranks::sum_rows(const torch::Tensor& own, const std::vector<int64_t>& rows) {
  torch::NoGradGuard no_gradient;
  const int64_t columns = own.size(1), width = (columns + size_ - 1) / size_;
  // Slice r of every own row goes to rank r, which gets that slice of all rows, [rows, width].
  torch::Tensor sent = torch::zeros({size_, own.size(0), width}, own.options());
  for (int64_t rank = 0; rank < size_; ++rank) {
    const int64_t begin = std::min(columns, rank * width), end = std::min(columns, begin + width);
    sent[rank].narrow(1, 0, end - begin).copy_(own.narrow(1, begin, end - begin));
  }
  torch::Tensor received = torch::empty({sum_of(rows), width}, own.options());
  std::vector<int64_t> sent_rows(static_cast<size_t>(size_), own.size(0)), received_rows = rows;
  sent = sent.view({-1, width});
  group_->exchange([&](c10d::ProcessGroupGloo& group) {
    return group.alltoall_base(received, sent, received_rows, sent_rows);
  });
  torch::Tensor sum = received[0];
  for (int64_t row = 1; row < received.size(0); ++row) sum.add_(received[row]);
  return gather(sum, std::vector<int64_t>(static_cast<size_t>(size_), width)).narrow(0, 0, columns);
}

void Ranks::sum(torch::Tensor& values) {
  if (alone()) return;
  std::vector<torch::Tensor> in_place = {values};
  group_->exchange([&](c10d::ProcessGroupGloo& group) { return group.allreduce(in_place); });
}

bool Ranks::any(bool own) {
  if (alone()) return own;
  std::vector<torch::Tensor> flag = {torch::full({1}, own ? 1 : 0, kInt32)};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  group_->exchange([&](c10d::ProcessGroupGloo& group) { return group.allreduce(flag, options); });
  return flag[0].item<int32_t>() != 0;
}

std::string Ranks::broadcast(const std::string& text, int64_t root) {
  if (alone()) return text;
  c10d::BroadcastOptions options;
  options.rootRank = static_cast<int>(root);
  const auto send = [&](torch::Tensor tensor) {
    std::vector<torch::Tensor> in_place = {std::move(tensor)};
    group_->exchange(
        [&](c10d::ProcessGroupGloo& group) { return group.broadcast(in_place, options); });
    return in_place[0];
  };
  const auto length =
      send(torch::full({1}, static_cast<int64_t>(text.size()), kInt64)).item<int64_t>();
  std::string result = rank_ == root ? text : std::string(static_cast<size_t>(length), '\0');
  if (length > 0) send(torch::from_blob(result.data(), {length}, kUInt8));
  return result;
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

/// A store that this process hosts.
class RankStore::Host {
 public:
  Host() {
    c10d::TCPStoreOptions options;
    options.port = 0;
    options.isServer = true;
    options.waitWorkers = false;
    store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  }
  c10::intrusive_ptr<c10d::TCPStore> store;
};

RankStore::RankStore() : host_(std::make_unique<Host>()) {}
RankStore::~RankStore() = default;
int64_t RankStore::port() const { return host_->store->getPort(); }

}  // namespace facet
