// A run that may still be training, seen from its folder alone: the lines of metrics.jsonl as they
// come, the phase, how many components live, and whether the training goes on.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "facet/core/json.h"
#include "facet/train/run_folder.h"

namespace facet {

class RunWatch {
 public:
  explicit RunWatch(const RunFolder& folder);

  /// The answer of /metrics to a caller that has `after` lines.
  Json metrics(int64_t after);
  /// "training" of /model and /metrics.
  Json training();
  /// What a list of runs says of this one: "training" with its state, living components, and the
  /// last bound on valid images, or else on training images.
  Json summary();

 private:
  void read_new_lines();
  Json records(int64_t first, int64_t last) const;  // lines from 0, without the last
  Json training_locked();
  Json living() const;
  void note_progress();
  double steps_per_second() const;  // 0 where it is not known

  RunFolder folder_;
  Json phases_;  // steps by phase, from the config
  std::mutex mutex_;
  uint64_t inode_ = 0;
  std::vector<int64_t> starts_ = {0};           // where lines begin, and where the next one will
  Json last_, last_with_factors_, last_valid_;  // records
  struct Progress {
    double seconds;  // of a steady clock
    std::string phase;
    int64_t step;
  };
  std::deque<Progress> progress_;  // of the present phase, in the last minutes
};

}  // namespace facet
