// `facet report`: one file that holds the run, from finished and unfinished ones, and one line with
// nothing written where there is nothing to report.
#include <algorithm>

#include <gtest/gtest.h>

#include "facet/data/image_file.h"
#include "facet/report/html.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"
#include "tests/report/well_formed.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

/// A run with a named factor, and one that a signal stopped while it pre-trained.
class ReportCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    write_text(*folder_ / "config.json", quick_config(), "test");
    const ProgramResult trained = in_folder(
        {"train", "config.json", "--out", "run", "--set", "model.factors.0.property=glasses"});
    ASSERT_EQ(trained.status, 0) << trained.err;
    RunningProgram program(
        facet_command({"train", "config.json", "--out", "young", "--set",
                       "train.pretrain.steps=1000000", "--set", "train.checkpoint_every=5"}),
        {.folder = folder_->path()});
    ASSERT_TRUE(wait_until([] {
      return fs::exists(*folder_ / "young" / "metrics.jsonl") &&
             fs::file_size(*folder_ / "young" / "metrics.jsonl") > 0;
    }));
    program.send(SIGINT);
    ASSERT_EQ(program.wait().status, 130);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static ProgramResult in_folder(const std::vector<std::string>& arguments,
                                 const ProgramOptions& options = {}) {
    return run_facet(arguments, {.largest_file = options.largest_file, .folder = folder_->path()});
  }
  static std::string report(std::vector<std::string> arguments, const std::string& place) {
    arguments.insert(arguments.begin(), "report");
    const ProgramResult result = in_folder(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(result.out.ends_with("report    " + place + "\n")) << result.out;
    const std::string page = read_text(*folder_ / place, "test");
    EXPECT_EQ(fault_in_tags(page), "");
    EXPECT_EQ(fetched_address(page), "");
    return page;
  }
  static void expect_refusal(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& parts,
                             const ProgramOptions& options = {}) {
    const auto before = files_below(folder_->path());
    const ProgramResult result = in_folder(arguments, options);
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    EXPECT_EQ(result.err.rfind("facet: ", 0), 0u) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    for (const std::string& part : parts)
      EXPECT_TRUE(contains(result.err, part)) << result.err << "  has no " << part;
    EXPECT_TRUE(files_below(folder_->path()) == before) << "files have changed";
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(ReportCommand, IsOneFileWithEverythingInIt) {
  const std::string page = report({"run"}, "run/report.html");
  for (const char* part : {"<h1>run</h1>", "45 steps", "Named right", "<title>ELBO</title>",
                           "<title>Living components</title>", "Components of each factor",
                           "How factors depend on each other",
                           "facet train run/config.json --out NEW-RUN", "facet 0."})
    EXPECT_TRUE(contains(page, part)) << part;
  EXPECT_FALSE(contains(page, "Evaluation classifier"));
  EXPECT_EQ(report({"run", "--out", "elsewhere.html"}, "elsewhere.html").substr(0, 15),
            "<!DOCTYPE html>");
}

TEST_F(ReportCommand, ShowsTheImagesThatItsCommandsDraw) {
  const std::string page = report({"run"}, "run/report.html");
  const ProgramResult drawn = in_folder({"sample", "run", "--out", "samples.png", "--bare"});
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  const Image sheet = read_image(*folder_ / "samples.png");  // 8 by 8 images of 16 by 16
  ASSERT_EQ(sheet.width, 8 * 16);
  for (const auto& [top, left] : {std::pair{0, 0}, std::pair{48, 112}}) {
    Image cell = Image::filled(3, 16, 16);
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t y = 0; y < 16; ++y)
        for (int64_t x = 0; x < 16; ++x) cell.at(c, y, x) = sheet.at(c, top + y, left + x);
    EXPECT_TRUE(contains(page, png_address(encode_png(cell)))) << top << ", " << left;
  }
}

TEST_F(ReportCommand, TheClassifierIsTrainedWhenRequested) {
  const std::string page =
      report({"run", "--judge", "--out", "classified.html"}, "classified.html");
  EXPECT_TRUE(contains(page, "<h3>Evaluation classifier</h3>"));
  EXPECT_TRUE(contains(page, "Samples as requested"));
}

TEST_F(ReportCommand, AnUnfinishedRunHasAReportToo) {
  const std::string page = report({"young", "--judge"}, "young/report.html");
  EXPECT_TRUE(contains(page, "of phase pretrain")) << "where training stands";
  EXPECT_TRUE(contains(page, "has no mixtures yet"));
  EXPECT_TRUE(contains(page, "<title>Reconstruction</title>"));
  EXPECT_FALSE(contains(page, "Components of each factor"));
}

TEST_F(ReportCommand, HelpNamesEveryOption) {
  const std::string help = run_facet({"report", "--help"}).out;
  for (const char* option : {"run", "--out", "--judge", "--device"})
    EXPECT_TRUE(contains(help, option)) << option;
}

TEST_F(ReportCommand, RefusesWhatItCannotReportOrWrite) {
  expect_refusal({"report", "nowhere"}, {"nowhere", "no config.json"});
  expect_refusal({"report"}, {"run is required"});
  expect_refusal({"report", "run", "--jugde"}, {"--jugde", "did you mean '--judge'"});
  expect_refusal({"report", "run", "--out", "no/such/folder/r.html"}, {"writing a report"});
  expect_refusal({"report", "run", "--out", "run"}, {"writing a report"});
  expect_refusal({"report", "run", "--out", "new.html"}, {"is the disk full?"},
                 {.largest_file = 20000});
  fs::create_directory(*folder_ / "damaged");
  for (const char* file : {"config.json", "model.safetensors"})
    fs::copy(*folder_ / "run" / file, *folder_ / "damaged" / file);
  write_text(*folder_ / "damaged" / "metrics.jsonl", "{\n", "test");
  expect_refusal({"report", "damaged"}, {"metrics.jsonl", "line 1"});
}

}  // namespace
}  // namespace facet
