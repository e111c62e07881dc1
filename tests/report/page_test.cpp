// The report as a page: it says what was measured, holds everything itself, is well formed with
// whatever names users choose, and leaves out what a run does not have.
#include <algorithm>
#include <regex>

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/report/html.h"
#include "facet/report/report.h"
#include "tests/close.h"
#include "tests/contains.h"
#include "tests/report/well_formed.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

constexpr const char* kHostile = "</td><script>alert('x')</script>\"&";

/// A page of any run: well formed, nothing to fetch, a text for every picture.
void expect_sound(const std::string& page) {
  EXPECT_EQ(fault_in_tags(page), "");
  EXPECT_EQ(fetched_address(page), "");
  EXPECT_EQ(attributes(page, "alt").size(), attributes(page, "src").size());
  for (const std::string& text : attributes(page, "alt")) EXPECT_NE(text, "");
  EXPECT_FALSE(contains(page, ">nan"));
}

/// What a small run would have found, without running one.
struct Case {
  std::vector<FactorOptions> factors = {{"glasses", 2, 2, "glasses", {"without", "with"}},
                                        {"first", 3, 2}};
  ImageShape shape{3, 16, 16};
  bool placed = true;
  int64_t count = 60;
  bool labels = true, test_split = true, classify = false;
  std::string metrics;
};

class Report : public testing::Test {
 protected:
  RunReport gather(const Case& one) {
    Config config;
    config.model.likelihood.kind = one.shape.channels == 3 ? "gaussian" : "bernoulli";
    config.model.network = {"custom", {8, 8}, {2, 2}, 3};
    config.model.factors = one.factors;
    config.train.pretrain.steps = 100;
    config.train.initialise.steps = 10;
    config.train.joint.steps = 200;
    Vae model(config.model, one.shape, Key(1));
    for (size_t i = 0; one.placed && i < model.prior.size(); ++i)
      model.prior.posteriors[i] =
          random_posterior(Key(2).fold(i), one.factors[i].components, one.factors[i].dimensions);
    write_text(folder_ / "metrics.jsonl", one.metrics, "test");
    return gather_report(
        {folder_.path()}, config, model, pack(one),
        {.classify = one.classify, .command_path = "runs/a b", .version = "facet 9"});
  }
  static Pack pack(const Case& one) {
    Pack pack;
    pack.images =
        torch::randint(256, {one.count, one.shape.channels, one.shape.height, one.shape.width},
                       Key(3).generator(), kInt64)
            .to(kUInt8);
    pack.split = torch::arange(one.count).remainder(one.test_split ? 3 : 2).to(kUInt8);
    pack.labels = torch::full({one.count, one.labels ? 1 : 0}, 0, kInt32);
    if (one.labels) {
      pack.labels.copy_(torch::arange(one.count).remainder(2).unsqueeze(1));
      pack.properties = {{"glasses", {"without", "with"}}};
      for (const FactorOptions& factor : one.factors)
        if (factor.named()) pack.properties[0] = {factor.property, factor.values};
    }
    return pack;
  }

  TemporaryFolder folder_;
};

const char* const kFinished =
    R"({"phase":"pretrain","step":100,"elbo":-5.0,"reconstruction":-4.0,"kl_z":1.0,"kl_r":0.0}
{"phase":"joint","step":200,"elbo":1.0,"reconstruction":4.0,"kl_z":2.5,"kl_r":0.5,"factors":[{"name":"first","living":2,"perplexity":1.5,"kl_z":2.5,"kl_r":0.5}]}
)";

TEST_F(Report, SaysWhatWasMeasuredAndHoldsEverything) {
  const RunReport report = gather({.metrics = kFinished});
  const std::string page = report_page(report);
  expect_sound(page);
  EXPECT_TRUE(report.finished());
  const std::string words = headline(report);
  EXPECT_TRUE(contains(words, "16×16 colour portraits with 2 factors, 1 of them named")) << words;
  EXPECT_TRUE(contains(words, "310 steps")) << words;
  EXPECT_TRUE(contains(words, "20 images of the test split")) << words;
  EXPECT_TRUE(contains(words, "labels of 100 % of the training images: glasses ")) << words;
  EXPECT_FALSE(contains(words, "stands at step")) << words;
  for (const char* part :
       {"<h3>Factors</h3>", "What factors say about properties", "How factors depend on each other",
        "<title>ELBO</title>", "<title>Living components</title>", "Samples", "Reconstructions",
        "Components of each factor", "&quot;components&quot;: 3", "facet 9"})
    EXPECT_TRUE(contains(page, part)) << part;
  // Everything that a command draws: 4 rows of 2 values, 64 samples, 3 x 2 averages, a row of 7 for
  // each component, 4 for each of 8 images.
  EXPECT_EQ(attributes(page, "src").size(), 8u + 64 + 6 + 7 * 5 + 32);
}

/// The page as it is copied: each word of a command is an element, so that it wraps between words.
std::string without_words(const std::string& page) {
  return std::regex_replace(page, std::regex("</?span[^>]*>"), "");
}

TEST_F(Report, CommandsCanBeCopiedIntoAShell) {
  const std::string page = without_words(report_page(gather({.metrics = kFinished})));
  EXPECT_TRUE(contains(
      page, escape_html("facet clusters 'runs/a b' --factor first --limit 16 --out clusters.png")));
  EXPECT_TRUE(contains(page, escape_html("facet sample 'runs/a b' --out samples.png")));
  EXPECT_TRUE(contains(page, escape_html("facet train 'runs/a b/config.json' --out NEW-RUN")));
}

TEST_F(Report, NamesOfUsersNeverBecomeMarkup) {
  Case hostile{.factors = {{kHostile, 2, 2, kHostile, {kHostile, "b"}}, {"<b>", 3, 2}},
               .metrics = R"({"phase":"joint","step":200,"factors":[{"name":"<b>","living":2}]})"
                          "\n"};
  RunReport report = gather(hostile);
  report.name = kHostile;
  ClassifierReport::Factor classified;
  classified.name = classified.property = kHostile;
  classified.values = {kHostile};
  classified.means.agreement_by_value = {0.8};
  report.classifier = ClassifierReport{.factors = {classified}, .joint_agreement = 0.8};
  report.no_classifier = kHostile;
  const std::string page = report_page(report);
  expect_sound(page);
  EXPECT_FALSE(contains(page, "<script>alert"));
  EXPECT_FALSE(contains(page, "<b>\n"));
  EXPECT_TRUE(contains(page, "&lt;script&gt;alert"));
}

TEST_F(Report, BeforeTheMixturesThereAreCurvesAndReconstructions) {
  const RunReport report = gather({.placed = false,
                                   .metrics = R"({"phase":"pretrain","step":50,"elbo":-5.0})"
                                              "\n"});
  const std::string page = report_page(report);
  expect_sound(page);
  EXPECT_FALSE(report.evaluation);
  EXPECT_TRUE(contains(headline(report), "stands at step 50 of phase pretrain, 50 of 310 steps"))
      << headline(report);
  EXPECT_TRUE(contains(page, "has no mixtures yet"));
  EXPECT_TRUE(contains(page, "Reconstructions"));
  EXPECT_EQ(attributes(page, "src").size(), 32u) << "no samples of a prior that is none";
}

TEST_F(Report, RunsThatLackSomethingGetTheReportThatCanBeGiven) {
  const std::vector<FactorOptions> single = {{"only", 4, 3}},
                                   one_component = {{"a", 1, 2}, {"b", 1, 2}};
  Case no_labels{.factors = single, .labels = false};
  const std::string unlabelled = report_page(gather(no_labels));
  expect_sound(unlabelled);
  EXPECT_TRUE(contains(unlabelled, "no labels to compare with"));
  EXPECT_TRUE(contains(unlabelled, "no records of training yet"));
  EXPECT_FALSE(contains(unlabelled, "depend on each other")) << "a single factor";
  EXPECT_FALSE(contains(unlabelled, "Two factors"));

  const std::string no_test = report_page(gather({.test_split = false}));
  expect_sound(no_test);
  EXPECT_TRUE(contains(no_test, "images of the train split"));

  expect_sound(report_page(gather({.factors = one_component})));
  expect_sound(report_page(gather({.factors = single, .shape = {1, 28, 20}})));
  expect_sound(report_page(gather({.factors = single, .count = 3})));  // one image in each split
}

TEST_F(Report, FreeFactorsWithManyComponentsHaveATree) {
  const RunReport report = gather({.factors = {{"many", 14, 2}, {"few", 3, 2}}});
  ASSERT_EQ(report.trees.size(), 1u);
  EXPECT_EQ(report.trees.front().title, "many");
  EXPECT_EQ(report.trees.front().tree.leaves.size(), 14u);
  const std::string page = report_page(report);
  expect_sound(page);
  EXPECT_TRUE(contains(page, "How components join into groups"));
  EXPECT_TRUE(contains(page, "<h3>Merged components</h3>"));
  EXPECT_TRUE(contains(without_words(page), "--factor many --tree"));
}

TEST_F(Report, ManyNamedFactorsGiveAPictureOfModerateWidth) {
  std::vector<FactorOptions> factors;
  for (int i = 0; i < 8; ++i)
    factors.push_back({"f" + std::to_string(i), 2, 1, "p" + std::to_string(i), {"no", "yes"}});
  const RunReport report = gather({.factors = factors});
  ASSERT_TRUE(report.hero);
  EXPECT_EQ(report.hero->figure.layout.columns, 8);
  EXPECT_TRUE(contains(report.hero->command, "--fix f3=")) << report.hero->command;
  EXPECT_FALSE(contains(report.hero->command, "--fix f2=")) << report.hero->command;
  expect_sound(report_page(report));
}

}  // namespace
}  // namespace facet
