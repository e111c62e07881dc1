// Reading metrics.jsonl and what is drawn of it.
#include "facet/report/curves.h"

#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

constexpr PhaseLengths kLengths{200, 50, 300};

const char* const kMetrics =
    R"({"phase":"pretrain","step":100,"elbo":-5.0,"reconstruction":-4.0,"kl_z":1.0,"kl_r":0.0,"learning_rate":0.001}
{"phase":"pretrain","step":200,"elbo":-3.0,"reconstruction":-2.0,"kl_z":1.0,"kl_r":0.0,"learning_rate":0.001}
{"phase":"initialise","step":50,"kl_z":2.0,"kl_r":0.5,"step_size":0.01,"factors":[{"name":"a","living":3,"perplexity":2.5,"kl_z":2.0,"kl_r":0.5}]}
{"phase":"joint","step":100,"elbo":1.0,"reconstruction":4.0,"kl_z":2.5,"kl_r":0.5,"gradient_norm":null,"factors":[{"name":"a","living":2,"perplexity":1.5,"kl_z":2.5,"kl_r":0.5}]}
{"phase":"joint","step":100,"valid":{"elbo":0.5,"reconstruction":3.5,"kl_z":2.5,"kl_r":0.5}}
)";

class Curves : public testing::Test {
 protected:
  TrainingLog read(const std::string& text) {
    write_text(folder_ / "metrics.jsonl", text, "test");
    return read_training_log(folder_ / "metrics.jsonl", kLengths);
  }
  /// The line of this name in the chart of this title; an empty one where there is none.
  static ChartLine line(const TrainingLog& log, const std::string& title, const std::string& name) {
    for (const ChartGroup& group : training_charts(log))
      for (const Chart& chart : group.charts)
        for (const ChartLine& line : chart.lines)
          if (chart.title == title && line.name == name) return line;
    return {};
  }

  TemporaryFolder folder_;
};

TEST_F(Curves, StepsRunOnOverThePhases) {
  const TrainingLog log = read(kMetrics);
  EXPECT_EQ(log.records.size(), 5u);
  EXPECT_EQ(log.steps_done(), 350);
  EXPECT_EQ(log.phase(), "joint");
  EXPECT_EQ(log.phase_step(), 100);
  const ChartLine elbo = line(log, "ELBO", "train");
  ASSERT_EQ(elbo.points.size(), 4u);
  EXPECT_EQ(elbo.points[1].x, 200);
  EXPECT_TRUE(std::isnan(elbo.points[2].y)) << "a break between phases";
  EXPECT_EQ(elbo.points[3].x, 350);
  EXPECT_EQ(elbo.points[3].y, 1.0);
  const ChartLine valid = line(log, "ELBO", "valid");
  ASSERT_EQ(valid.points.size(), 1u);
  EXPECT_EQ(valid.points[0].y, 0.5);
}

TEST_F(Curves, AllTermsAndFactorsAreThere) {
  const TrainingLog log = read(kMetrics);
  for (const char* title : {"ELBO", "Reconstruction", "KL[z]", "KL[r]"})
    EXPECT_FALSE(line(log, title, "train").points.empty()) << title;
  for (const char* title : {"KL[z] of each factor", "KL[r] of each factor", "Living components",
                            "Perplexity of components"})
    EXPECT_FALSE(line(log, title, "a").points.empty()) << title;
  EXPECT_EQ(line(log, "Living components", "a").points.back().y, 2);
  EXPECT_EQ(line(log, "KL[r]", "train").points.front().x, 250) << "no KL[r] without mixtures";
  EXPECT_TRUE(line(log, "Gradient norm", "Gradient norm").points.empty()) << "null is no number";
}

TEST_F(Curves, PhasesAreMarked) {
  const TrainingLog log = read(kMetrics);
  const std::vector<ChartSpan> spans = training_charts(log).front().charts.front().spans;
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[1].name, "initialise");
  EXPECT_EQ(spans[1].begin, 200);
  EXPECT_EQ(spans[1].end, 250);
}

TEST_F(Curves, ALineThatIsBeingWrittenIsLeftOut) {
  EXPECT_EQ(read(std::string(kMetrics).append(R"({"phase":"joint","st)")).records.size(), 5u);
}

TEST_F(Curves, DamageIsAnErrorThatNamesTheLine) {
  for (const char* damaged :
       {"{\"phase\":\"pretrain\"\n", "[]\n", "{\"phase\":\"joint\"}\n",
        "{\"phase\":\"later\",\"step\":1}\n", "{\"phase\":3,\"step\":1}\n", "\n"}) {
    const std::string found = message_of([&] { read(std::string(kMetrics).append(damaged)); });
    EXPECT_NE(found.find("line 6"), std::string::npos) << damaged << found;
  }
}

TEST_F(Curves, BeforeTheFirstRecordThereIsNothing) {
  const TrainingLog none = read_training_log(folder_ / "absent", kLengths);
  EXPECT_EQ(none.steps_done(), 0);
  EXPECT_EQ(none.phase(), "");
  EXPECT_TRUE(training_charts(none).empty());
  EXPECT_TRUE(training_charts(read("")).empty());
}

}  // namespace
}  // namespace facet
