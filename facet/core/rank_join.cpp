#include "facet/core/rank_join.h"

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/version.h>

#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/core/network.h"
#include "facet/core/process.h"
#include "facet/core/rank_store.h"
#include "facet/core/version.h"

namespace facet {

namespace {

/// What all ranks have in common, by their keys on cards.
constexpr const char* kSharedOnCards[] = {"number of ranks", "version of Facet",
                                          "version of LibTorch", "kind of device",
                                          "way to exchange numbers"};

std::string seconds_text(std::chrono::milliseconds time) {
  return fmt::format("{} s", static_cast<double>(time.count()) / 1e3);
}

std::string card_key(int64_t rank) { return fmt::format("rank/{}", rank); }

std::string name_on(const Json& card, int64_t rank) {
  return fmt::format("rank {} (process {} on {})", rank, card["process"].get<int64_t>(),
                     card["host"].get<std::string>());
}

/// Ranks of different programs cannot work together.
void require_same_program(int64_t rank, const Json& card, const Json& of_first) {
  for (const char* what : kSharedOnCards)
    if (card[what] != of_first[what])
      Attempt{fmt::format("comparing the {} that ranks have", what)}.fail(
          fmt::format("{} at {}", card[what].dump(), name_on(card, rank)),
          fmt::format("{} as at {}", of_first[what].dump(), name_on(of_first, 0)));
}

void wait_for_cards(c10d::Store& store, const RankPlace& place, int64_t ranks,
                    std::chrono::milliseconds timeout) {
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

}  // namespace

void fail_to_join(const RankPlace& place, const std::string& found, const std::string& expected,
                  const std::string& cause) {
  throw RankLost(
      to_string({.doing = fmt::format("joining as rank {} of {}", place.rank, place.size),
                 .found = found,
                 .expected = expected,
                 .cause = cause}));
}

RankStorePointer open_rank_store(const RankPlace& place, bool host,
                                 std::chrono::milliseconds timeout) {
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

std::vector<RankCard> exchange_cards(c10d::Store& store, const RankPlace& place,
                                     const RankDevice& device, const std::string& transport,
                                     std::chrono::milliseconds timeout) {
  if (store.add(fmt::format("taken/{}", place.rank), 1) > 1)
    fail_to_join(place, "another process with this rank", "one process per rank",
                 "are two runs started with the same MASTER_PORT?");
  const Json own = {{"host", host_name()},
                    {"process", getpid()},
                    {"number of ranks", place.size},
                    {"version of Facet", version()},
                    {"version of LibTorch", TORCH_VERSION},
                    {"kind of device", device.kind},
                    {"way to exchange numbers", transport},
                    {"GPU", device.gpu}};
  const std::string text = own.dump();
  store.set(card_key(place.rank), std::vector<uint8_t>(text.begin(), text.end()));
  const auto card_of = [&](int64_t rank) { return Json::parse(store.get(card_key(rank))); };
  // Who differs from the first does not wait for the others.
  wait_for_cards(store, place, 1, timeout);
  const Json of_first = card_of(0);
  require_same_program(place.rank, own, of_first);
  wait_for_cards(store, place, place.size, timeout);
  std::vector<RankCard> cards;
  for (int64_t rank = 0; rank < place.size; ++rank) {
    const Json card = card_of(rank);
    require_same_program(rank, card, of_first);
    cards.push_back({name_on(card, rank), card["GPU"].get<std::string>()});
  }
  return cards;
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
