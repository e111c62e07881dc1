// How ranks meet: everybody connects to a store and leaves a card there, which says who it is and
// what it runs. Ranks whose cards do not fit together are refused, by name.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "facet/core/rank_exchange.h"
#include "facet/core/rank_place.h"

namespace facet {

/// A connection to the store of its own, with the keys of this attempt. It hosts the store if
/// `host` says so.
RankStorePointer open_rank_store(const RankPlace& place, bool host,
                                 std::chrono::milliseconds timeout);

[[noreturn]] void fail_to_join(const RankPlace& place, const std::string& found,
                               const std::string& expected, const std::string& cause = {});

/// What a rank says of its device.
struct RankDevice {
  std::string kind;  ///< "CPU", "NVIDIA H200": the same for all ranks
  std::string gpu;   ///< which of all GPUs anywhere; empty for the CPU
};

/// What a rank knows of another.
struct RankCard {
  std::string name;  ///< "rank 2 (process 812 on node7)"
  std::string gpu;
};

/// The cards of all ranks, when all are there and fit together. `transport` is how tensors of the
/// CPU are exchanged.
std::vector<RankCard> exchange_cards(c10d::Store& store, const RankPlace& place,
                                     const RankDevice& device, const std::string& transport,
                                     std::chrono::milliseconds timeout);

}  // namespace facet
