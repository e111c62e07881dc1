// Names that people give: read as they were written, used by the mixture, and refused where they
// would be ambiguous.
#include "facet/train/run_names.h"

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/prior/factorial_mixture.h"
#include "facet/train/run_folder.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

FactorialMixture two_factors() {
  std::vector<FactorOptions> factors = {{"glasses", 2, 2}, {"first", 4, 3}};
  factors[0].property = "glasses";
  factors[0].values = {"without", "with"};
  return FactorialMixture(factors, Hyperprior{});
}

TEST(RunNames, AreReadAsTheyWereWritten) {
  const TemporaryFolder folder;
  const RunFolder run{folder / "."};
  EXPECT_TRUE(read_names(run).empty());
  write_names(run, {{"first", {"background", {{3, "blue"}}}}});
  const RunNames names = read_names(run);
  EXPECT_EQ(names.at("first").name, "background");
  EXPECT_EQ(names.at("first").components.at(3), "blue");
  write_text(run.names(), "{\"factors\": 3}", "test");
  EXPECT_THROW(read_names(run), Error);
}

TEST(RunNames, ReplaceTheModelsOwnWhichStillWork) {
  FactorialMixture prior = two_factors();
  apply_names(prior, {{"first", {"background", {{3, "blue"}}}}});
  EXPECT_EQ(prior.index_of("background"), 1u);
  EXPECT_EQ(prior.index_of("first"), 1u);
  EXPECT_EQ(prior.factors[1].component_of("blue"), 3);
  EXPECT_EQ(prior.factors[1].component_of("3"), 3);
  EXPECT_EQ(prior.factors[1].component_name(2), "2");
  EXPECT_FALSE(prior.factors[1].named());  // it has no labels
}

TEST(RunNames, RefuseOneNameForTwo) {
  FactorialMixture prior = two_factors();
  EXPECT_THROW(apply_names(prior, {{"first", {"glasses", {}}}}), Error);
  prior = two_factors();
  EXPECT_THROW(apply_names(prior, {{"first", {"", {{0, "blue"}, {1, "blue"}}}}}), Error);
  prior = two_factors();
  EXPECT_THROW(apply_names(prior, {{"first", {"", {{4, "blue"}}}}}), Error);
}

TEST(RunNames, RefuseWhatOptionsCouldNotName) {
  for (const char* name : {"", "7", "a=b", "a,b", "a:b", " a", "-a"})
    EXPECT_THROW(require_usable_name(name), Error) << name;
  EXPECT_NO_THROW(require_usable_name("dark blue"));
}

}  // namespace
}  // namespace facet
