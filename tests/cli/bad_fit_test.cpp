// Vectors that cannot be fitted, or do not suit a fit.
#include <gtest/gtest.h>

#include "tests/cli/bad_input.h"

namespace facet {
namespace {

TEST_F(BadInput, VectorsThatCannotBeFitted) {
  const auto fit = [&](const std::string& vectors, const std::vector<std::string>& parts,
                       const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"fit", vectors, "--out", "new", "--components", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refusal(arguments, parts);
  };
  put("v.csv", "1,2\n3,4\n5,7\n");
  fit("nowhere.npy", {"nowhere.npy"});
  fit("config.json", {"config.json", "the ending '.json'"});
  expect_refusal({"fit", "v.csv", "--out", "new", "--components", "4"},
                 {"3 vectors", "at least 4"});
  fit("v.csv", {"2 columns", "expected 3"}, {"--factors", "a:3:2"});
  fit("v.csv", {"'a:x'", "NAME:DIMENSIONS"}, {"--factors", "a:x"});
  fit("v.csv", {"option 'fit.method'"}, {"--set", "fit.method=guess"});
  fit("v.csv", {"labels.csv", "2 rows", "expected 3"}, {"--labels", "labels.csv"});
  fit("v.csv", {"no factor 'b'"}, {"--name", "b=smile"});
  fit("v.csv", {"no such column"}, {"--name", "all=smile"});
  fit("v.csv", {"tensor, 'x'"}, {"--tensor", "x"});
  put("ragged.csv", "1,2\n3\n");
  fit("ragged.csv", {"ragged.csv", "1 cells in line 2"});
  put("empty.csv", "");
  fit("empty.csv", {"empty.csv", "empty file"});
  put("nan.csv", "1,2\n3,4\n5,nan\n");
  fit("nan.csv", {"nan in row 2, column 1"});
  put("infinite.csv", "1,2\ninf,4\n5,6\n");
  fit("infinite.csv", {"inf in row 1, column 0"});
  put("odd.npy", "\x93NUMPY\x01");
  fit("odd.npy", {"odd.npy", "cut short"});
  put("empty.npy", "");
  fit("empty.npy", {"empty.npy", "empty file"});
  fit("run", {"run"});
  expect_refusal({"fit", "--out", "new"}, {"no file"});
  expect_refusal({"fit", "v.csv"}, {"--out"});
  expect_refusal({"fit", "v.csv", "--out", "run"}, {"an existing run"});
}

TEST_F(BadInput, VectorsThatDoNotSuitTheirRun) {
  put("v.csv", "1,2\n3,4\n5,7\n");
  ASSERT_EQ(run_facet({"fit", "v.csv", "--out", "fitted", "--components", "2"},
                      {.folder = folder_.path()})
                .status,
            0);
  put("narrow.csv", "1\n2\n");
  const auto predict = [&](const std::string& run, const std::string& vectors,
                           const std::string& output, const std::vector<std::string>& parts) {
    expect_refusal({"predict", run, vectors, "--out", output}, parts);
  };
  predict("fitted", "narrow.csv", "p.csv", {"1 dimensions", "expected 2"});
  predict("fitted", "v.csv", "p.npy", {"p.npy", ".csv"});
  predict("run", "v.csv", "p.csv", {"no run of 'facet fit'"});
  predict("nowhere", "v.csv", "p.csv", {"no such folder"});
  expect_refusal({"eval", "fitted", "--vectors", "narrow.csv"}, {"1 dimensions"});
  expect_refusal({"eval", "fitted", "--split", "train"}, {"--split"});
  expect_refusal({"eval", "run", "--vectors", "v.csv"}, {"--vectors", "a model of images"});
  expect_refusal({"report", "fitted", "--judge"}, {"--judge", "no decoder"});
  put("fitted/model.safetensors", bytes("run/model.safetensors"));
  predict("fitted", "v.csv", "p.csv", {"format 'facet-model-1'"});
}

}  // namespace
}  // namespace facet
