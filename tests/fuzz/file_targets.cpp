#include <string>

#include "facet/core/gzip.h"
#include "facet/core/torch.h"
#include "facet/data/array_file.h"
#include "facet/data/array_read.h"
#include "facet/data/array_write.h"
#include "facet/data/csv.h"
#include "facet/data/idx.h"
#include "facet/data/image_file.h"
#include "facet/fit/fit_options.h"
#include "facet/train/config.h"
#include "facet/train/refine_config.h"
#include "facet/train/shard.h"
#include "facet/train/sweep_plan.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/targets.h"

namespace facet {
namespace {

/// Reads every element, so that a view beyond its file is found.
void touch(const torch::Tensor& tensor) {
  if (tensor.numel() > 0) (void)tensor.reshape({-1}).contiguous().clone();
}

bool read_picture_bytes(std::string_view bytes) {
  return taken([&] { decode_image(bytes, "input", {1 << 20, 32}); });
}
std::vector<std::string> picture_seeds() {
  Image grey = Image::filled(1, 8, 8), colour = Image::filled(3, 9, 7);
  for (size_t i = 0; i < grey.pixels.size(); ++i) grey.pixels[i] = static_cast<uint8_t>(31 * i);
  for (size_t i = 0; i < colour.pixels.size(); ++i) colour.pixels[i] = static_cast<uint8_t>(17 * i);
  return {encode_png(grey), encode_png(colour), encode_jpeg(grey), encode_jpeg(colour)};
}

bool read_table_bytes(std::string_view bytes) {
  return taken([&] { read_csv(input_file("table.csv", bytes)); });
}
std::vector<std::string> table_seeds() {
  return {"file,hair,smile\na.png,red,yes\nb.png,,no\n",
          "sep=;\r\n\"name\";\"a \"\"b\"\"\"\r\n1;2\r\n",
          "\xEF\xBB\xBFx\ty\n1\t2\n",
          "name,colour\nx,gr\xFCn\n",
          std::string("\xFF\xFE"
                      "a\0,\0b\0\n\0"
                      "1\0,\0"
                      "2\0\n\0",
                      18),
          gzip_compressed("a,b\n1,2\n")};
}

bool read_number_table_bytes(std::string_view bytes) {
  return taken([&] { touch(read_number_table(input_file("numbers.csv", bytes))); });
}
std::vector<std::string> number_table_seeds() {
  return {"1,2,3\n4,5,6\n", "x,y\n1e-3,-2\n0.5,7\n"};
}

bool read_idx_bytes(std::string_view bytes) {
  return taken([&] { read_idx(input_file("images.idx", bytes)); });
}
std::vector<std::string> idx_seeds() {
  const std::string plain =
      std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x03", 16) + std::string(12, 'x');
  return {plain, gzip_compressed(plain), std::string("\0\0\x08\x01\0\0\0\x03", 8) + "abc"};
}

bool read_npy_bytes(std::string_view bytes) {
  return taken([&] { touch(read_vectors(input_file("array.npy", bytes))); });
}
bool read_npz_bytes(std::string_view bytes) {
  return taken([&] {
    for (const auto& [name, array] : read_arrays(input_file("array.npz", bytes), "reading").arrays)
      touch(array);
  });
}
std::string array_bytes(const std::string& name, ArrayFormat format) {
  const std::filesystem::path path = input_file(name, "");
  const torch::Tensor rows = torch::arange(6, kFloat32).view({3, 2});
  ArrayWriter writer(path, format, {{"codes", kFloat32, {3, 2}}}, {{"format", "test"}});
  writer.append(0, rows);
  writer.finish();
  return bytes_of(path);
}
std::vector<std::string> npy_seeds() { return {array_bytes("seed.npy", ArrayFormat::npy)}; }
std::vector<std::string> npz_seeds() { return {array_bytes("seed.npz", ArrayFormat::npz)}; }

bool read_vecs_bytes(std::string_view bytes) {
  bool any = false;
  for (const char* name : {"v.fvecs", "v.ivecs", "v.bvecs"})
    any |= taken([&] { touch(read_vecs(input_file(name, bytes))); });
  return any;
}
std::vector<std::string> vecs_seeds() {
  return {std::string("\2\0\0\0"
                      "abcdefgh"
                      "\2\0\0\0"
                      "ijklmnop",
                      24),
          std::string("\2\0\0\0"
                      "ab"
                      "\2\0\0\0"
                      "cd",
                      12)};
}

bool read_config_bytes(std::string_view bytes) {
  return taken([&] { read_config(input_file("config.json", bytes)); });
}
std::vector<std::string> config_seeds() {
  return {"{}", R"({"seed": 3, // a comment
    "model": {"factors": [{"name": "a", "components": 4, "dimensions": 2}],
              "network": {"preset": "custom", "channels": [8], "strides": [2]}},
    "train": {"joint": {"steps": 10}, "batch_size": 8}})"};
}

/// Every line is a `--set`; those that begin with '?' are other texts of the command line.
bool read_settings_bytes(std::string_view bytes) {
  const std::filesystem::path empty = input_file("empty.json", "{}");
  std::vector<std::string> settings;
  std::string line;
  bool all = true;
  for (const char letter : std::string(bytes) + "\n") {
    if (letter != '\n') {
      line += letter;
      continue;
    }
    if (line.rfind('?', 0) == 0) {
      const std::string text = line.substr(1);
      bool any = taken([&] { parse_variation(text); });
      any |= taken([&] { parse_shard(text); });
      any |= taken([&] { parse_factors(text, 8); });
      all &= any;
    } else if (!line.empty()) {
      settings.push_back(line);
    }
    line.clear();
  }
  return taken([&] { read_config(empty, settings); }) && all;
}
std::vector<std::string> settings_seeds() {
  return {"seed=4\ntrain.batch_size=16",
          "model.factors=[{\"name\": \"a\"}]\nmodel.factors.0.name=b",
          "?train.joint.steps=1,2\n?1/4\n?first:3:8,second:2"};
}

bool read_fit_config_bytes(std::string_view bytes) {
  return taken([&] { read_fit_config(input_file("fit.json", bytes), {}); });
}
std::vector<std::string> fit_config_seeds() {
  return {"{}", R"({"factors": [{"name": "all", "components": 4, "dimensions": 2}]})"};
}

bool read_refine_config_bytes(std::string_view bytes) {
  return taken([&] { read_refine_config(input_file("refine.json", bytes), {}); });
}
std::vector<std::string> refine_config_seeds() { return {"{}", R"({"seed": 2})"}; }

}  // namespace

std::vector<FuzzTarget> file_targets() {
  return {{"picture", read_picture_bytes, picture_seeds},
          {"table", read_table_bytes, table_seeds},
          {"number_table", read_number_table_bytes, number_table_seeds},
          {"idx", read_idx_bytes, idx_seeds},
          {"npy", read_npy_bytes, npy_seeds},
          {"npz", read_npz_bytes, npz_seeds},
          {"vecs", read_vecs_bytes, vecs_seeds},
          {"config", read_config_bytes, config_seeds},
          {"settings", read_settings_bytes, settings_seeds},
          {"fit_config", read_fit_config_bytes, fit_config_seeds},
          {"refine_config", read_refine_config_bytes, refine_config_seeds}};
}

}  // namespace facet
