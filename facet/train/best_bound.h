// The best bound on valid images in a run: which model to keep, and when to stop early. It is read
// from the lines of metrics.jsonl, so that a resumed run knows it too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>

namespace facet {

class BestBound {
 public:
  BestBound() = default;
  /// From the evaluations in a file of metrics.
  explicit BestBound(const std::filesystem::path& metrics);

  /// Adds an evaluation after `step` joint steps; true if it is the best so far.
  bool add(double bound, int64_t step);

  double value() const { return value_; }
  int64_t step() const { return step_; }
  int64_t evaluations_since() const { return since_; }

 private:
  double value_ = -std::numeric_limits<double>::infinity();
  int64_t step_ = 0;
  int64_t since_ = 0;  ///< evaluations after the best one
};

}  // namespace facet
