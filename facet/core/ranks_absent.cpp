// Stands in for ranks.cpp in a build without c10d: every process trains alone.
#include "facet/core/error.h"
#include "facet/core/rank_store.h"
#include "facet/core/ranks.h"
#include "facet/core/torch.h"

namespace facet {

namespace {

[[noreturn]] void refuse_ranks() {
  Attempt{"training with", "several ranks"}.fail(
      "a facet without ranks", "one process",
      "was it built with FACET_RANKS=OFF, or has its LibTorch no c10d?");
}

}  // namespace

class Ranks::Group {};
class RankStore::Host {};

Ranks::Ranks() = default;
Ranks::Ranks(const RankPlace&, std::chrono::milliseconds, torch::Device) { refuse_ranks(); }
Ranks::~Ranks() = default;

bool Ranks::through_host() const { return false; }
std::optional<std::string> Ranks::remark() const { return {}; }
torch::Tensor Ranks::gather(const torch::Tensor& own, const std::vector<int64_t>&) { return own; }
void Ranks::sum_rows(const torch::Tensor& own, const std::vector<int64_t>&, torch::Tensor& sum) {
  sum.copy_(own[0]);
  for (int64_t row = 1; row < own.size(0); ++row) sum.add_(own[row]);
}
void Ranks::sum(torch::Tensor&) {}
bool Ranks::any(bool own) { return own; }
void Ranks::barrier() {}
std::string Ranks::broadcast(const std::string& text, int64_t) { return text; }
void Ranks::agree(const std::string&, const std::string&) {}
void Ranks::report_failure(const std::string&) noexcept {}

RankStore::RankStore() { refuse_ranks(); }
RankStore::~RankStore() = default;
int64_t RankStore::port() const { return 0; }

}  // namespace facet
