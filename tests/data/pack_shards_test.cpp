// A pack in shards: what was one file comes back from several, and files that do not belong
// together are refused by name.
#include "facet/data/pack_shards.h"

#include <fstream>

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/data/batches.h"
#include "facet/data/image_file.h"
#include "facet/data/image_slices.h"
#include "facet/data/import.h"
#include "facet/data/import_files.h"
#include "tests/contains.h"
#include "tests/data/values_of.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

/// 50 portraits in one file, and in shards of 20, 20 and 10.
class PackShards : public testing::Test {
 protected:
  PackShards() {
    import_portraits(options_, folder_ / "one.safetensors", 0, {});
    summary_ = import_portraits(options_, folder_ / "p.safetensors", 20, {}).value();
  }
  fs::path shard(int64_t number) const { return shard_path(folder_ / "p.safetensors", number); }
  void expect_refusal(const std::vector<std::string>& parts) const {
    expect_parts(message_of([&] { read_pack(pattern_); }), parts);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      if (entry.path().filename().string().starts_with("p-"))
        all.push_back(entry.path().filename().string());
    std::sort(all.begin(), all.end());
    return all;
  }

  PortraitSetOptions options_{50, 16, 3};
  TemporaryFolder folder_;
  fs::path pattern_ = folder_ / "p-*.safetensors";
  ImportSummary summary_;
};

TEST_F(PackShards, AreTheSamePackAsOneFile) {
  const Pack one = read_pack(folder_ / "one.safetensors"), several = read_pack(pattern_);
  EXPECT_EQ(summary_.shards, 3);
  EXPECT_EQ(names(), (std::vector<std::string>{"p-00000.safetensors", "p-00001.safetensors",
                                               "p-00002.safetensors"}));
  EXPECT_EQ(several.images.shards(), 3u);
  EXPECT_TRUE(torch::equal(several.images.all(), one.images.all()));
  EXPECT_TRUE(torch::equal(several.labels, one.labels));
  EXPECT_TRUE(torch::equal(several.split, one.split));
  EXPECT_EQ(several.properties.size(), one.properties.size());
  EXPECT_EQ(fingerprint(several), fingerprint(one)) << "so that a run can go on with either";
  EXPECT_EQ(read_pack(shard(2)).count(), 10) << "a shard is a pack of its own";
}

TEST_F(PackShards, EveryShardCountsInTheFingerprint) {
  const std::string own = fingerprint(read_pack(pattern_));
  Pack last = read_pack(shard(2));
  torch::Tensor images = last.images.all().clone();
  images[9][2][15][15] += 1;
  last.images = images;
  write_pack(shard(2), last);
  EXPECT_NE(fingerprint(read_pack(pattern_)), own);
}

TEST_F(PackShards, EvaluationSlicesAreThoseOfOneFile) {
  DataOptions options;
  for (const char* kind : {"none", "fixed", "draw"}) {
    options.binarize = kind;
    EXPECT_TRUE(
        torch::equal(evaluation_slices(read_pack(pattern_), options, 0, 1),
                     evaluation_slices(read_pack(folder_ / "one.safetensors"), options, 0, 1)));
    const auto pixels = [&](const fs::path& path) {
      return select_images(read_pack(path), {Split::test}, options, false, torch::kCPU)
          .pixels.all();
    };
    EXPECT_TRUE(torch::equal(pixels(pattern_), pixels(folder_ / "one.safetensors"))) << kind;
  }
}

TEST_F(PackShards, AnImportWithFewerReplacesAllOfThem) {
  import_portraits(options_, folder_ / "p.safetensors", 30, {});
  EXPECT_EQ(names().size(), 2u);
  EXPECT_EQ(read_pack(pattern_).count(), 50);
}

TEST_F(PackShards, AStoppedOrFailedImportLeavesTheOldOnes) {
  const std::string before = read_text(shard(0), "test");
  options_.seed = 4;
  ImportEvents events;
  events.stop = [] { return true; };
  EXPECT_FALSE(import_portraits(options_, folder_ / "p.safetensors", 20, events));
  EXPECT_EQ(read_text(shard(0), "test"), before);
  fs::remove(shard(2));
  fs::create_directories(shard(2) / "in the way");
  EXPECT_NE(message_of([&] { import_portraits(options_, folder_ / "p.safetensors", 20, {}); }),
            "no error");
  EXPECT_EQ(names(), std::vector<std::string>{"p-00002.safetensors"}) << "no half set";
}

TEST_F(PackShards, NoFileOfSuchAName) {
  pattern_ = folder_ / "other-*.safetensors";
  expect_refusal({"other-*.safetensors", "no file of such a name"});
  pattern_ = folder_ / "missing" / "p-*.safetensors";
  expect_refusal({"missing", "no file of such a name"});
}

TEST_F(PackShards, MissingOnes) {
  const std::string middle = read_text(shard(1), "test"), last = read_text(shard(2), "test");
  fs::remove(shard(1));
  expect_refusal({"p-*.safetensors", "no file 'p-00001.safetensors'", "moved"});
  write_text(shard(1), middle, "test");
  fs::remove(shard(2));
  expect_refusal({"found 2 files", "expected 3", "moved"});
  write_text(shard(2), last, "test");
  write_text(shard(3), last, "test");
  expect_refusal({"found 4 files", "expected 3", "more than one import"});
}

TEST_F(PackShards, OfOtherShapesOrProperties) {
  const auto with = [&](const std::function<void(Pack&)>& change) {
    Pack pack = make_portraits({10, 16, 3});
    pack.part_of = 3;
    change(pack);
    write_pack(shard(1), pack);
  };
  with([](Pack&) {});
  EXPECT_EQ(read_pack(pattern_).count(), 40);
  with([](Pack& pack) { pack.images = make_portraits({10, 18, 3}).images; });
  expect_refusal({"p-00001.safetensors", "18x18", "16x16", "as in 'p-00000.safetensors'"});
  with([](Pack& pack) { pack.properties[1].values[0] = "grave"; });
  expect_refusal({"p-00001.safetensors", "'smile' with values grave, smiling",
                  "'smile' with values not smiling, smiling"});
  with([](Pack& pack) { pack.properties[6].name = "wall"; });
  expect_refusal({"p-00001.safetensors", "'wall'", "'background'"});
  with([](Pack& pack) {
    pack.properties.pop_back();
    pack.labels = pack.labels.narrow(1, 0, 6);
  });
  expect_refusal({"p-00001.safetensors", "6 properties", "'background'"});
  with([](Pack& pack) { pack.files = TextColumn(std::vector<std::string>(10, "x.png")); });
  expect_refusal({"p-00001.safetensors", "names of files"});
}

TEST_F(PackShards, ADamagedOneIsNamed) {
  const std::string bytes = read_text(shard(1), "test");
  write_text(shard(1), bytes.substr(0, bytes.size() / 2), "test");
  expect_refusal({"p-00001.safetensors", "damaged"});
}

TEST_F(PackShards, NamesMayHaveAnyFormAndATemporaryFileIsNone) {
  fs::rename(shard(0), folder_ / "q a.safetensors");
  fs::rename(shard(1), folder_ / "q b.safetensors");
  fs::rename(shard(2), folder_ / "q c.safetensors");
  write_text(folder_ / "q d.safetensors.12.tmp", "half a file", "test");
  EXPECT_EQ(shard_files(folder_ / "q*").size(), 3u);
  EXPECT_EQ(shard_files(folder_ / "*q*a*.safetensors*").size(), 1u);
  EXPECT_TRUE(torch::equal(read_pack(folder_ / "q *.safetensors").labels,
                           read_pack(folder_ / "one.safetensors").labels));
}

/// Seven grey pictures, of which the fifth is one of colours and the last a copy of the first.
TEST(PackShardsOfAFolder, AreTheSamePackAsOneFile) {
  if (message_of(require_image_reader) != "no error")
    GTEST_SKIP() << "this build reads no pictures";
  const TemporaryFolder folder;
  fs::create_directory(folder / "pictures");
  for (int n = 0; n < 7; ++n) {
    Image image = Image::filled(n == 4 ? 3 : 1, 4, 4, static_cast<uint8_t>(20 * (n % 6)));
    if (n == 4) image.pixels[0] = 200;
    write_png(folder / "pictures" / (std::to_string(n) + ".png"), image);
  }
  write_text(folder / "table.csv", "file,hair\n0.png,red\n3.png,blond\n6.png,red\n", "test");
  FolderOptions options;
  options.table = folder / "table.csv";
  import_folder(folder / "pictures", options, folder / "one.safetensors");
  options.shard_size = 2;
  const ImportSummary summary =
      import_folder(folder / "pictures", options, folder / "p.safetensors").value();
  EXPECT_EQ(summary.shards, 4);
  EXPECT_EQ(summary.duplicates, 1);
  EXPECT_EQ(summary.grey_files, 6);
  const Pack one = read_pack(folder / "one.safetensors"),
             several = read_pack(folder / "p-*.safetensors");
  EXPECT_EQ(several.images.shards(), 4u);
  EXPECT_TRUE(torch::equal(several.images.all(), one.images.all()));
  EXPECT_TRUE(torch::equal(several.labels, one.labels));
  EXPECT_TRUE(torch::equal(several.split, one.split));
  EXPECT_EQ(texts(several.files), texts(one.files));
  ASSERT_EQ(several.table.cells.size(), one.table.cells.size());
  for (size_t c = 0; c < one.table.cells.size(); ++c)
    EXPECT_EQ(texts(several.table.cells[c]), texts(one.table.cells[c]));
}

/// Bytes of this process by a line of /proc/self/status: "RssAnon:" is its own memory, "RssFile:"
/// what is mapped from files.
int64_t memory_now(const std::string& line) {
  std::ifstream status("/proc/self/status");
  int64_t kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == line) status >> kilobytes;
  return kilobytes * 1024;
}

TEST(PackShardsMemory, ImagesAreNeitherCopiedNorKept) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer takes memory of its own for every byte that is read";
#endif
  constexpr int64_t shards = 4, images = 5000, bytes = images * 64 * 64, all = shards * bytes;
  const TemporaryFolder folder;
  write_shards(
      folder / "p.safetensors", shards * images, images,
      [&](int64_t begin, int64_t count) {
        Pack pack;
        pack.images = torch::full({count, 1, 64, 64}, begin / images, kUInt8);
        pack.labels = torch::empty({count, 0}, kInt32);
        pack.split = torch::zeros({count}, kUInt8);
        return pack;
      },
      [](int64_t) { return true; });
  const int64_t own = memory_now("RssAnon:"), mapped = memory_now("RssFile:");
  const Pack pack = read_pack(folder / "p-*.safetensors");
  fingerprint(pack);
  const ImageSet set = select_images(pack, {Split::train}, {}, true, torch::kCPU);
  int64_t sum = 0;
  set.pixels.for_each_slice(
      1000, [&](const torch::Tensor& pixels) { sum += pixels.sum().item<int64_t>(); });
  EXPECT_EQ(sum, (0 + 1 + 2 + 3) * bytes) << "all were read";
  EXPECT_LT(memory_now("RssFile:") - mapped, all / 4) << "pages are given back";
  Batches batches(set, Key(1), 100);
  for (int64_t step = 0; step < shards * images / 100; ++step) batches.pixels(step);
  // With what the allocator keeps of batches; a copy of the images would have 82 MB.
  EXPECT_LT(memory_now("RssAnon:") - own, all / 2) << "batches are copies, the images are not";
}

}  // namespace
}  // namespace facet
