// What the commands that go through many images show meanwhile: a progress bar and notes.
#pragma once

#include <fmt/format.h>

#include "cli/import_display.h"
#include "cli/interruption.h"
#include "facet/report/run_codes.h"

namespace facet {

/// Ctrl-C ends the work; `progress` must outlive the events.
inline CodeEvents shown_on(ImportProgress& progress) {
  catch_interruption();
  CodeEvents events;
  events.progress = [&progress](int64_t done, int64_t images) { progress.report(done, images); };
  events.stop = interrupted;
  events.notice = [](const std::string& sentence) { fmt::print("note: {}\n", sentence); };
  return events;
}

}  // namespace facet
