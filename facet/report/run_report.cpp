#include "facet/report/run_report.h"

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/core/version.h"
#include "facet/data/batches.h"
#include "facet/model/fingerprint.h"
#include "facet/report/report.h"

namespace facet {

namespace {

/// The score of the survey that was named, or of the one in the run, if anyone has answered it.
std::optional<SurveyScore> survey_of(const LoadedRun& run, const ReportRequest& request) {
  const bool named = !request.survey.empty();
  const SurveyFolder folder{named ? std::filesystem::path(request.survey) : run.folder.survey()};
  if (!named && !std::filesystem::exists(folder.description())) return std::nullopt;
  const auto say = [&](const std::string& sentence) {
    if (request.notice && !sentence.empty()) request.notice(sentence);
  };
  try {
    SurveyScore score = score_survey(folder);
    require_survey_of(score.survey, fingerprint(*run.model), folder.path.string());
    say(score.notice);
    if (!score.raters.empty()) return score;
    say(fmt::format("nobody has answered the survey {} yet", folder.path.string()));
  } catch (const Error& error) {
    if (named) throw;
    say(fmt::format("the report has no survey: {}", error.what()));
  }
  return std::nullopt;
}

}  // namespace

std::string run_report(const LoadedRun& run, const ReportRequest& request) {
  std::optional<SurveyScore> survey = survey_of(run, request);
  const Pack pack = load_data(run.config.data);
  require_shape(pack, *run.model, run.config.data.pack);
  RunReport report = gather_report(run.folder, run.config, *run.model, pack,
                                   {.classify = request.classify,
                                    .refinement = load_refinement(run, request.refine),
                                    .command_path = request.command_path,
                                    .version = fmt::format("facet {}", version()),
                                    .notice = request.notice});
  report.survey = std::move(survey);
  return report_page(report);
}

}  // namespace facet
