// Stands in for ranks.cpp in a build without Gloo: every process trains alone.
#include "facet/core/error.h"
#include "facet/core/rank_store.h"
#include "facet/core/ranks.h"

namespace facet {

namespace {

[[noreturn]] void refuse_ranks() {
  Attempt{"training with", "several ranks"}.fail(
      "a facet that was built without Gloo", "one process",
      "on Debian libgloo-dev is to be installed before facet is built");
}

}  // namespace

class Ranks::Group {};
class RankStore::Host {};

Ranks::Ranks() = default;
Ranks::Ranks(const RankPlace&, std::chrono::milliseconds) { refuse_ranks(); }
Ranks::~Ranks() = default;

torch::Tensor Ranks::gather(const torch::Tensor& own, const std::vector<int64_t>&) { return own; }
torch::Tensor Ranks::sum_rows(const torch::Tensor& own, const std::vector<int64_t>&) { return own; }
void Ranks::sum(torch::Tensor&) {}
bool Ranks::any(bool own) { return own; }
std::string Ranks::broadcast(const std::string& text, int64_t) { return text; }
void Ranks::agree(const std::string&, const std::string&) {}
void Ranks::report_failure(const std::string&) noexcept {}

RankStore::RankStore() { refuse_ranks(); }
RankStore::~RankStore() = default;
int64_t RankStore::port() const { return 0; }

}  // namespace facet
