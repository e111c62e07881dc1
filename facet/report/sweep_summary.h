// What a sweep has found: a table for the terminal, the same as JSON and CSV, means over seeds, and
// one picture of the bound's terms over what was varied.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "facet/report/plot.h"
#include "facet/train/sweep_plan.h"

namespace facet {

/// The numbers of a finished run, in this order; components and perplexities of several factors
/// are added and averaged.
inline constexpr std::array<const char*, 6> kMeasureNames = {
    "elbo", "reconstruction", "kl_z", "kl_r", "living", "perplexity"};
using Measures = std::array<double, kMeasureNames.size()>;

/// Of an eval.json; what it does not hold is NaN.
Measures measures_of(const Json& evaluation);

/// Finished runs that differ in nothing but seeds.
struct SeedGroup {
  std::vector<Json> values;  ///< of the variations that are no seeds, in their order
  int64_t count = 0;
  Measures mean{}, stddev{};  ///< stddev is NaN for a single run
  Measures low{}, high{};
};
std::vector<SeedGroup> group_over_seeds(const SweepPlan& plan,
                                        const std::vector<RunOutcome>& outcomes);

/// sweep.json: the plan, every run with its state and its evaluation, and means over seeds where
/// seeds are varied.
Json sweep_record(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes);
/// The outcomes in such a record.
std::vector<RunOutcome> recorded_outcomes(const SweepPlan& plan, const Json& record);
/// Changes an outcome to what the run's folder says: finished where there is an evaluation.
void find_evaluation(RunOutcome& outcome, const RunFolder& folder);
/// Both for all runs of the sweep in `folder`.
std::vector<RunOutcome> known_outcomes(const SweepPlan& plan, const Json& record,
                                       const std::filesystem::path& folder);

/// sweep.csv: one line per run.
std::string sweep_csv(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes);

/// Lines for a person: one row per run and, where seeds are varied, one row per group of them.
std::string sweep_table(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes);

/// A chart per measure over the first option that is varied and is no seed (or the first seed),
/// with a line for each combination of the others and the spread over seeds as a band.
ChartSheet sweep_plot(const SweepPlan& plan, const std::vector<RunOutcome>& outcomes);

}  // namespace facet
