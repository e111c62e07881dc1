// Image sets of a shared pack: sets with equal pixels share one tensor, others do not, and the
// pixels equal those of a pack that is not shared.
#include <thread>

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/data/batches.h"

namespace facet {
namespace {

Pack noise_pack() {
  Pack pack;
  pack.images = uniform(Key(1), {30, 1, 4, 4}, {}).mul(255).to(kUInt8);
  pack.labels = torch::zeros({30, 1}, kInt32);
  pack.split = torch::zeros({30}, kUInt8);
  pack.split.narrow(0, 20, 10).fill_(2);
  return pack;
}

ImageSet select(const Pack& pack, Split split, const std::string& binarize, int64_t seed = 1) {
  DataOptions options;
  options.binarize = binarize;
  options.binarize_seed = seed;
  return select_images(pack, {split}, options, true, torch::kCPU);
}

TEST(SharedPixels, SetsWithEqualPixelsShareThem) {
  Pack pack = noise_pack();
  const Pack unshared = pack;
  pack.shared = std::make_shared<SharedPixels>();
  const auto address = [&](Split split, const std::string& binarize, int64_t seed = 1) {
    const ImageSet set = select(pack, split, binarize, seed);
    EXPECT_TRUE(
        torch::equal(set.pixels.all(), select(unshared, split, binarize, seed).pixels.all()));
    return set.pixels.all().data_ptr();
  };
  const void* fixed = address(Split::train, "fixed");
  EXPECT_EQ(address(Split::train, "fixed"), fixed);
  EXPECT_NE(address(Split::train, "fixed", 2), fixed);
  EXPECT_NE(address(Split::test, "fixed"), fixed);
  const void* grey = address(Split::train, "none");
  EXPECT_NE(grey, fixed);
  EXPECT_EQ(address(Split::train, "draw"), grey) << "binarized when drawn, not before";
}

TEST(SharedPixels, LabelsAreNotShared) {
  Pack pack = noise_pack();
  pack.shared = std::make_shared<SharedPixels>();
  DataOptions few;
  few.label_fraction = 0.1;
  const ImageSet hidden = select_images(pack, {Split::train}, few, true, torch::kCPU);
  EXPECT_EQ(hidden.labels.ge(0).sum().item<int64_t>(), 2);
  EXPECT_EQ(select(pack, Split::train, "none").labels.ge(0).sum().item<int64_t>(), 20);
}

TEST(SharedPixels, AreMadeOnceWhenThreadsAskAtTheSameTime) {
  SharedPixels shared;
  int made = 0;
  const auto ask = [&] {
    shared.get("pixels", [&] {
      ++made;
      return torch::zeros({1});
    });
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(ask);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace facet
