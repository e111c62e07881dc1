// The curves of a run, read from its metrics.jsonl: all terms of the bound while training and on
// the valid split, what every factor costs and how many of its components live, and the numbers
// that were on a schedule.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "facet/core/json.h"
#include "facet/report/chart.h"

namespace facet {

/// The steps that each phase is configured to have.
struct PhaseLengths {
  int64_t pretrain = 0, initialise = 0, joint = 0;
  int64_t total() const { return pretrain + initialise + joint; }
};

struct TrainingLog {
  std::vector<Json> records;  ///< one per line of the file
  PhaseLengths lengths;

  /// Steps done over all phases up to a record.
  int64_t steps_at(const Json& record) const;
  /// The last record's steps over all phases; 0 before the first.
  int64_t steps_done() const;
  /// The phase of the last record; empty before the first.
  std::string phase() const;
  /// Steps done of that phase.
  int64_t phase_step() const;
};

/// Reads metrics.jsonl. A last line without its end is left out: a run may be writing it. Other
/// damage is an Error that names the line. No file, as before a run's first record, is no records.
TrainingLog read_training_log(const std::filesystem::path& path, const PhaseLengths& lengths);

/// Charts that belong together.
struct ChartGroup {
  std::string title, caption;
  std::vector<Chart> charts;
};

/// Groups without any values are left out.
std::vector<ChartGroup> training_charts(const TrainingLog& log);

}  // namespace facet
