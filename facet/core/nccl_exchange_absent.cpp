// Stands in for nccl_exchange.cpp in a build without NCCL: what ranks on GPUs exchange goes through
// the memory of their hosts.
#include "facet/core/rank_exchange.h"

namespace facet {

std::unique_ptr<GpuExchange> make_nccl_exchange(const RankStorePointer&, const RankPlace&,
                                                torch::Device, std::chrono::milliseconds) {
  return nullptr;
}

}  // namespace facet
