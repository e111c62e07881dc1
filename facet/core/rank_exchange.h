// How the tensors of ranks get to the others: over connections of their own with Gloo
// (gloo_exchange.cpp), through the store where ranks have met (store_exchange.cpp), or from GPU to
// GPU with NCCL (nccl_exchange.cpp). All throw an exception where another rank does not answer.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "facet/core/rank_place.h"
#include "facet/core/tensor.h"

namespace facet {

/// Every function is called by all ranks in the same order, with contiguous tensors of equal type.
class RankExchange {
 public:
  virtual ~RankExchange() = default;

  /// Fills `all`, [ranks, ...], with every rank's `own`, [...], which may be its place in `all`.
  virtual void all_gather(torch::Tensor& all, torch::Tensor own) = 0;
  /// The first `sent_rows[0]` rows of `sent` go to rank 0, the next to rank 1; `received` has the
  /// rows that ranks have sent to this one, in the order of ranks.
  virtual void all_to_all(torch::Tensor& received, torch::Tensor sent,
                          std::vector<int64_t> received_rows, std::vector<int64_t> sent_rows) = 0;
  /// Replaces `values` by their sum over all ranks, the same at each of them.
  virtual void sum(torch::Tensor& values) = 0;
  /// Wakes those who wait for this rank, which ends.
  virtual void leave() = 0;
};

/// Between GPUs. Exchanges go onto the current stream, and nothing waits for them on the host, so
/// that they can be captured in a CUDA graph.
class GpuExchange : public RankExchange {
 public:
  /// Waits for the current stream; throws an exception after `timeout`, or when `give_up` says so.
  virtual void wait(std::chrono::milliseconds timeout, const std::function<bool()>& give_up) = 0;
};

using RankStorePointer = c10::intrusive_ptr<c10d::Store>;

/// Whether this build has it.
bool gloo_available();
/// GLOO_SOCKET_IFNAME names the network where there are several.
std::unique_ptr<RankExchange> make_gloo_exchange(const RankStorePointer& store,
                                                 const RankPlace& place,
                                                 std::chrono::milliseconds timeout);

/// Needs nothing but the store, whose own time-out applies, and which no other thread uses. All
/// bytes go through the process that hosts it.
std::unique_ptr<RankExchange> make_store_exchange(const RankStorePointer& store,
                                                  const RankPlace& place);

/// Null in a build without NCCL. Every rank has a GPU of its own. Returns when all have come here.
std::unique_ptr<GpuExchange> make_nccl_exchange(const RankStorePointer& store,
                                                const RankPlace& place, torch::Device device,
                                                std::chrono::milliseconds timeout);

}  // namespace facet
