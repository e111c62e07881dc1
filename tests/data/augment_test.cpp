// Augmentation is a function of its key, keeps images recognisable, and is applied by image sets.
#include "facet/data/augment.h"

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/data/batches.h"
#include "facet/data/import.h"

namespace facet {
namespace {

torch::Tensor some_portraits() { return make_portraits({40, 32, 1}).images.all(); }

TEST(Augment, IsAFunctionOfItsKeyAndDiffersFromImageToImage) {
  const torch::Tensor image = some_portraits().narrow(0, 0, 1);
  const torch::Tensor twice = torch::cat({image, image});
  const torch::Tensor changed = augment(twice, Key(1));
  EXPECT_EQ(changed.sizes(), twice.sizes());
  EXPECT_EQ(changed.scalar_type(), kUInt8);
  EXPECT_TRUE(torch::equal(changed, augment(twice, Key(1))));
  EXPECT_FALSE(torch::equal(changed, augment(twice, Key(2))));
  EXPECT_FALSE(torch::equal(changed[0], changed[1]));
}

TEST(Augment, KeepsAnImageCloserToItselfThanToOthers) {
  const torch::Tensor images = some_portraits();
  const torch::Tensor changed = augment(images, Key(3)).to(kFloat32).flatten(1);
  const torch::Tensor nearest = torch::cdist(changed, images.to(kFloat32).flatten(1)).argmin(1);
  const auto own = nearest.eq(torch::arange(images.size(0))).sum().item<int64_t>();
  EXPECT_GE(own, 28);  // of 40: a face shifted by two pixels may resemble another; chance gives 1
}

TEST(AugmentStrongly, ChangesImagesMoreThanAugmentDoes) {
  const torch::Tensor images = some_portraits();
  const auto change = [&](const torch::Tensor& changed) {
    return (changed.to(kFloat32) - images.to(kFloat32)).abs().mean().item<double>();
  };
  const torch::Tensor strong = augment_strongly(images, Key(3));
  EXPECT_EQ(strong.sizes(), images.sizes());
  EXPECT_TRUE(torch::equal(strong, augment_strongly(images, Key(3))));
  EXPECT_FALSE(torch::equal(strong, augment_strongly(images, Key(4))));
  EXPECT_GT(change(strong), 1.3 * change(augment(images, Key(3))));
  // Still pictures of the same faces: nearer to their own image than chance.
  const torch::Tensor nearest =
      torch::cdist(strong.to(kFloat32).flatten(1), images.to(kFloat32).flatten(1)).argmin(1);
  EXPECT_GE(nearest.eq(torch::arange(images.size(0))).sum().item<int64_t>(), 8);  // chance gives 1
}

TEST(Augment, ImageSetsDrawAugmentedImagesIfSet) {
  const Pack pack = make_portraits({40, 32, 1});
  ImageSet set = select_images(pack, {Split::train}, {}, true, torch::kCPU);
  const torch::Tensor chosen = torch::arange(8);
  EXPECT_TRUE(torch::equal(set.draw(chosen, Key(1)), set.pixels.slice(0, 8)));
  set.augment = true;
  EXPECT_FALSE(torch::equal(set.draw(chosen, Key(1)), set.pixels.slice(0, 8)));
  set.binarize_by_draw = true;
  const torch::Tensor binary = set.draw(chosen, Key(1));
  EXPECT_TRUE(torch::logical_or(binary.eq(0), binary.eq(255)).all().item<bool>());
}

TEST(Augment, AboutHalfOfTheImagesAreMirroredIfSet) {
  const Pack pack = make_portraits({400, 16, 1});
  DataOptions options;
  options.mirror = true;
  const ImageSet set = select_images(pack, {Split::train}, options, true, torch::kCPU);
  const torch::Tensor drawn = set.draw(torch::arange(set.count()), Key(1));
  const torch::Tensor flipped = set.pixels.all().flip(3);
  int64_t count = 0;
  for (int64_t n = 0; n < set.count(); ++n) {
    const bool mirrored = torch::equal(drawn[n], flipped[n]);
    count += mirrored ? 1 : 0;
    EXPECT_TRUE(mirrored || torch::equal(drawn[n], set.pixels[n])) << n;
  }
  EXPECT_NEAR(static_cast<double>(count), 160, 36);  // of 320: four standard deviations
  EXPECT_FALSE(torch::equal(drawn, set.draw(torch::arange(set.count()), Key(2))));
  EXPECT_FALSE(select_images(pack, {Split::train}, options, false, torch::kCPU).mirror);
}

}  // namespace
}  // namespace facet
