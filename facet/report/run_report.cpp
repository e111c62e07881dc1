#include "facet/report/run_report.h"

#include <fmt/format.h>

#include "facet/core/torch.h"
#include "facet/core/version.h"
#include "facet/data/batches.h"
#include "facet/report/report.h"

namespace facet {

std::string run_report(const LoadedRun& run, const ReportRequest& request) {
  const Pack pack = load_data(run.config.data);
  require_shape(pack, *run.model, run.config.data.pack);
  return report_page(gather_report(run.folder, run.config, *run.model, pack,
                                   {.classify = request.classify,
                                    .refinement = load_refinement(run, request.refine),
                                    .command_path = request.command_path,
                                    .version = fmt::format("facet {}", version()),
                                    .notice = request.notice}));
}

}  // namespace facet
