// Suggested configs are read by the program, fit their data, and say why.
#include "facet/train/suggested_config.h"

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/data/import.h"
#include "facet/train/config.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

Config config_of(const std::string& text) {
  TemporaryFolder folder;
  write_text(folder / "config.json", text, "test");
  return read_config(folder / "config.json");
}

TEST(SuggestedConfig, NamesAFactorForEveryLabelledColumn) {
  const Pack pack = make_portraits({100, 32, 1});
  const Config config = config_of(suggested_config(pack, "data/faces.safetensors", false));
  EXPECT_EQ(config.data.pack, "data/faces.safetensors");
  EXPECT_EQ(config.model.likelihood.kind, "gaussian");
  EXPECT_EQ(config.model.network.preset, "auto");
  ASSERT_EQ(config.model.factors.size(), pack.properties.size() + 2);
  for (size_t i = 0; i < pack.properties.size(); ++i) {
    EXPECT_EQ(config.model.factors[i].property, pack.properties[i].name);
    EXPECT_EQ(config.model.factors[i].components,
              static_cast<int64_t>(pack.properties[i].values.size()));
  }
  EXPECT_FALSE(config.model.factors.back().named());
  EXPECT_EQ(config.train.joint.labelled_batch, 0) << "every image has a label";
  const Config gpu = config_of(suggested_config(pack, "p", true));
  EXPECT_GT(gpu.train.joint.steps, config.train.joint.steps);
}

TEST(SuggestedConfig, UsesFewLabelsForAllTheyAreWorth) {
  Pack pack = make_portraits({400, 32, 1});
  pack.labels.narrow(0, 20, 380).fill_(-1);
  const Config config = config_of(suggested_config(pack, "p", false));
  EXPECT_EQ(config.train.joint.labelled_batch, 64);
  EXPECT_GT(config.train.joint.pseudo_labels.weight, 0);
}

TEST(SuggestedConfig, ColumnsThatNameNothingAreSaid) {
  Pack pack = make_portraits({100, 32, 1});
  pack.labels.select(1, 0).fill_(0);   // one value
  pack.labels.select(1, 1).fill_(-1);  // no label
  pack.properties[2].name = "first";   // as a free factor would be named
  const std::string text = suggested_config(pack, "p", false);
  EXPECT_NE(text.find("'glasses' names no factor: 1 value among 80 training labels"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("'smile' names no factor: 0 values among 0 training labels"),
            std::string::npos);
  const Config config = config_of(text);
  EXPECT_EQ(config.model.factors.size(), pack.properties.size());
  EXPECT_EQ(config.model.factors.back().name, "third");
}

TEST(SuggestedConfig, BlackAndWhitePixelsAreBernoulli) {
  Pack pack = make_portraits({100, 28, 1});
  pack.images = pack.images.all().narrow(1, 0, 1).gt(128).to(kUInt8).mul(255);
  const Config binary = config_of(suggested_config(pack, "p", false));
  EXPECT_EQ(binary.model.likelihood.kind, "bernoulli");
  EXPECT_EQ(binary.model.network.preset, "paper28");
  EXPECT_EQ(binary.data.binarize, "none");
  pack.images[0][0][0][0] = 100;  // writing with grey edges
  EXPECT_EQ(config_of(suggested_config(pack, "p", false)).data.binarize, "draw");
}

}  // namespace
}  // namespace facet
