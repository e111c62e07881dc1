// The options of a fit, and the labels of vectors.
#include "facet/fit/fit_options.h"

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/fit/vector_labels.h"
#include "tests/contains.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

TEST(FitOptions, FactorsAreReadFromOneWord) {
  const auto factors = parse_factors("shape:8:64,colour:3", 10);
  ASSERT_EQ(factors.size(), 2u);
  EXPECT_EQ(factors[0].name, "shape");
  EXPECT_EQ(factors[0].dimensions, 8);
  EXPECT_EQ(factors[0].components, 64);
  EXPECT_EQ(factors[1].name, "colour");
  EXPECT_EQ(factors[1].components, 10);
  for (const char* bad : {"", "shape", ":3:4", "shape:0", "shape:3:x", "shape:3:4:5", "a:1,"})
    EXPECT_TRUE(contains(message_of([&] { parse_factors(bad, 4); }), "reading the factors")) << bad;
}

TEST(FitOptions, SettingsReachIntoTheConfig) {
  const TemporaryFolder folder;
  write_text(folder / "c.json", R"({"factors": [{"name": "a", "dimensions": 2}], "seed": 4})",
             "test");
  const FitConfig config =
      read_fit_config(folder / "c.json", {"factors.0.components=7", "fit.method=stochastic"});
  EXPECT_EQ(config.seed, 4);
  EXPECT_EQ(config.factors[0].components, 7);
  EXPECT_TRUE(config.fit.stochastic());
  EXPECT_TRUE(contains(message_of([&] { read_fit_config({}, {"fit.tol=3"}); }), "fit.tol"));
}

TEST(VectorLabels, ColumnsAreSortedByNumberOrName) {
  const TemporaryFolder folder;
  write_text(folder / "l.csv", "digit,colour\n10,red\n9,\n-1,blue\n,red\n", "test");
  const VectorLabels labels = read_vector_labels(folder / "l.csv", 4);
  EXPECT_EQ(labels.properties[0].values, (std::vector<std::string>{"9", "10"}));
  EXPECT_EQ(labels.properties[1].values, (std::vector<std::string>{"blue", "red"}));
  EXPECT_TRUE(labels.labels.equal(
      torch::tensor(std::vector<int64_t>{1, 1, 0, -1, -1, 0, -1, 1}, kInt64).view({4, 2})));
  EXPECT_TRUE(contains(message_of([&] { read_vector_labels(folder / "l.csv", 5); }),
                       "found 4 rows, expected 5"));
}

TEST(VectorLabels, NamedFactorsGetTheComponentsOfTheirValues) {
  VectorLabels labels;
  labels.properties = {{"colour", {"blue", "red"}}};
  labels.labels = torch::tensor(std::vector<int64_t>{0, 1, -1}, kInt64).view({3, 1});
  FactorOptions free, named;
  named.name = "c";
  named.property = "colour";
  named.values = {"red", "blue"};
  EXPECT_FALSE(labels_of_factors(labels, {free}).defined());
  EXPECT_TRUE(
      labels_of_factors(labels, {free, named})
          .equal(torch::tensor(std::vector<int64_t>{-1, 1, -1, 0, -1, -1}, kInt64).view({3, 2})));
}

}  // namespace
}  // namespace facet
