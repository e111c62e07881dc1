// The ranks of a run: processes, on one machine or on several, that train one model together, each
// on its parts of every batch (data/batch_part.h). After every step all have the same numbers. They
// speak by c10d, the layer of LibTorch that torchrun starts processes for: CPUs through Gloo, GPUs
// through NCCL (core/rank_exchange.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "facet/core/rank_place.h"
#include "facet/core/tensor.h"

namespace facet {

class Ranks {
 public:
  /// This process alone.
  Ranks();
  /// Joins the others, and returns when all are there. From then on, whoever waits for another rank
  /// for longer than `timeout` gives up, with a RankLost. Throws an Error if another version of
  /// Facet or LibTorch runs somewhere, or on another kind of device. `device` is the one that this
  /// rank computes on. A place among one rank joins too: exchanges then cost what they cost.
  Ranks(const RankPlace& place, std::chrono::milliseconds timeout,
        torch::Device device = torch::Device(torch::kCPU));
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks();

  int64_t rank() const { return rank_; }
  int64_t size() const { return size_; }
  bool alone() const { return group_ == nullptr; }
  /// Whether this is rank 0, the one that writes files and speaks to the user.
  bool first() const { return rank_ == 0; }

  /// Whether exchanges of a GPU's tensors wait on the host, so that they cannot be captured.
  bool through_host() const;
  /// Why they do, as a sentence for the user; nothing on the CPU or with NCCL.
  std::optional<std::string> remark() const;

  // The rest is called by all ranks in the same order. Tensors are on the CPU or on the rank's GPU.

  /// The rows of all ranks, in the order of ranks; rank r has `rows[r]` of them.
  torch::Tensor gather(const torch::Tensor& own, const std::vector<int64_t>& rows);
  /// Writes the sum of the rows of all to `sum`, [n], which may be this rank's only row: added one
  /// after another in the order of ranks, so that its bits do not depend on which rank has which
  /// row. A rank adds a slice of all rows, and then slices are gathered in their places: with one
  /// row per rank, the bytes on the wire are those of sum().
  void sum_rows(const torch::Tensor& own, const std::vector<int64_t>& rows, torch::Tensor& sum);
  /// Replaces `values` by the sum over all ranks, in an order that depends on how many there are.
  void sum(torch::Tensor& values);
  /// Whether any rank says so.
  bool any(bool own);
  /// The text that rank `root` has.
  std::string broadcast(const std::string& text, int64_t root = 0);
  /// Returns when all ranks have come here, and what their GPUs had to do is done.
  void barrier();
  /// Throws an Error that names the first rank with another value of `what`, and the first line in
  /// which the two differ.
  void agree(const std::string& what, const std::string& value);

  /// Tells the others, who wait for this rank, why it ends. Not in any order.
  void report_failure(const std::string& reason) noexcept;

 private:
  class Group;

  int64_t rank_ = 0, size_ = 1;
  std::unique_ptr<Group> group_;  ///< null if alone
};

}  // namespace facet
