#include "facet/report/sweep_folder.h"

#include <algorithm>

#include "facet/core/claim.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/data/image_file.h"
#include "facet/report/sweep_summary.h"

namespace facet {

namespace fs = std::filesystem;

Json SweepFolder::read_record() const {
  if (!fs::exists(record())) return {};
  return Json::parse(read_text(record(), "reading the state of a sweep"), nullptr, false);
}

void SweepFolder::write_record(const std::vector<RunOutcome>& outcomes) const {
  write_text(record(), sweep_record(plan_, outcomes).dump(2) + "\n", "saving the state of a sweep");
}

bool SweepFolder::create() const {
  const auto claim = Claim::wait_for(record());
  if (fs::exists(record())) return false;
  write_record(std::vector<RunOutcome>(plan_.runs.size()));
  return true;
}

std::vector<RunOutcome> SweepFolder::outcomes() const {
  return known_outcomes(plan_, read_record(), path_);
}

RunOutcome SweepFolder::outcome(size_t run) const {
  RunOutcome outcome = recorded_outcomes(plan_, read_record())[run];
  find_evaluation(outcome, {path_ / plan_.runs[run].name});
  return outcome;
}

void SweepFolder::update(size_t run, const RunOutcome& outcome) const {
  const auto claim = Claim::wait_for(record());
  std::vector<RunOutcome> outcomes = recorded_outcomes(plan_, read_record());
  // Another process may have taken this run over and finished it.
  if (outcomes[run].state == RunState::finished && outcome.state != RunState::finished) return;
  outcomes[run] = outcome;
  write_record(outcomes);
}

std::vector<RunOutcome> SweepFolder::write_summary() const {
  const auto claim = Claim::wait_for(record());
  const std::vector<RunOutcome> outcomes = this->outcomes();
  write_record(outcomes);
  write_text(table(), sweep_csv(plan_, outcomes), "saving the table of a sweep");
  if (std::any_of(outcomes.begin(), outcomes.end(),
                  [](const RunOutcome& outcome) { return outcome.state == RunState::finished; }))
    write_png(chart(), draw_plot(sweep_plot(plan_, outcomes)));
  return outcomes;
}

}  // namespace facet
