// The report of a fitted mixture as one HTML page: the curve of the bound, the components on the
// principal axes of the vectors, a table of components, and the config.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace facet {

struct FitReportRequest {
  std::string command_path;                        ///< the run as commands in the report name it
  std::function<void(const std::string&)> notice;  ///< hears what is being done
};

/// Reads the run, and its vectors again.
std::string fit_report(const std::filesystem::path& run, const FitReportRequest& request);

}  // namespace facet
