#include <cstdlib>
#include <sstream>
#include <string>
#include <zlib.h>

#include "facet/core/gzip.h"
#include "facet/core/torch.h"
#include "facet/data/array_file.h"
#include "facet/data/array_read.h"
#include "facet/data/array_write.h"
#include "facet/data/csv.h"
#include "facet/data/idx.h"
#include "facet/data/image_file.h"
#include "facet/data/npy_format.h"
#include "facet/data/table_labels.h"
#include "facet/fit/fit_options.h"
#include "facet/fit/vector_labels.h"
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

/// A PNG with the checksums that its chunks should have: a varied one would be refused for them.
std::string mended_png(std::string_view bytes) {
  std::string png(bytes);
  const auto number = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(png[at + i]);
    return value;
  };
  for (size_t at = 8; at + 12 <= png.size() && number(at) <= png.size() - at - 12;) {
    const size_t end = at + 8 + number(at);
    const auto sum = crc32(0, reinterpret_cast<const Bytef*>(png.data()) + at + 4,
                           static_cast<uInt>(end - at - 4));
    for (size_t i = 0; i < 4; ++i) png[end + i] = static_cast<char>(sum >> (24 - 8 * i) & 0xFF);
    at = end + 4;
  }
  return png;
}

bool read_picture_bytes(std::string_view bytes) {
  const std::string whole =
      bytes.starts_with("\x89PNG\r\n\x1a\n") ? mended_png(bytes) : std::string(bytes);
  if (whole != bytes) taken([&] { decode_image(bytes, "input", {1 << 20, 32}); });
  const bool any = taken([&] { decode_image(whole, "input", {1 << 20, 32}); });
  if (!any) return false;  // large ones would cost too much below
  const std::filesystem::path path = input_file("picture", whole);
  return taken([&] {
    read_image(path);
    read_image(path, 4, 3);
    read_image(path, 12, 40);
    read_image(path, 5, 20, Fit::pad);
  });
}
std::vector<std::string> picture_seeds() {
  Image grey = Image::filled(1, 8, 8), colour = Image::filled(3, 9, 7);
  for (size_t i = 0; i < grey.pixels.size(); ++i) grey.pixels[i] = static_cast<uint8_t>(31 * i);
  for (size_t i = 0; i < colour.pixels.size(); ++i) colour.pixels[i] = static_cast<uint8_t>(17 * i);
  return {encode_png(grey), encode_png(colour), encode_jpeg(grey), encode_jpeg(colour)};
}

/// Properties of images, as `facet import --labels` reads them. The first line of the table says
/// which columns are meant.
void label_images(const Table& table) {
  const std::vector<std::string> files = {"a.png", "below/a.png", "below/b.JPG", "c.png"};
  const RowsOfFiles rows = match_rows(table, 0, files, "faces", "table.csv");
  TableOptions options;
  for (const std::string& column : table.columns) {
    if (column == "elsewhere") options.split_column = "a column that it has not";
    if (column == "split") options.split_column = column;
    if (column == "hair") options.properties.push_back("hair");
    if (column == "smile") options.properties.push_back("smile=yes,No,no");
    if (column == "Case") options.keep_case = true;
  }
  labels_of(table, rows.rows, {0}, options, "table.csv");
}

bool read_table_bytes(std::string_view bytes) {
  const std::filesystem::path path = input_file("table.csv", bytes);
  return taken([&] {
    const Table table = read_csv(path);
    taken([&] { label_images(table); });  // whether or not it names our files
    taken([&] {
      const VectorLabels labels = read_vector_labels(path, 2);
      labels_of_factors(labels, {{"one", 2, 2, "hair", {}}, {"two", 2, 2, "", {}}});
    });
  });
}
std::vector<std::string> table_seeds() {
  return {"file,hair,smile\na.png,red,yes\nb.png,,no\n",
          "name,hair,smile,split,Case\nfaces/a.png,red,Yes,train,x\n./below\\a.png,Red,no,1,X\n"
          "B,black,,test,y\n\n",
          "id,age,hair\na,10,1\nc.png,9,-1\n",
          "name,smile,hat\na,YES,Red\nc,No,red\nbelow/b.JPG,no,red\nbelow/a.png,,blue\n",
          "k,v\na.png,nan\nc,x\n",
          "k,elsewhere\na.png,1\n",
          "sep=;\r\n\"name\";\"a \"\"b\"\"\"\r\n1;2\r\n",
          "\xEF\xBB\xBFx\ty\n1\t2\n",
          "name,colour\nx,gr\xFCn\n",
          std::string("\xFF\xFE"
                      "a\0,\0b\0\n\0"
                      "1\0,\0"
                      "2\0\n\0",
                      18),
          std::string("\xFE\xFF\0a\0,\0b\0\n\xD8\x3D\xDE\0\0,\0X", 18),
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
  const std::filesystem::path path = input_file("array.npy", bytes);
  bool any = taken([&] { read_vector_labels(path, 3); });
  any |= taken([&] { read_start(path, 3, 2); });
  return taken([&] { touch(read_vectors(path)); }) || any;
}
bool read_npz_bytes(std::string_view bytes) {
  return taken([&] {
    for (const auto& [name, array] : read_arrays(input_file("array.npz", bytes), "reading").arrays)
      touch(array);
  });
}
std::string array_bytes(const std::string& name, ArrayFormat format,
                        const ArrayWriter::Settings& settings = {}) {
  const std::filesystem::path path = input_file(name, "");
  const torch::Tensor rows = torch::arange(6, kFloat32).view({3, 2});
  ArrayWriter writer(path, format, {{"codes", kFloat32, {3, 2}}},
                     {{"format", "t\xC3\xA9st \xE2\x82\xAC \xF0\x9F\x98\x80"}}, settings);
  writer.append(0, rows);
  writer.finish();
  return bytes_of(path);
}
/// A .npy of a type of NumPy's.
std::string npy_of(const std::string& type, const std::vector<int64_t>& shape, size_t bytes) {
  return npy_header(type, shape) + std::string(bytes, '\1');
}
std::vector<std::string> npy_seeds() {
  std::string fortran = npy_of("<f8", {3, 2}, 48), old = npy_of("<i4", {3, 2}, 24);
  fortran.replace(fortran.find("False"), 5, " True");
  old.replace(old.find("3, 2"), 6, "3L, 2)");  // as Python 2 wrote it
  return {array_bytes("seed.npy", ArrayFormat::npy),
          npy_of("<i8", {3}, 24),
          npy_of("|u1", {3, 2}, 6),
          npy_of("<u2", {3, 2}, 12),
          npy_of("<u4", {3, 1}, 12),
          npy_of("<f2", {3, 2}, 12),
          fortran,
          old};
}
std::vector<std::string> npz_seeds() {
  // The second with numbers of 64 bits, as large ones have them.
  return {array_bytes("seed.npz", ArrayFormat::npz),
          array_bytes("seed.npz", ArrayFormat::npz, {.zip64_from = 10})};
}

bool read_vecs_bytes(std::string_view bytes) {
  bool any = false;
  for (const char* name : {"v.fvecs", "v.ivecs", "v.bvecs"})
    any |= taken([&] { touch(read_vectors(input_file(name, bytes))); });
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
  const std::filesystem::path path = input_file("config.json", bytes);
  const bool saved = taken([&] {  // one that a run has kept, in which old names may stand
    const Config config = read_saved_config(path);
    const Config other = read_saved_config(path, {"seed=7"});
    difference_on_resume(with_batch_parts(config, 2), extended(config, other));
  });
  return taken([&] { read_config(path); }) || saved;
}
std::vector<std::string> config_seeds() {
  return {"{}", R"({"seed": 3, // a comment
    "model": {"factors": [{"name": "a", "components": 4, "dimensions": 2}],
              "network": {"preset": "custom", "channels": [8], "strides": [2]}},
    "train": {"joint": {"steps": 10}, "batch_size": 8}})",
          R"({"train": {"joint": {"hold_steps": 1e3, "move_goal": "held_out"}},
    "model": {"prior": "points"}})"};
}

/// "slurm 2 1 4": the second task of an array of four, whose first is 1.
void set_slurm(const std::string& text) {
  std::istringstream words(text);
  std::string word;
  words >> word;
  for (const char* name : {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT"})
    if (words >> word)
      setenv(name, word.c_str(), 1);
    else
      unsetenv(name);
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
      if (text.starts_with("slurm")) set_slurm(text);
      any |= taken([&] { parse_shard(text.substr(0, text.find(' '))); });
      if (text.starts_with("splits=")) any = taken([&] { parse_splits({text.substr(7)}); });
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
          "?train.joint.steps=1,2\n?1/4\n?first:3:8,second:2\n?slurm 2 1 4\n?splits=valid",
          "seed=[1,{\"a\": \"b,\\\"c\"}]\nseed=3\n?data.pack=\"a,b\",[1,2],{\"a\": 1}"};
}

bool read_fit_config_bytes(std::string_view bytes) {
  const std::filesystem::path path = input_file("fit.json", bytes);
  taken([&] { read_saved_fit_config(path); });
  return taken([&] { read_fit_config(path, {}); });
}
std::vector<std::string> fit_config_seeds() {
  return {"{}", R"({"factors": [{"name": "all", "components": 4, "dimensions": 2}]})"};
}

bool read_refine_config_bytes(std::string_view bytes) {
  const std::filesystem::path path = input_file("refine.json", bytes);
  taken([&] { resumed_refine_config(path, {"steps=7"}); });
  taken([&] { resumed_refine_config(path, {"seed=7"}); });
  return taken([&] { read_refine_config(path, {}); });
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
