// `facet fit` and `facet predict` as a user types them, and what other commands do with such a run.
#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/data/csv.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

/// 300 vectors in three clusters with a few labels, and a run on them.
class FittedRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    std::string vectors = "x,y,z\n", labels = "kind,all\n";
    for (int n = 0; n < 300; ++n) {
      const int k = n % 3;
      vectors += std::to_string(10.0 * k + std::sin(n * 1.7)) + "," +
                 std::to_string(-5.0 * k + std::cos(n * 2.3)) + "," +
                 std::to_string((k == 1 ? 8.0 : 0.0) + std::sin(n * 0.9)) + "\n";
      labels += std::string(n < 30 ? (k == 0   ? "low"
                                      : k == 1 ? "mid"
                                               : "high")
                                   : "") +
                "," + std::to_string(k) + "\n";
    }
    write_text(*folder_ / "v.csv", vectors, "test");
    write_text(*folder_ / "l.csv", labels, "test");
    fit_ = run_facet({"fit", path("v.csv"), "--out", path("run"), "--components", "8", "--labels",
                      path("l.csv")});
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string path(const std::string& name) { return (*folder_ / name).string(); }

  static inline TemporaryFolder* folder_ = nullptr;
  static inline ProgramResult fit_;
};

TEST_F(FittedRun, LeavesAllFilesAndSaysWhatItFound) {
  ASSERT_EQ(fit_.status, 0) << fit_.err;
  for (const char* name : {"config.json", "metrics.jsonl", "model.safetensors", "eval.json"})
    EXPECT_TRUE(fs::exists(fs::path(path("run")) / name)) << name;
  EXPECT_TRUE(contains(fit_.out, "300 vectors of 3 dimensions")) << fit_.out;
  EXPECT_TRUE(contains(fit_.out, "converged after")) << fit_.out;
  EXPECT_TRUE(contains(fit_.out, "3 of 8")) << fit_.out;
  const Json evaluation = Json::parse(read_text(path("run") + "/eval.json", "test"));
  EXPECT_EQ(evaluation["factors"][0]["used"], 3);
  EXPECT_GT(evaluation["factors"][0]["properties"]["all"]["nmi"], 0.999);
  const TensorFile model = read_safetensors(path("run") + "/model.safetensors", "test");
  for (const char* name : {"m", "s", "a", "b"})
    EXPECT_EQ(model.tensors.at(std::string("prior.all.") + name).sizes(),
              (std::vector<int64_t>{8, 3}));
  // Means are in the units of the vectors.
  EXPECT_NEAR(model.tensors.at("prior.all.m").select(1, 0).max().item<double>(), 20.0, 0.5);
}

TEST_F(FittedRun, PredictsNewVectors) {
  write_text(*folder_ / "new.csv", "0,0,0\n10,-5,8\n20,-10,0\n100,100,100\n", "test");
  const ProgramResult result = run_facet(
      {"predict", path("run"), path("new.csv"), "--out", path("p.csv"), "--probabilities"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Table table = read_csv(path("p.csv"));
  ASSERT_EQ(table.rows.size(), 4u);
  ASSERT_EQ(table.columns.size(), 1u + 2u + 8u + 1u);
  EXPECT_EQ(table.columns[1], "all");
  EXPECT_EQ(table.columns.back(), "log density");
  EXPECT_NE(table.rows[0][1], table.rows[1][1]);
  EXPECT_NE(table.rows[1][1], table.rows[2][1]);
  for (const auto& row : table.rows) {
    double sum = 0;
    for (size_t k = 0; k < 8; ++k) sum += std::stod(row[3 + k]);
    EXPECT_NEAR(sum, 1.0, 1e-3);
    EXPECT_NEAR(std::stod(row[3 + std::stoul(row[1])]), std::stod(row[2]), 1e-9);
  }
  EXPECT_LT(std::stod(table.rows[3].back()), std::stod(table.rows[0].back()) - 10)
      << "a vector far from all others is improbable";
}

TEST_F(FittedRun, ANamedFactorHasTheNamesOfItsLabels) {
  const ProgramResult result =
      run_facet({"fit", path("v.csv"), "--out", path("named"), "--factors", "kind:2,rest:1:4",
                 "--labels", path("l.csv"), "--name", "kind=kind", "--set", "fit.iterations=30"});
  ASSERT_EQ(result.status, 0) << result.err;
  ASSERT_EQ(run_facet({"predict", path("named"), path("v.csv"), "--out", path("n.csv")}).status, 0);
  const Table table = read_csv(path("n.csv"));
  for (size_t n = 0; n < 300; ++n)
    EXPECT_EQ(table.rows[n][1], n % 3 == 0 ? "low" : n % 3 == 1 ? "mid" : "high") << n;
  const ProgramResult about = run_facet({"info", path("named")});
  EXPECT_TRUE(contains(about.out, "named by 'kind': high, low, mid")) << about.out;
}

TEST_F(FittedRun, EvalInfoAndReportReadIt) {
  const ProgramResult eval = run_facet({"eval", path("run"), "--json"});
  ASSERT_EQ(eval.status, 0) << eval.err;
  const Json again = Json::parse(eval.out);
  const Json first = Json::parse(read_text(path("run") + "/eval.json", "test"));
  EXPECT_NEAR(again["elbo"], first["elbo"], 1e-9);
  write_text(*folder_ / "far.csv", "50,50,50\n", "test");
  const ProgramResult far =
      run_facet({"eval", path("run"), "--vectors", path("far.csv"), "--json"});
  ASSERT_EQ(far.status, 0) << far.err;
  EXPECT_LT(Json::parse(far.out)["predictive_bound"], first["predictive_bound"]);
  for (const char* name : {"run", "run/model.safetensors"}) {
    const ProgramResult info = run_facet({"info", path(name)});
    ASSERT_EQ(info.status, 0) << info.err;
    EXPECT_TRUE(contains(info.out, "factor 'all': 3 dimensions, 8 components, 3 living"))
        << info.out;
  }
  const ProgramResult report = run_facet({"report", path("run")});
  ASSERT_EQ(report.status, 0) << report.err;
  const std::string page = read_text(path("run") + "/report.html", "test");
  EXPECT_TRUE(contains(page, "principal axes 1 and 2"));
  EXPECT_TRUE(contains(page, "<circle")) << "vectors are drawn";
  EXPECT_TRUE(contains(page, "living components"));
}

TEST_F(FittedRun, CommandsThatNeedADecoderSaySo) {
  const std::string out = path("x.png");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"sample", path("run"), "--out", out},
        {"grid", path("run"), "--rows", "all", "--cols", "all", "--out", out},
        {"clusters", path("run"), "--factor", "all", "--out", out},
        {"reconstruct", path("run"), path("v.csv"), "--out", out},
        {"label", path("run"), path("v.csv"), "--out", path("x.csv")},
        {"serve", path("run")},
        {"train", "--out", path("run"), "--resume"},
        {"sample", path("run") + "/model.safetensors", "--out", out}}) {
    const ProgramResult result = run_facet(command);
    EXPECT_EQ(result.status, 2) << command[0];
    EXPECT_TRUE(contains(result.err, "which has no decoder")) << command[0] << ": " << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_TRUE(contains(run_facet({"eval", path("run"), "--judge"}).err, "no decoder"));
}

TEST_F(FittedRun, TheSavedConfigFitsTheSameAgain) {
  const ProgramResult again =
      run_facet({"fit", "--config", path("run") + "/config.json", "--out", path("again")});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(read_text(path("run") + "/metrics.jsonl", "test"),
            read_text(path("again") + "/metrics.jsonl", "test"));
}

TEST(FitDocumentation, OptionsArePrintedAsInTheDocs) {
  const ProgramResult result = run_facet({"fit", "--describe-options"});
  ASSERT_EQ(result.status, 0) << result.err;
  const std::string page = read_text(fs::path(FACET_SOURCE_FOLDER) / "docs" / "fit.md", "test");
  EXPECT_TRUE(contains(page, result.out)) << "paste it into docs/fit.md:\n" << result.out;
}

}  // namespace
}  // namespace facet
