// A training seen from its folder: only whole lines, each once, also when the file is cut back.
#include "facet/serve/run_watch.h"

#include <fstream>

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "tests/serve/served_run.h"

namespace facet {
namespace {

class RunWatchTest : public testing::Test {
 protected:
  RunWatchTest() {
    write_served_run(folder_ / "run", false);
    watch_ = std::make_unique<RunWatch>(RunFolder::open(folder_ / "run"));
  }
  void append(const std::string& text) {
    std::ofstream(folder_ / "run" / "metrics.jsonl", std::ios::app) << text;
  }
  static std::string line(int step) {
    return R"({"phase": "joint", "step": )" + std::to_string(step) +
           R"(, "factors": [{"name": "hair", "living": )" + std::to_string(step % 7) + "}]}\n";
  }

  TemporaryFolder folder_;
  std::unique_ptr<RunWatch> watch_;
};

TEST_F(RunWatchTest, GivesWholeLinesOnly) {
  append(line(1) + R"({"phase": "joi)");
  Json metrics = watch_->metrics(0);
  ASSERT_EQ(metrics["records"].size(), 1u);
  EXPECT_EQ(metrics["records"][0]["line"], 1);
  EXPECT_EQ(metrics["training"]["state"], "running");
  append(R"(nt", "step": 2})"
         "\n");
  metrics = watch_->metrics(1);
  ASSERT_EQ(metrics["records"].size(), 1u);
  EXPECT_EQ(metrics["records"][0]["step"], 2);
  EXPECT_EQ(metrics["training"]["step"], 2);
  EXPECT_EQ(metrics["training"]["phase_steps"]["pretrain"], 30);
  EXPECT_EQ(metrics["living"][0]["living"], 1);  // of the last line that has factors
}

TEST_F(RunWatchTest, GivesManyLinesInPieces) {
  std::string text;
  for (int step = 0; step < 2500; ++step) text += line(step);
  append(text);
  int64_t have = 0;
  int pieces = 0;
  for (bool more = true; more; ++pieces) {
    const Json metrics = watch_->metrics(have);
    for (const Json& record : metrics["records"]) EXPECT_EQ(record["step"], have++);
    more = metrics["more"];
  }
  EXPECT_EQ(have, 2500);
  EXPECT_EQ(pieces, 3);
}

TEST_F(RunWatchTest, BeginsAgainWhereAResumedRunCutTheFileBack) {
  append(line(1) + line(2) + line(3));
  EXPECT_EQ(watch_->metrics(0)["lines"], 3);
  write_text(folder_ / "run" / "metrics.jsonl", line(1), "test");
  const Json metrics = watch_->metrics(3);
  EXPECT_TRUE(metrics["restarted"].get<bool>());
  EXPECT_EQ(metrics["lines"], 1);
  EXPECT_EQ(metrics["records"].size(), 1u);
}

TEST_F(RunWatchTest, PassesOverLinesThatAreNoJson) {
  const std::string deep = R"({"factors": )" + std::string(300000, '[') + std::string(300000, ']') +
                           R"(, "step": 4})" + "\n";
  append("garbage\n[1]\n" + line(3) + deep);
  const Json metrics = watch_->metrics(0);
  ASSERT_EQ(metrics["records"].size(), 4u);
  EXPECT_EQ(metrics["records"][3]["step"], 4);
  EXPECT_EQ(metrics["records"][0], Json({{"line", 1}}));
  EXPECT_EQ(metrics["records"][2]["step"], 3);
}

TEST_F(RunWatchTest, IsFinishedOnceItIsEvaluated) {
  append(line(1));
  write_text(folder_ / "run" / "eval.json", "{}", "test");
  EXPECT_EQ(watch_->training()["state"], "finished");
}

}  // namespace
}  // namespace facet
