// A folder of runs: all are listed, whole or damaged, their files alone give the figures, and only
// a few models are in memory.
#include "facet/serve/runs_server.h"

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/export/page_files.h"
#include "tests/serve/served_run.h"

namespace facet {
namespace {

class RunsServerTest : public testing::Test {
 protected:
  RunsServerTest() {
    write_served_run(folder_ / "runs" / "good");
    write_served_run(folder_ / "runs" / "young", false);
    write_text(folder_ / "runs" / "good" / "config.json",
               R"({"model": {"factors": [{"name": "glasses", "property": "glasses"},
                   {"name": "hair"}]}})",
               "test");
    write_text(folder_ / "runs" / "good" / "eval.json",
               R"({"elbo": -5.5, "factors": [{"name": "glasses", "property": "glasses",
                   "accuracy": 0.9, "used": 2, "components": 2}, {"name": "hair", "used": 4,
                   "components": 5, "property": "hair", "accuracy": 0.4}]})",
               "test");
    write_text(folder_ / "runs" / "young" / "metrics.jsonl",
               R"({"phase": "pretrain", "step": 10, "elbo": -9})"
               "\n"
               R"({"phase": "pretrain", "step": 10, "valid": {"elbo": -8}})"
               "\n",
               "test");
  }
  RunsHandler& handler() {
    if (!handler_)
      handler_ = std::make_unique<RunsHandler>(folder_ / "runs", torch::kCPU, "facet test");
    return *handler_;
  }
  Json answer(const std::string& path, int status = 200,
              const std::multimap<std::string, std::string>& query = {}) {
    ApiRequest request;
    request.method = "GET";
    request.path = path;
    request.query = query;
    const ApiResponse response = handler().handle(request);
    EXPECT_EQ(response.status, status) << path << ": " << response.body.substr(0, 300);
    return Json::parse(response.body);
  }
  /// The run of a name in the list.
  Json listed(const std::string& name) {
    const Json all = answer("/api/v1/runs");
    for (const Json& run : all["runs"])
      if (run["name"] == name) return run;
    return Json();
  }

  TemporaryFolder folder_;
  std::unique_ptr<RunsHandler> handler_;
};

TEST_F(RunsServerTest, FiguresComeFromTheEvaluationOrElseFromTheLastMetrics) {
  const Json good = listed("good");
  EXPECT_EQ(good["state"], "finished");
  EXPECT_EQ(good["bound"], Json({{"value", -5.5}, {"split", "test"}}));
  EXPECT_EQ(good["accuracies"], Json({{"glasses", 0.9}}));
  EXPECT_EQ(good["factors"][1], Json({{"name", "hair"}, {"living", 4}, {"components", 5}}));
  EXPECT_EQ(good["model"], true);
  const Json young = listed("young");
  EXPECT_EQ(young["state"], "running");
  EXPECT_EQ(young["bound"], Json({{"value", -8}, {"split", "valid"}}));
  EXPECT_EQ(young["training"]["step"], 10);
  EXPECT_EQ(young["model"], false);
  EXPECT_EQ(handler().loaded(), 0u);  // the list needs no model
}

TEST_F(RunsServerTest, DamagedRunsAreListedWithWhatIsWrong) {
  write_served_run(folder_ / "runs" / "config");
  write_text(folder_ / "runs" / "config" / "config.json", "{\"train\": ", "test");
  std::filesystem::create_directories(folder_ / "runs" / "remains");
  write_text(folder_ / "runs" / "remains" / "metrics.jsonl", "{}\n", "test");
  write_served_run(folder_ / "runs" / "evaluation");
  write_text(folder_ / "runs" / "evaluation" / "eval.json", "[1, 2", "test");
  write_served_run(folder_ / "runs" / "model", false);
  write_text(folder_ / "runs" / "model" / "model.safetensors", "no model", "test");
  for (const char* name : {"config", "remains"}) {
    EXPECT_EQ(listed(name)["state"], "damaged") << name;
    EXPECT_NE(listed(name)["error"].get<std::string>(), "") << name;
  }
  EXPECT_NE(listed("evaluation")["error"].get<std::string>().find("no JSON object"),
            std::string::npos);
  EXPECT_FALSE(listed("model").contains("error"));  // nobody has read it yet
  answer("/run/model/api/v1/model", 500);
  EXPECT_EQ(listed("model")["state"], "damaged");
  answer("/run/good/api/v1/model");  // others go on
  write_model(folder_ / "runs" / "model" / "model.safetensors", *small_model());
  EXPECT_EQ(answer("/run/model/api/v1/model")["ready"], true);
  EXPECT_FALSE(listed("model").contains("error"));
}

TEST_F(RunsServerTest, OnlyAFewModelsAreInMemory) {
  for (int i = 0; i < 7; ++i) write_served_run(folder_ / "runs" / ("copy" + std::to_string(i)));
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 7; ++i) {
      const std::string name = "copy" + std::to_string(i);
      EXPECT_EQ(answer("/run/" + name + "/api/v1/model")["run"], name);
      EXPECT_LE(handler().loaded(), kMostLoadedRuns);
    }
  EXPECT_EQ(handler().loaded(), kMostLoadedRuns);
}

TEST_F(RunsServerTest, CurvesNeedNoModel) {
  const Json metrics = answer("/api/v1/metrics", 200, {{"run", "young"}, {"after", "1"}});
  EXPECT_EQ(metrics["records"][0]["valid"]["elbo"], -8);
  EXPECT_EQ(handler().loaded(), 0u);
}

TEST_F(RunsServerTest, NoAddressLeavesTheFolder) {
  write_served_run(folder_ / "elsewhere");
  for (const std::string name : {"..", ".", "", "absent", "../elsewhere", "good/../../elsewhere"}) {
    answer("/api/v1/metrics", 404, {{"run", name}});
    answer("/run/" + name + "/api/v1/model", 404);
    EXPECT_EQ(find_page_file(handler().page_file("/run/" + name + "/")), nullptr) << name;
  }
}

TEST_F(RunsServerTest, PagesAreTheListAndTheExplorerOfEachRun) {
  EXPECT_EQ(handler().page_file("/"), "/runs/runs.html");
  EXPECT_EQ(handler().page_file("/style.css"), "/style.css");
  EXPECT_EQ(handler().page_file("/run/good/"), "/");
  EXPECT_EQ(handler().page_file("/run/good/app.mjs"), "/app.mjs");
  EXPECT_EQ(handler().page_file("/run/good/runs/runs.html"), "");
  EXPECT_EQ(handler().method_at("/run/good/api/v1/generate"), "POST");
  EXPECT_EQ(handler().method_at("/run/good/api/v1/nothing"), "");
  EXPECT_THROW(handler().check_body("/run/good/api/v1/encode", "text/plain", 10), ApiError);
}

TEST_F(RunsServerTest, AFolderWithoutRunsIsAnError) {
  std::filesystem::create_directories(folder_ / "empty" / "folder");
  EXPECT_THROW(RunsHandler(folder_ / "empty", torch::kCPU, "facet"), Error);
}

}  // namespace
}  // namespace facet
