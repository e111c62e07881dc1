// Configs, states and folders that a run cannot start from.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "tests/cli/bad_input.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

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
  fs::remove(folder_ / "run/state-previous.safetensors");  // which would do instead
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
  fs::remove(folder_ / "run/state-previous.safetensors");
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

}  // namespace
}  // namespace facet
