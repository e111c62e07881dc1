// The files of a sweep beside its runs: sweep.json, which has the plan and the outcomes and which
// several processes keep up to date, sweep.csv and sweep.png. Each process changes them under a
// claim (core/claim.h), and reads first what the others have written.
#pragma once

#include <filesystem>
#include <vector>

#include "facet/train/sweep_plan.h"

namespace facet {

class SweepFolder {
 public:
  SweepFolder(const SweepPlan& plan, std::filesystem::path path)
      : plan_(plan), path_(std::move(path)) {}

  std::filesystem::path record() const { return path_ / "sweep.json"; }
  std::filesystem::path table() const { return path_ / "sweep.csv"; }
  std::filesystem::path chart() const { return path_ / "sweep.png"; }

  /// Writes the plan. False if another process has been first; its plan may be another one.
  bool create() const;
  /// All that is known of the runs, also of those that ended in a process that died right then.
  std::vector<RunOutcome> outcomes() const;
  RunOutcome outcome(size_t run) const;
  void update(size_t run, const RunOutcome& outcome) const;
  /// Writes all files and returns what they say. Whoever does it last has all that there is.
  std::vector<RunOutcome> write_summary() const;

 private:
  Json read_record() const;
  void write_record(const std::vector<RunOutcome>& outcomes) const;

  const SweepPlan& plan_;
  std::filesystem::path path_;
};

}  // namespace facet
