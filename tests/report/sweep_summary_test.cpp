// The summary of a sweep: numbers from evaluations, means over seeds, files that say the same, and
// a picture whose axis fits the values.
#include "facet/report/sweep_summary.h"

#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/report/sweep_folder.h"
#include "tests/contains.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

Json evaluation(double elbo, int64_t used) {
  return {{"split", "test"},
          {"elbo", elbo},
          {"reconstruction", elbo + 30},
          {"kl_z", 20},
          {"kl_r", 10},
          {"factors",
           {{{"name", "a"}, {"components", 8}, {"used", used}, {"perplexity", 4.0}},
            {{"name", "b"}, {"components", 4}, {"used", 1}, {"perplexity", 2.0}}}}};
}

SweepPlan plan_of(const std::vector<std::string>& texts) {
  std::vector<Variation> variations;
  for (const std::string& text : texts) variations.push_back(parse_variation(text));
  return plan_sweep({}, variations, "config");
}

/// Finished runs with bounds -100, -101, ...
std::vector<RunOutcome> finished(const SweepPlan& plan) {
  std::vector<RunOutcome> outcomes(plan.runs.size());
  for (size_t i = 0; i < outcomes.size(); ++i)
    outcomes[i] = {RunState::finished, 1.5, evaluation(-100 - static_cast<double>(i), 7), "", {}};
  return outcomes;
}

Chart first_chart(const SweepPlan& plan) { return sweep_plot(plan, finished(plan)).charts.front(); }

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(SweepSummary, MeasuresAddComponentsAndAveragePerplexities) {
  const Measures measures = measures_of(evaluation(-100, 7));
  EXPECT_EQ(measures, (Measures{-100, -70, 20, 10, 8, 3}));
  EXPECT_TRUE(std::isnan(measures_of(Json::object())[0]));
}

TEST(SweepSummary, SeedsBecomeMeansWithStandardDeviations) {
  const SweepPlan plan = plan_of({"train.batch_size=16,32", "seed=1,2,3"});
  const auto groups = group_over_seeds(plan, finished(plan));
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[1].values, (std::vector<Json>{32}));
  EXPECT_EQ(groups[1].count, 3);
  EXPECT_DOUBLE_EQ(groups[1].mean[0], -104);  // of -103, -104, -105
  EXPECT_DOUBLE_EQ(groups[1].stddev[0], 1);
  EXPECT_EQ(groups[1].low[0], -105);
  EXPECT_EQ(groups[1].high[0], -103);
  const std::string table = sweep_table(plan, finished(plan));
  EXPECT_TRUE(contains(table, "over seeds")) << table;
  EXPECT_TRUE(contains(table, "-104.00 +- 1.00")) << table;
  const Json record = sweep_record(plan, finished(plan));
  EXPECT_EQ(record["over_seeds"][1]["settings"]["train.batch_size"], 32);
  EXPECT_EQ(record["over_seeds"][1]["mean"]["elbo"], -104.0);
  EXPECT_EQ(record["over_seeds"][1]["standard_deviation"]["elbo"], 1.0);
}

TEST(SweepSummary, TableAndCsvHaveALineForEveryRunFinishedOrNot) {
  const SweepPlan plan = plan_of({"train.batch_size=16,32", "data.binarize=none,fixed"});
  auto outcomes = finished(plan);
  outcomes[2] = {RunState::failed, 3, {}, "NaN somewhere", {}};
  const auto table = lines_of(sweep_table(plan, outcomes)),
             csv = lines_of(sweep_csv(plan, outcomes));
  ASSERT_EQ(table.size(), 5u) << "no line over seeds";
  EXPECT_TRUE(contains(table[1], "8 of 12")) << table[1];
  EXPECT_TRUE(contains(table[3], "failed")) << table[3];
  ASSERT_EQ(csv.size(), 5u);
  EXPECT_EQ(csv[0],
            "run,train.batch_size,data.binarize,state,split,elbo,reconstruction,kl_z,kl_r,living,"
            "perplexity,components,seconds");
  EXPECT_EQ(csv[1], "batch_size-16_binarize-none,16,none,finished,test,-100,-70,20,10,8,3,12,1.5");
  EXPECT_EQ(csv[3], "batch_size-32_binarize-none,32,none,failed,,,,,,,,,3.0");
  EXPECT_EQ(sweep_record(plan, outcomes)["runs"][2]["failure"], "NaN somewhere");
}

TEST(SweepSummary, PowersOfTwoAreShownOnALogarithmicAxis) {
  const SweepPlan plan = plan_of({"train.batch_size=64,8,16"});
  const ChartSheet sheet = sweep_plot(plan, finished(plan));
  const Chart& chart = sheet.charts.front();
  EXPECT_EQ(chart.x_title, "batch_size, log2 axis");
  ASSERT_EQ(chart.x_ticks.size(), 3u);
  EXPECT_EQ(chart.x_ticks[0].label, "8");
  EXPECT_EQ(chart.x_ticks[0].x, 3);
  EXPECT_EQ(chart.x_ticks[2].x, 6);
  const auto& points = chart.lines.front().points;
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[2].y, -100) << "in the order of the axis, not of the runs";
  EXPECT_TRUE(sheet.legend.empty());
}

TEST(SweepSummary, OtherAxesAreEvenTextsOneByOneAndRatesLogarithmic) {
  const SweepPlan numbers = plan_of({"train.batch_size=10,20,30"});
  EXPECT_EQ(first_chart(numbers).x_title, "batch_size");
  const SweepPlan texts = plan_of({"data.binarize=none,fixed"});
  EXPECT_EQ(first_chart(texts).x_ticks[1].x, 1);
  const SweepPlan rates = plan_of({"train.learning_rate.start=1e-5,1e-3"});
  EXPECT_EQ(first_chart(rates).x_title, "start, log axis");
}

TEST(SweepSummary, OtherOptionsBecomeLinesAndSeedsABand) {
  const SweepPlan plan = plan_of({"train.batch_size=8,16", "data.binarize=none,fixed", "seed=1,2"});
  const ChartSheet sheet = sweep_plot(plan, finished(plan));
  EXPECT_EQ(sheet.legend, (std::vector<std::string>{"binarize none", "binarize fixed"}));
  const ChartPoint& point = sheet.charts.front().lines[1].points[0];  // -102 and -103
  EXPECT_EQ(point.y, -102.5);
  EXPECT_EQ(point.low, -103);
  EXPECT_EQ(point.high, -102);
  const SweepPlan seeds = plan_of({"seed=5,6,7"});
  EXPECT_EQ(first_chart(seeds).lines.front().points.size(), 3u);
}

TEST(SweepSummary, KnownOutcomesAreTheEvaluationsThatAreThere) {
  const SweepPlan plan = plan_of({"seed=1,2,3"});
  TemporaryFolder folder;
  for (const char* name : {"seed-1", "seed-2"}) std::filesystem::create_directory(folder / name);
  write_text(folder / "seed-1" / "eval.json", evaluation(-5, 7).dump(), "test");
  write_text(folder / "seed-2" / "eval.json", "{ cut sho", "test");
  const auto outcomes = known_outcomes(plan, sweep_record(plan, finished(plan)), folder.path());
  EXPECT_EQ(outcomes[0].state, RunState::finished);
  EXPECT_EQ(outcomes[0].evaluation["elbo"], -5);
  EXPECT_EQ(outcomes[0].seconds, 1.5);
  EXPECT_EQ(outcomes[1].state, RunState::waiting) << "made again";
  EXPECT_EQ(outcomes[2].state, RunState::waiting);
}

TEST(SweepFolder, ProcessesAddToOneRecord) {
  const SweepPlan plan = plan_of({"seed=1,2,3"});
  TemporaryFolder folder;
  const SweepFolder one(plan, folder.path()), other(plan, folder.path());
  EXPECT_TRUE(one.create());
  EXPECT_FALSE(other.create()) << "there is one already";
  one.update(0, {RunState::failed, 2, {}, "NaN", {}});
  other.update(1, {RunState::stopped, 3, {}, "", {}});
  EXPECT_EQ(other.outcome(0).failure, "NaN");
  EXPECT_EQ(one.outcome(1).state, RunState::stopped);
  EXPECT_EQ(one.outcome(1).seconds, 3);
  EXPECT_EQ(one.outcomes()[2].state, RunState::waiting);
  std::filesystem::create_directory(folder / "seed-2");  // finished by a process that died then
  write_text(folder / "seed-2" / "eval.json", evaluation(-5, 7).dump(), "test");
  const auto outcomes = one.write_summary();
  EXPECT_EQ(outcomes[1].state, RunState::finished);
  EXPECT_EQ(sweep_record(plan, outcomes).dump(2) + "\n", read_text(one.record(), "test"));
  EXPECT_EQ(sweep_csv(plan, outcomes), read_text(one.table(), "test"));
  other.update(1, {RunState::stopped, 4, {}, "", {}});
  EXPECT_EQ(one.outcome(1).seconds, 3) << "who has lost a run does not change what is finished";
}

}  // namespace
}  // namespace facet
