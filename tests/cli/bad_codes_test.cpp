// Codes, indexes and exports that cannot be.
#include <gtest/gtest.h>

#include "facet/data/image_file.h"
#include "tests/cli/bad_input.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

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
                 {"'pictures'", "no ONNX Runtime Web", "scripts/fetch-npm web"});
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

}  // namespace
}  // namespace facet
