// What `facet import` shows: how far it is, and at the end what it found and did.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "facet/data/import_options.h"

namespace facet {

/// A bar that redraws itself on a terminal; elsewhere nothing, as the summary says it all.
class ImportProgress {
 public:
  ImportProgress();
  ImportProgress(const ImportProgress&) = delete;
  ImportProgress& operator=(const ImportProgress&) = delete;
  ~ImportProgress() { finish(); }  // an error's message starts on a line of its own

  void report(int64_t done, int64_t files);
  /// Takes the bar away.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  bool pending_ = false;  ///< a bar is on the screen
  Clock::time_point start_, last_;
};

/// One line about the pack, and lines about what a person should check.
void print_summary(const std::string& output, const ImportSummary& summary);

}  // namespace facet
