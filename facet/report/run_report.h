// The report of a run in a folder, as one HTML page: what `facet report` writes.
#pragma once

#include <functional>
#include <string>

#include "facet/train/loaded_run.h"

namespace facet {

struct ReportRequest {
  bool classify = false;     ///< train an evaluation classifier and ask it about samples
  RefineChoice refine;       ///< of samples, combinations and reconstructions
  std::string survey;        ///< the folder of a survey; empty for the run's own, if it has one
  std::string command_path;  ///< the run as commands in the report name it
  std::function<void(const std::string&)> notice;  ///< hears what is being done
};

std::string run_report(const LoadedRun& run, const ReportRequest& request);

}  // namespace facet
