// What a user gets for bad input: one line on stderr that opens with "facet: ", exit status 2, and
// no file made, changed or lost.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"
#include "facet/data/image_file.h"
#include "facet/data/pack.h"
#include "tests/cli/run_program.h"
#include "tests/files.h"
#include "tests/jpeg.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

std::string jpeg_bytes(int64_t side) {
  std::vector<uint8_t> values;
  for (int64_t i = 0; i < 3 * side * side; ++i) values.push_back(static_cast<uint8_t>(7 * i));
  return encode_jpeg({}, side, side, values);
}

/// A folder with good files of every kind, made once; each test works on a copy.
class BadInput : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    good_ = new TemporaryFolder;
    const TemporaryFolder& good = *good_;
    write_text(good / "config.json", quick_config(), "test");
    write_text(good / "images.idx", idx_bytes(8, {3, 16, 16}, std::string(768, 'x')), "test");
    write_text(good / "labels.idx", idx_bytes(8, {3}, std::string("\x00\x01\x02", 3)), "test");
    fs::create_directory(good / "pictures");
    Image image = Image::filled(3, 16, 16, 40);
    for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i * i);
    write_png(good / "pictures" / "a.png", image);
    write_text(good / "pictures" / "b.jpg", jpeg_bytes(16), "test");
    write_text(good / "labels.csv", "file,smile\na.png,yes\nb.jpg,no\n", "test");
    const auto in_folder = [&](const std::vector<std::string>& arguments) {
      const ProgramResult result = run_facet(arguments, {.folder = good.path()});
      ASSERT_EQ(result.status, 0) << result.err;
    };
    in_folder({"import", "portraits", "--count", "200", "--size", "16", "--out", "pack"});
    in_folder({"train", "config.json", "--out", "run", "--set", "data.pack=pack"});
  }
  static void TearDownTestSuite() {
    delete good_;
    good_ = nullptr;
  }
  BadInput() {
    fs::copy(good_->path(), folder_.path(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }

  std::string bytes(const std::string& name) { return read_text(folder_ / name, "test"); }
  void put(const std::string& name, const std::string& text) {
    write_text(folder_ / name, text, "test");
  }
  void cut(const std::string& name) {
    put(name, bytes(name).substr(0, bytes(name).size() * 2 / 3));
  }

  /// Runs in the folder; the one line it is refused with.
  std::string refusal(const std::vector<std::string>& arguments, rlim_t largest = RLIM_INFINITY) {
    const auto before = files_below(folder_.path());
    const ProgramResult result = run_facet(arguments, {largest, folder_.path()});
    const std::string shown = fmt::format("facet {}\n  status {}\n  stderr {}",
                                          fmt::join(arguments, " "), result.status, result.err);
    EXPECT_EQ(result.status, 2) << shown;
    EXPECT_EQ(result.err.rfind("facet: ", 0), 0u) << shown;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << shown;
    EXPECT_TRUE(!result.err.empty() && result.err.back() == '\n') << shown;
    EXPECT_EQ(result.err.find("Exception raised"), std::string::npos) << shown;
    EXPECT_TRUE(files_below(folder_.path()) == before) << "files have changed: " << shown;
    return result.err;
  }
  void expect_refusal(const std::vector<std::string>& arguments,
                      const std::vector<std::string>& parts, rlim_t largest = RLIM_INFINITY) {
    const std::string line = refusal(arguments, largest);
    for (const std::string& part : parts)
      EXPECT_NE(line.find(part), std::string::npos) << line << "  has no " << part;
  }

  const std::vector<std::string> import_images = {"import",     "images", "pictures", "--labels",
                                                  "labels.csv", "--out",  "new"};
  const std::vector<std::string> import_idx = {
      "import", "idx", "--train", "images.idx", "--train-labels", "labels.idx", "--out", "new"};

  static inline TemporaryFolder* good_ = nullptr;
  TemporaryFolder folder_;
};

TEST_F(BadInput, TheGoodFilesAreGood) {
  for (const auto& arguments : {import_images, import_idx}) {
    const ProgramResult result = run_facet(arguments, {.folder = folder_.path()});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_TRUE(fs::exists(folder_ / "new"));
  }
}

TEST_F(BadInput, DamagedIdxFiles) {
  cut("images.idx");
  expect_refusal(import_idx, {"images.idx", "cut short"});
  put("images.idx", "PK\x03\x04 this is a zip file");
  expect_refusal(import_idx, {"images.idx"});
  put("images.idx", idx_bytes(8, {4, 16, 16}, std::string(1024, 'x')));
  expect_refusal(import_idx, {"labels.idx", "[4]"});
  put("images.idx", "\x1f\x8b\x08");
  expect_refusal(import_idx, {"images.idx", "gzip"});
}

TEST_F(BadInput, DamagedPictures) {
  const std::string png = bytes("pictures/a.png");
  cut("pictures/a.png");
  expect_refusal(import_images, {"a.png"});
  std::string flipped = png;
  flipped[png.size() / 2] ^= 0x10;
  put("pictures/a.png", flipped);
  expect_refusal(import_images, {"a.png"});
  put("pictures/a.png", png);
  cut("pictures/b.jpg");
  expect_refusal(import_images, {"b.jpg"});
  put("pictures/b.jpg", "no picture");
  expect_refusal(import_images, {"b.jpg"});
}

TEST_F(BadInput, VectorsThatCannotBeFitted) {
  const auto fit = [&](const std::string& vectors, const std::vector<std::string>& parts,
                       const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"fit", vectors, "--out", "new", "--components", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refusal(arguments, parts);
  };
  put("v.csv", "1,2\n3,4\n5,7\n");
  fit("nowhere.npy", {"nowhere.npy"});
  fit("config.json", {"config.json", "the ending '.json'"});
  expect_refusal({"fit", "v.csv", "--out", "new", "--components", "4"},
                 {"3 vectors", "at least 4"});
  fit("v.csv", {"2 columns", "expected 3"}, {"--factors", "a:3:2"});
  fit("v.csv", {"'a:x'", "NAME:DIMENSIONS"}, {"--factors", "a:x"});
  fit("v.csv", {"option 'fit.method'"}, {"--set", "fit.method=guess"});
  fit("v.csv", {"labels.csv", "2 rows", "expected 3"}, {"--labels", "labels.csv"});
  fit("v.csv", {"no factor 'b'"}, {"--name", "b=smile"});
  fit("v.csv", {"no such column"}, {"--name", "all=smile"});
  fit("v.csv", {"tensor, 'x'"}, {"--tensor", "x"});
  put("ragged.csv", "1,2\n3\n");
  fit("ragged.csv", {"ragged.csv", "1 cells in line 2"});
  put("empty.csv", "");
  fit("empty.csv", {"empty.csv", "empty file"});
  put("nan.csv", "1,2\n3,4\n5,nan\n");
  fit("nan.csv", {"nan in row 2, column 1"});
  put("infinite.csv", "1,2\ninf,4\n5,6\n");
  fit("infinite.csv", {"inf in row 1, column 0"});
  put("odd.npy", "\x93NUMPY\x01");
  fit("odd.npy", {"odd.npy", "cut short"});
  put("empty.npy", "");
  fit("empty.npy", {"empty.npy", "empty file"});
  fit("run", {"run"});
  expect_refusal({"fit", "--out", "new"}, {"no file"});
  expect_refusal({"fit", "v.csv"}, {"--out"});
  expect_refusal({"fit", "v.csv", "--out", "run"}, {"an existing run"});
}

TEST_F(BadInput, VectorsThatDoNotSuitTheirRun) {
  put("v.csv", "1,2\n3,4\n5,7\n");
  ASSERT_EQ(run_facet({"fit", "v.csv", "--out", "fitted", "--components", "2"},
                      {.folder = folder_.path()})
                .status,
            0);
  put("narrow.csv", "1\n2\n");
  const auto predict = [&](const std::string& run, const std::string& vectors,
                           const std::string& output, const std::vector<std::string>& parts) {
    expect_refusal({"predict", run, vectors, "--out", output}, parts);
  };
  predict("fitted", "narrow.csv", "p.csv", {"1 dimensions", "expected 2"});
  predict("fitted", "v.csv", "p.npy", {"p.npy", ".csv"});
  predict("run", "v.csv", "p.csv", {"no run of 'facet fit'"});
  predict("nowhere", "v.csv", "p.csv", {"no such folder"});
  expect_refusal({"eval", "fitted", "--vectors", "narrow.csv"}, {"1 dimensions"});
  expect_refusal({"eval", "fitted", "--split", "train"}, {"--split"});
  expect_refusal({"eval", "run", "--vectors", "v.csv"}, {"--vectors", "a model of images"});
  expect_refusal({"report", "fitted", "--judge"}, {"--judge", "no decoder"});
  put("fitted/model.safetensors", bytes("run/model.safetensors"));
  predict("fitted", "v.csv", "p.csv", {"format 'facet-model-1'"});
}

TEST_F(BadInput, DamagedTables) {
  put("labels.csv", "file,smile\na.png,yes\nb.jpg\n");
  expect_refusal(import_images, {"labels.csv", "line 3"});
  put("labels.csv", "file,smile\na.png,\"yes\n");
  expect_refusal(import_images, {"labels.csv", "line 2"});
  put("labels.csv", "");
  expect_refusal(import_images, {"labels.csv"});
  put("labels.csv", "file,smile\na.png,nan\nb.jpg,yes\n");
  expect_refusal(import_images, {"labels.csv", "'nan'", "'smile'"});
  put("labels.csv", "file,smile\nc.png,yes\n");
  expect_refusal(import_images, {"labels.csv", "c.png"});
}

TEST_F(BadInput, LabelsOutsideTheDeclaredValues) {
  std::vector<std::string> arguments = import_images;
  arguments.insert(arguments.end(), {"--property", "smile=yes,perhaps"});
  expect_refusal(arguments, {"labels.csv", "'no'", "'smile'", "yes, perhaps"});
  arguments.back() = "smlie";
  expect_refusal(arguments, {"labels.csv", "no column 'smlie'", "smile"});
}

TEST_F(BadInput, MixedImageSizes) {
  write_png(folder_ / "pictures" / "c.png", Image::filled(3, 16, 20));
  expect_refusal(import_images, {"c.png", "20x16", "16x16", "--size"});
}

TEST_F(BadInput, DamagedPacks) {
  const std::vector<std::string> uses[] = {
      {"train", "config.json", "--out", "fresh", "--set", "data.pack=pack"},
      {"eval", "run", "--pack", "pack"},
      {"info", "pack"}};
  const std::string good = bytes("pack");
  cut("pack");
  for (const auto& arguments : uses) expect_refusal(arguments, {"pack", "cut short"});
  std::string flipped = good;
  flipped[20] ^= 0x40;
  put("pack", flipped);
  for (const auto& arguments : uses) expect_refusal(arguments, {"pack"});
  fs::copy_file(folder_ / "run" / "model.safetensors", folder_ / "pack",
                fs::copy_options::overwrite_existing);
  expect_refusal(uses[0], {"pack", "is this a model?"});
}

TEST_F(BadInput, APackWithLabelsOutsideItsValues) {
  TensorFile file = read_safetensors(folder_ / "pack", "test");
  file.tensors["labels"] = file.tensors["labels"].clone();
  file.tensors["labels"][0][0] = 99;
  write_safetensors(folder_ / "pack", file, "test");
  expect_refusal({"train", "config.json", "--out", "fresh", "--set", "data.pack=pack"},
                 {"pack", "label 99"});
}

TEST_F(BadInput, AnEmptySplit) {
  Pack pack = read_pack(folder_ / "pack");
  pack.split = pack.split.clone();
  pack.split.masked_fill_(pack.split.eq(1), 0);
  write_pack(folder_ / "pack", pack);
  expect_refusal({"eval", "run", "--pack", "pack", "--split", "valid"},
                 {"'valid'", "none among 200 images"});
  expect_refusal({"eval", "run", "--split", "tset"}, {"'tset'", "train, valid or test"});
  expect_refusal({"train", "config.json", "--out", "fresh", "--set", "data.pack=pack", "--set",
                  "data.train_splits=[\"valid\"]"},
                 {"'valid'"});
}

TEST_F(BadInput, APackOfAnotherShapeThanTheModel) {
  Pack pack = read_pack(folder_ / "pack");
  pack.images = pack.images.narrow(2, 0, 12).clone();
  write_pack(folder_ / "small", pack);
  expect_refusal({"eval", "run", "--pack", "small"}, {"small", "16x12", "16x16"});
}

TEST_F(BadInput, DamagedModels) {
  const std::string good = bytes("run/model.safetensors");
  const std::vector<std::string> uses[] = {
      {"eval", "run"}, {"sample", "run", "--out", "new.png"}, {"info", "run"}};
  cut("run/model.safetensors");
  for (const auto& arguments : uses) expect_refusal(arguments, {"model.safetensors"});
  put("run/model.safetensors", "");
  for (const auto& arguments : uses) expect_refusal(arguments, {"model.safetensors"});
  put("run/model.safetensors", good);
  TensorFile file = read_safetensors(folder_ / "run/model.safetensors", "test");
  for (const char* name : {"encoder.head.bias", "prior.second.b"}) {
    TensorFile damaged = file;
    damaged.tensors.at(name) = file.tensors.at(name).clone();
    damaged.tensors.at(name).view({-1})[0] = NAN;
    write_safetensors(folder_ / "run/model.safetensors", damaged, "test");
    for (const auto& arguments : uses)
      expect_refusal(arguments, {"model.safetensors", name, "NaN"});
  }
  // Numbers that are finite but no parameters of a Gamma distribution.
  TensorFile damaged = file;
  damaged.tensors.at("prior.first.a") = torch::full({3, 2}, -1.0, kFloat64);
  write_safetensors(folder_ / "run/model.safetensors", damaged, "test");
  expect_refusal({"sample", "run", "--out", "new.png"}, {"model.safetensors", "prior.first.a"});
}

TEST_F(BadInput, CodesThatCannotBe) {
  const auto encode = [](const std::string& out) {
    return std::vector<std::string>{"encode", "run", "pictures", "--out", out};
  };
  expect_refusal(encode("codes.txt"), {"'.txt'", ".csv, .npy, .npz or .safetensors"});
  expect_refusal(encode("codes"), {"no ending"});
  std::vector<std::string> latents = encode("codes.npy");
  latents.push_back("--latents");
  expect_refusal(latents, {"codes.npy", "more than one array"});
  expect_refusal({"encode", "run", "nowhere", "--out", "c.csv"}, {"nowhere", "no such file"});
  expect_refusal({"encode", "run", "pictures", "pack", "--out", "c.csv"}, {"one pack, folder"});
  put("codes.csv", "image,first,second\n0,1,2\n1,0,3\n");
  const auto decode = [](const std::string& codes, const std::string& out = "new.png") {
    return std::vector<std::string>{"decode", "run", codes, "--out", out};
  };
  expect_refusal(decode("codes.csv"), {"'second'", "'3'", "0 to 2"});
  expect_refusal(decode("codes.csv", "new.gif"), {"new.gif", "'.gif'"});
  put("codes.csv", "image,first\n0,1\n");
  expect_refusal(decode("codes.csv"), {"codes.csv", "no column 'second'"});
  put("codes.csv", "image,code\n0,zz\n");
  expect_refusal(decode("codes.csv"), {"'zz'", "hexadecimal"});
  put("codes.npy", "no array");
  expect_refusal(decode("codes.npy"), {"codes.npy", "numpy.save"});
  expect_refusal({"decode", "run", "--out", "new.png"}, {"no codes"});
  expect_refusal({"decode", "run", "--code", "frist=1", "--out", "new.png"},
                 {"'frist'", "did you mean 'first'"});
  expect_refusal({"decode", "run", "--code", "first=9", "--out", "new.png"}, {"'first'", "0 to 2"});
  ASSERT_EQ(
      run_facet({"encode", "run", "pictures", "--out", "c.npz"}, {.folder = folder_.path()}).status,
      0);
  ASSERT_EQ(run_facet({"train", "config.json", "--out", "other", "--set", "seed=9"},
                      {.folder = folder_.path()})
                .status,
            0);
  expect_refusal({"decode", "other", "c.npz", "--out", "new.png"}, {"c.npz", "fingerprint"});
  cut("c.npz");
  expect_refusal(decode("c.npz"), {"c.npz"});
}

TEST_F(BadInput, IndexesThatCannotBe) {
  const auto works = [&](const std::vector<std::string>& arguments) {
    const ProgramResult result = run_facet(arguments, {.folder = folder_.path()});
    ASSERT_EQ(result.status, 0) << result.err;
  };
  works({"index", "run", "pictures", "--out", "index"});
  works({"train", "config.json", "--out", "other", "--set", "seed=9"});
  const std::vector<std::string> search = {"search", "index", "--like", "pictures/a.png"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = search;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  works(search);
  expect_refusal({"index", "run", "pictures", "--out", "index"}, {"index", "--append"});
  expect_refusal({"index", "run", "pictures"}, {"--out", "--append"});
  expect_refusal({"index", "other", "pictures", "--append", "index"}, {"index", "fingerprint"});
  expect_refusal({"index", "run", "pictures", "--append", "pictures"}, {"no index.safetensors"});
  for (const char* folder : {"run", "pictures", "nowhere"})
    expect_refusal({"search", folder, "--like", "pictures/a.png"},
                   {folder, "no index.safetensors"});
  expect_refusal(with({"--factors", "frist"}), {"'frist'", "did you mean 'first'"});
  expect_refusal(with({"--where", "first=9"}), {"'first'", "0 to 2"});
  expect_refusal(with({"--change", "first"}), {"no '='"});
  write_png(folder_ / "wide.png", Image::filled(3, 16, 20));
  expect_refusal({"search", "index", "--like", "wide.png"}, {"20x16", "16x16", "--resize"});
  for (const std::string name :
       {"index.safetensors", "segment-0000.safetensors", "segment-0000.scan.safetensors"}) {
    const std::string good = bytes("index/" + name);
    cut("index/" + name);
    expect_refusal(search, {name});
    fs::remove(folder_ / "index" / name);
    expect_refusal(search, {name});
    put("index/" + name, good);
  }
  fs::copy_file(folder_ / "other/model.safetensors", folder_ / "index/model.safetensors",
                fs::copy_options::overwrite_existing);
  expect_refusal(search, {"index", "fingerprint"});
}

TEST_F(BadInput, DamagedConfigs) {
  const std::vector<std::string> train = {"train", "config.json", "--out", "fresh"};
  const std::string good = bytes("config.json");
  cut("config.json");
  expect_refusal(train, {"config.json", "line"});
  put("config.json", good + "}");
  expect_refusal(train, {"config.json", "line"});
  put("config.json", good + "and more");
  expect_refusal(train, {"config.json", "line"});
  put("config.json", "{\"seed\": 1e999}");
  expect_refusal(train, {"config.json"});
  put("config.json", "{\"seed\": \"\xff\"}");
  expect_refusal(train, {"config.json"});
  put("config.json", "");
  expect_refusal(train, {"config.json"});
  put("config.json", "{\"sede\": 1}");
  expect_refusal(train, {"config.json", "'sede'", "did you mean 'seed'?"});
  put("run/config.json", "{");
  expect_refusal({"eval", "run"}, {"run/config.json"});
  expect_refusal({"train", "--out", "run", "--resume"}, {"run/config.json"});
}

TEST_F(BadInput, DamagedStates) {
  const std::string good = bytes("run/state.safetensors");
  const std::vector<std::string> resume = {"train", "--out", "run", "--resume"};
  cut("run/state.safetensors");
  expect_refusal(resume, {"state.safetensors"});
  std::string flipped = good;
  flipped[30] ^= 0x40;
  put("run/state.safetensors", flipped);
  expect_refusal(resume, {"state.safetensors"});
  fs::copy_file(folder_ / "pack", folder_ / "run/state.safetensors",
                fs::copy_options::overwrite_existing);
  expect_refusal(resume, {"state.safetensors"});
  fs::remove(folder_ / "run/state.safetensors");
  expect_refusal(resume, {"state.safetensors"});
}

TEST_F(BadInput, AStateWhoseProgressCannotBe) {
  const TensorFile file = read_safetensors(folder_ / "run/state.safetensors", "test");
  for (const auto& progress : {std::vector<int64_t>{7, 0, 0, 0}, std::vector<int64_t>{0, -1, 0, 0},
                               std::vector<int64_t>{2, 10, -5, 30}}) {
    TensorFile damaged = file;
    damaged.tensors["progress"] = torch::tensor(progress);
    write_safetensors(folder_ / "run/state.safetensors", damaged, "test");
    expect_refusal({"train", "--out", "run", "--resume"}, {"state.safetensors"});
  }
  TensorFile damaged = file;
  damaged.tensors["progress"] = torch::tensor({0, 10, 0, 10}, kInt64);
  damaged.tensors["metrics.sums"] = torch::zeros({1}, kFloat64);
  write_safetensors(folder_ / "run/state.safetensors", damaged, "test");
  expect_refusal({"train", "--out", "run", "--resume"}, {"state.safetensors", "metrics.sums"});
  damaged.tensors["progress"] = torch::tensor({7, 0, 0, 0}, kInt64);
  write_safetensors(folder_ / "run/state.safetensors", damaged, "test");
  expect_refusal({"info", "run"}, {"state.safetensors"});
}

TEST_F(BadInput, SettingsThatCannotBe) {
  struct Case {
    std::string setting;
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {"model.factors.0.components=0", {"'model.factors.0.components'", "found 0", "at least 1"}},
      {"model.factors.0.componets=5", {"componets", "did you mean 'components'?"}},
      {"model.factors.2.components=5", {"index '2' into a list of 2"}},
      {"model.factors.1.name=first", {"first"}},
      {"model.factors=[]", {"factor"}},
      {"train.joint.steps=many", {"'train.joint.steps'", "a whole number"}},
      {"train.batch_size=0", {"'train.batch_size'", "at least 1"}},
      {"train.learning_rate.start=1e39", {"learning_rate"}},
      {"model.network.preset=huge", {"huge", "small32"}},
      {"model.network.strides=[8,8]", {"kernel"}},
      {"model.network.channels=[8]", {"1 channels and 2 strides"}},
      {"data.train_splits=[]", {"split"}},
      {"data.portraits.size=8", {"'data.portraits.size'", "16 to 256"}},
      {"data.pack=absent", {"absent", "no readable file"}},
      {"seed", {"key=value"}},
  };
  int number = 0;
  for (const Case& one : cases)
    expect_refusal(
        {"train", "config.json", "--out", fmt::format("fresh{}", number++), "--set", one.setting},
        one.parts);
}

TEST_F(BadInput, FullDisk) {
  expect_refusal({"import", "portraits", "--count", "100", "--size", "16", "--out", "new"},
                 {"new", "is the disk full?"}, 10000);
  expect_refusal({"import", "portraits", "--count", "100", "--size", "16", "--out", "pack"},
                 {"pack", "is the disk full?"}, 10000);
  expect_refusal({"sample", "run", "--out", "new.png"}, {"new.png", "is the disk full?"}, 2000);
}

TEST_F(BadInput, AFullDiskInTrainingStopsItWithALine) {
  const ProgramResult result =
      run_facet({"train", "config.json", "--out", "fresh"}, {12000, folder_.path()});
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_EQ(result.err.rfind("facet: ", 0), 0u) << result.err;
  EXPECT_NE(result.err.find("is the disk full?"), std::string::npos) << result.err;
  for (const auto& [name, content] : files_below(folder_ / "fresh"))
    EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
}

TEST_F(BadInput, AFolderThatHoldsARunAlready) {
  expect_refusal({"train", "config.json", "--out", "run"}, {"'run'", "--resume"});
  fs::remove(folder_ / "run/config.json");
  expect_refusal({"train", "config.json", "--out", "run"}, {"'run'"});
}

TEST_F(BadInput, PlacesThatCannotBeWritten) {
  for (const char* out : {"config.json", "config.json/below", "/proc/nothing/run"})
    expect_refusal({"train", "config.json", "--out", out}, {out});
  expect_refusal({"sample", "run", "--out", "absent/new.png"},
                 {"absent/new.png", "does the folder exist?"});
  expect_refusal({"sample", "run", "--out", "pictures"}, {"pictures"});
  expect_refusal(
      {"import", "portraits", "--count", "10", "--size", "16", "--out", "config.json/new"},
      {"config.json/new"});
  expect_refusal({"import", "images", "absent", "--out", "config.json/new"}, {"config.json/new"});
}

TEST_F(BadInput, MissingFiles) {
  struct Case {
    std::vector<std::string> arguments;
    std::string part;
  };
  const Case cases[] = {
      {{"train", "absent.json", "--out", "fresh"}, "absent.json"},
      {{"train", "pictures", "--out", "fresh"}, "pictures"},
      {{"train", "--out", "absent", "--resume"}, "absent"},
      {{"train", "--out", "fresh"}, "no config"},
      {{"train", "config.json"}, "--out"},
      {{"eval", "absent"}, "absent"},
      {{"eval", "pictures"}, "pictures"},
      {{"sample", "absent", "--out", "new.png"}, "absent"},
      {{"info", "absent"}, "absent"},
      {{"info", "config.json"}, "config.json"},
      {{"info", "pictures"}, "pictures"},
      {{"import", "idx", "--train", "absent", "--out", "new"}, "absent"},
      {{"import", "idx", "--out", "new"}, "no file"},
      {{"import", "images", "absent", "--out", "new"}, "absent"},
      {{"import", "images", "pictures", "--labels", "absent.csv", "--out", "new"}, "absent.csv"},
      {{"import", "portraits", "--size", "8", "--count", "10", "--out", "new"}, "8"},
  };
  for (const Case& one : cases) expect_refusal(one.arguments, {one.part});
}

TEST_F(BadInput, ArgumentsThatCannotBe) {
  struct Case {
    std::vector<std::string> arguments;
    std::string part;
  };
  const Case cases[] = {
      {{"eval", "run", "--jsn"}, "did you mean '--json'?"},
      {{"train", "config.json", "--out", "fresh", "--resum"}, "did you mean '--resume'?"},
      {{"tarin", "config.json"}, "did you mean 'train'?"},
      {{"eval"}, "run"},
      {{}, "command"},
      {{"import"}, "command"},
      {{"eval", "run", "--samples", "0"}, "--samples"},
      {{"eval", "run", "--samples", "many"}, "--samples"},
      {{"sample", "run"}, "--out"},
      {{"sample", "run", "--count", "-1", "--out", "new.png"}, "--count"},
      {{"eval", "run", "--device", "gpu"}, "--device"},
      {{"import", "images", "pictures", "--out", "new", "--valid", "0.6", "--test", "0.6"},
       "--valid"},
  };
  for (const Case& one : cases) expect_refusal(one.arguments, {one.part});
}

TEST_F(BadInput, ExportsThatCannotBe) {
  const auto onnx = [](const std::string& run, const std::string& out) {
    return std::vector<std::string>{"export", "onnx", run, "--out", out};
  };
  expect_refusal(onnx("run", "pictures"), {"'pictures'", "a folder that has files", "--force"});
  expect_refusal(onnx("run", "config.json"), {"'config.json'", "found a file"});
  expect_refusal(onnx("run", "/proc/nothing"), {"/proc/nothing"});
  expect_refusal(onnx("absent", "new"), {"'absent'", "no config.json"});
  expect_refusal(onnx("pack", "new"), {"'pack'"});
  expect_refusal(onnx("run", "new"), {"new", "is the disk full?"}, 4000);
  const auto page = [](const std::string& run, const std::string& out, const std::string& runtime) {
    return std::vector<std::string>{"export", "page", run, "--out", out, "--runtime", runtime};
  };
  expect_refusal(page("run", "new", "pictures"),
                 {"'pictures'", "no ONNX Runtime Web", "scripts/fetch-onnxruntime web"});
  // What stands in for the runtime: files of the right names.
  for (const char* name : {"dist/ort.wasm.min.mjs", "dist/ort-wasm-simd-threaded.mjs",
                           "dist/ort-wasm-simd-threaded.wasm", "LICENSE"}) {
    fs::create_directories((folder_ / "runtime" / name).parent_path());
    put(std::string("runtime/") + name, "x");
  }
  expect_refusal(page("run", "pictures", "runtime"), {"'pictures'", "a folder that has files"});
  expect_refusal(page("run", "/proc/nothing", "runtime"), {"/proc/nothing"});
  expect_refusal(page("run", "new", "runtime"), {"new", "is the disk full?"}, 4000);
  fs::remove(folder_ / "run/model.safetensors");
  expect_refusal(onnx("run", "new"), {"run/model.safetensors"});
  expect_refusal(page("run", "new", "runtime"), {"run/model.safetensors"});
}

TEST_F(BadInput, CudaWithoutACard) {
  if (cuda::available()) GTEST_SKIP() << "there is a GPU";
  expect_refusal({"train", "config.json", "--out", "fresh", "--device", "cuda"},
                 {"no usable GPU", "the device 'cpu'"});
  expect_refusal({"eval", "run", "--device", "cuda"}, {"no usable GPU"});
}

}  // namespace
}  // namespace facet
