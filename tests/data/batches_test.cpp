#include "facet/data/batches.h"

#include <set>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/data/image_slices.h"
#include "tests/data/values_of.h"

namespace facet {
namespace {

/// `count` images of one pixel whose value is the image's index.
ImageSet numbered(int64_t count) {
  return {torch::arange(count).to(kUInt8).view({count, 1, 1, 1}), torch::empty({count, 0}, kInt64)};
}

TEST(Batches, EveryEpochShowsEveryImageOnce) {
  for (const int64_t batch : {1, 3, 7, 10, 25}) {  // divisors of 10, other sizes, more than 10
    Batches batches(numbered(10), Key(1), batch);
    std::vector<int64_t> seen;
    for (int64_t step = 0; static_cast<int64_t>(seen.size()) < 50; ++step)
      for (const int64_t index : numbers(batches.indices(step))) seen.push_back(index);
    for (size_t epoch = 0; epoch < 5; ++epoch) {
      const std::set<int64_t> distinct(seen.begin() + static_cast<std::ptrdiff_t>(10 * epoch),
                                       seen.begin() + static_cast<std::ptrdiff_t>(10 * epoch + 10));
      EXPECT_EQ(distinct.size(), 10u) << "batch " << batch << ", epoch " << epoch;
    }
  }
}

TEST(Batches, EpochsHaveDifferentOrders) {
  Batches batches(numbered(50), Key(1), 50);
  EXPECT_NE(numbers(batches.indices(0)), numbers(batches.indices(1)));
}

TEST(Batches, ABatchIsAFunctionOfSeedAndStepAlone) {
  Batches forward(numbered(10), Key(1), 7), alone(numbered(10), Key(1), 7);
  std::vector<std::vector<int64_t>> seen;
  for (int64_t step = 0; step < 20; ++step) seen.push_back(numbers(forward.indices(step)));
  for (const int64_t step : {13, 2, 19, 0})  // in another order and from another object
    EXPECT_EQ(numbers(alone.indices(step)), seen[static_cast<size_t>(step)]) << step;
  Batches other(numbered(10), Key(2), 7);
  EXPECT_NE(numbers(other.indices(0)), seen[0]);
}

TEST(Batches, PixelsAreThoseOfTheIndices) {
  Batches batches(numbered(10), Key(1), 7);
  for (int64_t step = 0; step < 5; ++step)
    EXPECT_EQ(numbers(batches.pixels(step)), numbers(batches.indices(step)));
}

/// Ten images of 1x8x8 in all splits; all pixels of image n have the grey value 25 n.
Pack grey_pack() {
  Pack pack;
  pack.images = (torch::arange(10) * 25).to(kUInt8).view({10, 1, 1, 1}).repeat({1, 1, 8, 8});
  pack.labels = torch::arange(10, kInt32).view({10, 1});
  pack.split = torch::tensor({0, 0, 1, 0, 2, 0, 0, 1, 2, 0}, kUInt8);
  pack.properties = {{"grey", {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}}};
  return pack;
}

TEST(SelectImages, TakesTheSplitsWithTheirLabels) {
  const ImageSet set =
      select_images(grey_pack(), {Split::valid, Split::test}, {}, true, torch::kCPU);
  EXPECT_EQ(numbers(set.labels), (std::vector<int64_t>{2, 4, 7, 8}));
  EXPECT_EQ(numbers(set.pixels.all().select(2, 0).select(2, 0)),
            (std::vector<int64_t>{50, 100, 175, 200}));
  Pack bare = grey_pack();
  bare.split.fill_(0);
  EXPECT_THROW(select_images(bare, {Split::test}, {}, true, torch::kCPU), Error);
}

TEST(SelectImages, KeepsAsManyLabelsOfEveryValueAsAsked) {
  const Pack pack = make_portraits({400, 16, 1});
  DataOptions options;
  options.labels_per_value = 7;
  const auto labels = [&] {
    return select_images(pack, {Split::train}, options, /*training=*/true, torch::kCPU).labels;
  };
  const torch::Tensor kept = labels(),
                      all = pack.labels.index_select(0, pack.indices({Split::train}));
  for (int64_t property = 0; property < kept.size(1); ++property) {
    const torch::Tensor column = kept.select(1, property);
    for (int64_t value = 0; value <= column.max().item<int64_t>(); ++value)
      EXPECT_EQ(column.eq(value).sum().item<int64_t>(), 7) << property << " " << value;
    const torch::Tensor known = column.ge(0);
    EXPECT_TRUE(torch::equal(column.masked_select(known),
                             all.select(1, property).to(kInt64).masked_select(known)));
  }
  EXPECT_FALSE(torch::equal(kept.select(1, 0).ge(0), kept.select(1, 1).ge(0)))
      << "properties have labels on different images";
  options.label_seed = 2;
  EXPECT_FALSE(torch::equal(kept, labels()));
  options.labels_per_value = 100'000;
  EXPECT_TRUE(torch::equal(labels(), all.to(kInt64)));
}

TEST(Binarize, ByDrawHasTheGreyValueAsItsMeanAndChangesWithTheStep) {
  DataOptions options;
  options.binarize = "draw";
  ImageSet set = select_images(grey_pack(), {Split::train, Split::valid, Split::test}, options,
                               /*training=*/true, torch::kCPU);
  Batches batches(set, Key(1), 10);
  const int64_t steps = 300;
  torch::Tensor sums = torch::zeros({10}, kFloat64);
  for (int64_t step = 0; step < steps; ++step) {
    const torch::Tensor pixels = batches.pixels(step);
    ASSERT_TRUE(pixels.eq(0).logical_or(pixels.eq(255)).all().item<bool>());
    sums.index_add_(0, batches.indices(step), pixels.to(kFloat64).mean({1, 2, 3}));
  }
  for (int64_t n = 0; n < 10; ++n) {
    const double grey = 25.0 * static_cast<double>(n), p = grey / 255;
    const double error = 255 * std::sqrt(p * (1 - p) / (64.0 * steps));
    EXPECT_NEAR(sums[n].item<double>() / steps, grey, 5 * error + 1e-9) << n;
  }
  EXPECT_TRUE(torch::equal(batches.pixels(3), batches.pixels(3)));
  // The same images two epochs apart, sorted by index, are different draws.
  const auto sorted = [&](int64_t step) {
    return batches.pixels(step).index_select(0, batches.indices(step).argsort());
  };
  EXPECT_FALSE(torch::equal(sorted(3), sorted(5)));
}

TEST(Binarize, BlackAndWhiteStayBlackAndWhite) {
  Pack pack = grey_pack();
  pack.images = pack.images.all().gt(100).to(kUInt8) * 255;
  DataOptions options;
  options.binarize = "draw";
  ImageSet set = select_images(pack, {Split::train}, options, true, torch::kCPU);
  Batches batches(set, Key(1), 6);
  for (int64_t step = 0; step < 50; ++step)
    ASSERT_TRUE(torch::equal(batches.pixels(step), set.pixels.gather(batches.indices(step))));
}

TEST(Binarize, FixedIsTheSameEveryTimeAndDependsOnItsSeed) {
  DataOptions options;
  options.binarize = "fixed";
  const auto select = [&] {
    return select_images(grey_pack(), {Split::train}, options, true, torch::kCPU);
  };
  const ImageSet set = select();
  EXPECT_FALSE(set.binarize_by_draw);
  EXPECT_TRUE(set.pixels.all().eq(0).logical_or(set.pixels.all().eq(255)).all().item<bool>());
  EXPECT_TRUE(torch::equal(select().pixels.all(), set.pixels.all()));
  Batches batches(set, Key(1), 6);
  for (int64_t step = 0; step < 5; ++step)
    EXPECT_TRUE(torch::equal(batches.pixels(step), set.pixels.gather(batches.indices(step))));
  options.binarize_seed = 778;
  EXPECT_FALSE(torch::equal(select().pixels.all(), set.pixels.all()));
}

TEST(Binarize, ForEvaluationDrawIsDoneOnceAndThePackIsUnchanged) {
  DataOptions options;
  options.binarize = "draw";
  const Pack pack = grey_pack();
  const ImageSet set = select_images(pack, {Split::test}, options, false, torch::kCPU);
  EXPECT_FALSE(set.binarize_by_draw);
  EXPECT_TRUE(set.pixels.all().eq(0).logical_or(set.pixels.all().eq(255)).all().item<bool>());
  EXPECT_TRUE(torch::equal(pack.images.all(), grey_pack().images.all()));
}

TEST(Binarize, SlicesOfAPackAreWhatEvaluationSees) {
  Pack pack = grey_pack();
  pack.images = pack.images.all().repeat({1 + 2500 / pack.count(), 1, 1, 1});
  pack.labels = torch::empty({pack.count(), 0}, kInt32);
  pack.split = torch::zeros({pack.count()}, kUInt8);
  for (const char* kind : {"none", "fixed", "draw"}) {
    DataOptions options;
    options.binarize = kind;
    const ImageSet all =
        select_images(pack, {Split::train, Split::valid, Split::test}, options, false, torch::kCPU);
    for (const int64_t together : {1, 2, 5}) {
      std::vector<torch::Tensor> slices;
      for (int64_t first = 0; first * kImagesPerSlice < pack.count(); first += together)
        slices.push_back(evaluation_slices(pack, options, first, together));
      EXPECT_EQ(slices.size(), together == 1 ? 3u : together == 2 ? 2u : 1u);
      EXPECT_TRUE(torch::equal(torch::cat(slices), all.pixels.all())) << kind;
    }
  }
}

TEST(LoadData, WithoutAPackDrawsPortraits) {
  DataOptions options;
  options.portraits.count = 20;
  options.portraits.size = 16;
  EXPECT_EQ(load_data(options).count(), 20);
  EXPECT_EQ(load_data(options).shape(), (ImageShape{3, 16, 16}));
  options.pack = "/no/such/pack";
  EXPECT_THROW(load_data(options), Error);
}

}  // namespace
}  // namespace facet
