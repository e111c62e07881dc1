// Packs and models that are damaged or do not suit each other.
#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/data/pack.h"
#include "tests/cli/bad_input.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

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
  pack.images = pack.images.all().narrow(2, 0, 12).clone();
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

}  // namespace
}  // namespace facet
