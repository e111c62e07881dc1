#include "facet/model/fingerprint.h"

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/model/model_file.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

std::shared_ptr<Vae> tiny_model(uint64_t seed, const std::string& name = "first") {
  ModelOptions options;
  options.network.preset = "custom";
  options.network.channels = {4};
  options.network.strides = {2};
  options.factors = {{name, 3, 2, "", {}}};
  return std::make_shared<Vae>(options, ImageShape{1, 8, 8}, Key(seed));
}

TEST(Fingerprint, IsTheSameForOneFileAndDiffersWithAnyNumberOrName) {
  const TemporaryFolder folder;
  write_model(folder / "model", *tiny_model(1));
  const auto model = read_model(folder / "model");
  const std::string own = fingerprint(*model);
  EXPECT_EQ(own.size(), 8u);
  EXPECT_EQ(fingerprint(*read_model(folder / "model")), own);
  EXPECT_NE(fingerprint(*tiny_model(2)), fingerprint(*tiny_model(1)));
  EXPECT_NE(fingerprint(*tiny_model(1, "other")), fingerprint(*tiny_model(1)));
  model->prior.posteriors[0].counts[1] += 1e-9;
  EXPECT_NE(fingerprint(*model), own);
}

}  // namespace
}  // namespace facet
