// Files of ours in which a bit has changed are refused, wherever the bit is: nothing is read as if
// nothing had happened.
#include <gtest/gtest.h>

#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/data/pack.h"
#include "facet/fit/fit_mixture.h"
#include "facet/fit/vector_mixture.h"
#include "facet/model/model_file.h"
#include "facet/model/refiner.h"
#include "facet/search/code_file.h"
#include "facet/search/index_file.h"
#include "facet/train/checkpoint.h"
#include "facet/train/metrics.h"
#include "tests/close.h"
#include "tests/fuzz/fuzz_model.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/targets.h"

namespace facet {
namespace {

namespace fs = std::filesystem;
using Read = std::function<void(const fs::path&)>;

/// The first byte of the tensors.
size_t data_begin(const std::string& file) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  return sizeof length + length;
}

/// Changes one bit in each of up to 400 bytes of the tensors, and of as many of the header.
void expect_no_silent_change(const fs::path& path, const Read& read) {
  const std::string written = bytes_of(path);
  const auto change = [&](size_t at) {
    std::string changed = written;
    changed[at] = static_cast<char>(changed[at] ^ 1 << at % 8);
    fs::remove(path);
    std::ofstream(path, std::ios::binary) << changed;
  };
  ASSERT_TRUE(taken([&] { read(path); })) << path;
  const size_t begin = data_begin(written), step = (written.size() - begin) / 400 + 1;
  for (size_t at = begin; at < written.size(); at += step) {
    change(at);
    EXPECT_FALSE(taken([&] { read(path); })) << path << ", byte " << at;
  }
  for (size_t at = 0; at < begin; at += begin / 400 + 1) {
    change(at);
    EXPECT_FALSE(taken([&] { read_safetensors(path, "test"); }))
        << path << ", byte " << at << " of the header";
  }
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << written;
}

TEST(SilentChange, InAPack) {
  const fs::path path = input_file("changed/pack.safetensors", "");
  write_pack(path, fuzz_pack());
  expect_no_silent_change(path, [](const fs::path& file) { read_pack(file); });
}

TEST(SilentChange, InAModel) {
  const fs::path path = input_file("changed/model.safetensors", "");
  write_model(path, known_model());
  expect_no_silent_change(path, [](const fs::path& file) { read_model(file); });
}

TEST(SilentChange, InARefiner) {
  const fs::path path = input_file("changed/refiner.safetensors", "");
  const UnetOptions options{"custom", 16, {1}, 1, 0};
  write_refiner(path, Refiner(options, known_model(), Key(1)));
  expect_no_silent_change(path, [](const fs::path& file) { read_refiner(file, known_model()); });
}

TEST(SilentChange, InAMixture) {
  FitConfig config;
  config.factors = {{"all", 2, 2, "", {}}};
  config.fit.iterations = 2;
  const fs::path path = input_file("changed/mixture.safetensors", "");
  write_mixture(path, fit_mixture(config, {normal64(Key(1), {20, 2})}).mixture);
  expect_no_silent_change(path, [](const fs::path& file) { read_mixture(file); });
}

TEST(SilentChange, InCodes) {
  const Pack pack = fuzz_pack();
  const fs::path path = input_file("changed/codes.safetensors", "");
  const auto writer = open_code_file(path, known_model(), pack, {false, true, true});
  writer->add(read_codes(known_model(), pack.images.gather(torch::arange(pack.count()))).on_cpu());
  writer->finish();
  expect_no_silent_change(path,
                          [](const fs::path& file) { read_code_file(file, known_model(), false); });
}

TEST(SilentChange, InAnIndex) {
  const fs::path config = input_file("changed/config.json", "{}"),
                 model = input_file("changed/index-model.safetensors", ""),
                 folder = config.parent_path() / "changed-index";
  fs::remove_all(folder);
  write_model(model, known_model());
  create_index(folder, known_model(), config, model, {fuzz_pack(), "a pack", true, {}}, 4, {});
  for (const char* name :
       {"index.safetensors", "segment-0000.safetensors", "segment-0000.scan.safetensors"})
    expect_no_silent_change(folder / name,
                            [&](const fs::path&) { read_index(folder, known_model()); });
}

TEST(SilentChange, InAState) {
  const auto model = fuzz_model("point_mass");
  model->strategy().begin(*model, {}, 6);
  Adam adam(model->parameters(), {});
  WeightAverage average(adam, &model->prior, 0.9);
  const TrainedOn data{"6 images", ""};
  const RunFolder folder{input_file("changed-run/config.json", "{}").parent_path()};
  Progress progress{.phase = Phase::joint, .step = 3, .metrics = {.lines = 2}};
  progress.sums = make_sums(1, torch::kCPU);
  write_checkpoint(folder, *model, adam, &average, progress, data);
  expect_no_silent_change(folder.state(), [&](const fs::path& file) {
    read_checkpoint(file, *model, adam, &average, {}, data);
  });
}

/// Images of more than 64 MiB are compared by `facet check` alone, for it reads all of them; the
/// rest of their file is compared as in others.
TEST(SilentChange, InManyImages) {
  Pack pack;
  pack.images = ImageRows(torch::zeros({65, 1, 1024, 1024}, kUInt8));
  pack.labels = torch::zeros({65, 1}, kInt32);
  pack.split = torch::zeros({65}, kUInt8);
  pack.properties = {{"hair", {"red", "black"}}};
  const fs::path path = input_file("changed/large.safetensors", "");
  write_pack(path, pack);
  std::string head(1 << 16, '\0');
  std::ifstream(path, std::ios::binary).read(head.data(), static_cast<int64_t>(head.size()));
  const size_t begin = data_begin(head);  // labels are the widest type and come first
  const auto flip = [&](size_t at) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<int64_t>(at)).put('\1');
  };
  flip(begin + 65 * 4 + 1000);
  EXPECT_TRUE(taken([&] { read_pack(path); }));
  EXPECT_FALSE(taken([&] { read_safetensors(path, "checking", Verify::all); }));
  flip(begin);
  EXPECT_FALSE(taken([&] { read_pack(path); }));
  fs::remove(path);
}

}  // namespace
}  // namespace facet
