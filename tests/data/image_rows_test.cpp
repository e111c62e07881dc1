// Images by index over several tensors: the same as over one tensor with all of them.
#include "facet/data/image_rows.h"

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/data/batches.h"
#include "tests/data/values_of.h"

namespace facet {
namespace {

/// Ten images of 3x2x2 pixels; all pixels of image n have the value n.
torch::Tensor ten_images() {
  return torch::arange(10).to(kUInt8).view({10, 1, 1, 1}).repeat({1, 3, 2, 2});
}

/// The same in tensors of 4, 1 and 5 images.
ImageRows in_three() {
  const torch::Tensor all = ten_images();
  return ImageRows(
      {all.narrow(0, 0, 4).clone(), all.narrow(0, 4, 1).clone(), all.narrow(0, 5, 5).clone()});
}

std::vector<int64_t> values(const torch::Tensor& images) {
  return numbers(images.select(1, 2).select(1, 1).select(1, 1));
}

TEST(ImageRows, SeveralTensorsActAsOne) {
  const ImageRows rows = in_three();
  EXPECT_EQ(rows.count(), 10);
  EXPECT_EQ(rows.shape(), (ImageShape{3, 2, 2}));
  EXPECT_TRUE(torch::equal(rows.all(), ten_images()));
  EXPECT_EQ(values(rows.gather(torch::tensor({9, 0, 4, 4, 3}, kInt64))),
            (std::vector<int64_t>{9, 0, 4, 4, 3}));
  EXPECT_EQ(rows[5][0][0][0].item<int64_t>(), 5);
}

TEST(ImageRows, SlicesInsideOneTensorAreViews) {
  const torch::Tensor all = ten_images();
  const ImageRows one(all), three({all.narrow(0, 0, 4), all.narrow(0, 4, 6)});
  const auto address = [&](int64_t n) { return all[n].data_ptr(); };
  EXPECT_EQ(one.slice(2, 8).data_ptr(), address(2));
  EXPECT_EQ(three.slice(5, 3).data_ptr(), address(5));
  EXPECT_EQ(three.select(torch::tensor({1, 5, 6, 7}, kInt64)).slice(1, 3).data_ptr(), address(5));
  const torch::Tensor across = three.slice(3, 2),
                      apart = three.select(torch::tensor({4, 6, 5, 7}, kInt64)).slice(0, 4);
  EXPECT_EQ(values(across), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(values(apart), (std::vector<int64_t>{4, 6, 5, 7})) << "the ends alone look like a row";
}

TEST(ImageRows, SelectionsOfSelections) {
  const ImageRows odd = in_three().select(torch::tensor({1, 3, 5, 7, 9}, kInt64));
  const ImageRows some = odd.select(torch::tensor({4, 0, 2}, kInt64));
  EXPECT_EQ(some.count(), 3);
  EXPECT_EQ(values(some.all()), (std::vector<int64_t>{9, 1, 5}));
  EXPECT_EQ(values(some.gather(torch::tensor({2, 0}, kInt64))), (std::vector<int64_t>{5, 9}));
  std::vector<int64_t> seen;
  odd.for_each_slice(2, [&](const torch::Tensor& images) {
    for (const int64_t value : values(images)) seen.push_back(value);
  });
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 3, 5, 7, 9}));
  EXPECT_EQ(numbers(odd.shard_numbers()), (std::vector<int64_t>{0, 0, 2, 2, 2}));
}

/// Images of `shards` tensors of six, whose value is the number of the tensor.
ImageSet set_of_shards(size_t shards, const std::string& binarize = "none") {
  std::vector<torch::Tensor> parts;
  for (size_t s = 0; s < shards; ++s)
    parts.push_back(torch::full({6, 1, 2, 2}, static_cast<int64_t>(s), kUInt8));
  Pack pack;
  pack.images = ImageRows(parts);
  pack.labels = torch::zeros({pack.count(), 0}, kInt32);
  pack.split = torch::zeros({pack.count()}, kUInt8);
  DataOptions options;
  options.binarize = binarize;
  return select_images(pack, {Split::train}, options, true, torch::kCPU);
}

TEST(ImageRows, APassOverFewShardsHasTheOrderOfOneFile) {
  ImageSet few = set_of_shards(kShardsAtOnce), one = few;
  one.pixels = few.pixels.all();
  Batches a(few, Key(1), 7), b(one, Key(1), 7);
  for (int64_t step = 0; step < 20; ++step) {
    EXPECT_TRUE(torch::equal(a.indices(step), b.indices(step)));
    EXPECT_TRUE(torch::equal(a.pixels(step), b.pixels(step)));
  }
}

TEST(ImageRows, APassOverManyShardsTouchesFewAtATime) {
  constexpr int64_t shards = 3 * static_cast<int64_t>(kShardsAtOnce), images = 6 * shards;
  const ImageSet set = set_of_shards(static_cast<size_t>(shards));
  Batches batches(set, Key(1), images / 3), again(set, Key(1), images / 3),
      other(set, Key(2), images / 3);
  std::vector<torch::Tensor> epoch;
  for (int64_t step = 0; step < 3; ++step) {
    const torch::Tensor seen = batches.pixels(step).flatten(1).select(1, 0);
    EXPECT_EQ(std::get<0>(at::_unique(seen)).numel(), static_cast<int64_t>(kShardsAtOnce));
    EXPECT_FALSE(torch::equal(seen, std::get<0>(seen.sort()))) << "shuffled among them";
    epoch.push_back(batches.indices(step));
    EXPECT_TRUE(torch::equal(batches.indices(step), again.indices(step)));
    EXPECT_FALSE(torch::equal(batches.indices(step), other.indices(step)));
  }
  const ImageSet copied = set_of_shards(static_cast<size_t>(shards), "fixed");
  ASSERT_EQ(copied.pixels.shards(), 1u);
  EXPECT_TRUE(torch::equal(Batches(copied, Key(1), images / 3).indices(0), epoch[0]))
      << "the order is the same where the pixels are in one tensor, as on a GPU";
  const torch::Tensor all = torch::cat(epoch);
  EXPECT_TRUE(torch::equal(std::get<0>(all.sort()), torch::arange(images))) << "each image once";
  EXPECT_FALSE(torch::equal(batches.indices(3), epoch[0])) << "another order in the next epoch";
}

}  // namespace
}  // namespace facet
