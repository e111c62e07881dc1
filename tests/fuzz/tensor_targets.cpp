#include <map>
#include <memory>

#include <fmt/format.h>

#include "facet/core/file.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/data/array_file.h"
#include "facet/data/array_read.h"
#include "facet/data/pack.h"
#include "facet/data/pack_shards.h"
#include "facet/data/shard_names.h"
#include "facet/fit/fit_mixture.h"
#include "facet/fit/vector_mixture.h"
#include "facet/model/fingerprint.h"
#include "facet/model/model_file.h"
#include "facet/model/refiner.h"
#include "facet/search/code_file.h"
#include "facet/search/index_file.h"
#include "facet/search/index_search.h"
#include "tests/close.h"
#include "tests/fuzz/fuzz_model.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/tensor_input.h"

namespace facet {
namespace {

bool read_safetensors_bytes(std::string_view bytes) {
  return taken([&] {
    const std::filesystem::path path = input_file("any.safetensors", bytes);
    has_checksums(path, "reading");
    for (const auto& [name, tensor] : read_safetensors(path, "reading").tensors)
      if (tensor.numel() > 0) (void)tensor.clone();
    read_arrays(path, "reading");
    taken([&] { first_not_finite(read_vectors(path)); });  // whether or not it has one table
    taken([&] { read_vectors(path, "a"); });
  });
}
std::vector<std::string> safetensors_seeds() {
  const std::filesystem::path path = input_file("seed.safetensors", "");
  TensorFile file;
  file.metadata["format"] = "test";
  file.tensors["a"] = torch::ones({2, 3});
  file.tensors["b"] = torch::arange(3);
  write_safetensors(path, file, "writing");
  const std::string written = bytes_of(path);
  // Without a table of numbers, and with too many to choose from, one of them not finite.
  Json tables = {{"a", {{"dtype", "F32"}, {"shape", {1, 1}}, {"data_offsets", {0, 4}}}}};
  const std::string one = tables.dump() + '\0' + "\xFF\xFF\xFF\xFF";
  for (uint64_t i = 1; i < 10; ++i)
    tables[fmt::format("t{}", i)] = {
        {"dtype", "F32"}, {"shape", {1, 1}}, {"data_offsets", {4 * i, 4 * i + 4}}};
  return {written, tensor_file_of(tensor_input_of(written)), tensor_file_of("{}"),
          tensor_file_of(one), tensor_file_of(tables.dump())};
}

bool read_pack_bytes(std::string_view bytes) {
  return taken([&] {
    const Pack pack = read_pack(input_file("p.safetensors", tensor_file_of(bytes)));
    fingerprint(pack);
    to_images(pack.images.gather(torch::zeros({1}, kInt64)));
    pack.indices({Split::train});
  });
}
std::vector<std::string> pack_seeds() {
  const std::filesystem::path path = input_file("seed-pack.safetensors", "");
  write_pack(path, fuzz_pack());
  return {tensor_input_of(bytes_of(path))};
}

/// A pack in two files, of which the input is the second.
bool read_shards_bytes(std::string_view bytes) {
  static const std::filesystem::path first = [] {
    Pack pack = fuzz_pack();
    pack.part_of = 2;
    const std::filesystem::path path = shard_path(input_file("shards/p.safetensors", ""), 0);
    write_pack(path, pack);
    return path;
  }();
  return taken([&] {
    input_file("shards/p-00001.safetensors", tensor_file_of(bytes));
    const Pack pack = read_pack(first.parent_path() / "p-*.safetensors");
    fingerprint(pack);
    slice(pack, 3, 2);
  });
}
std::vector<std::string> shards_seeds() {
  Pack pack = fuzz_pack();
  pack.part_of = 2;
  const std::filesystem::path path = input_file("seed-shard.safetensors", "");
  write_pack(path, pack);
  return {tensor_input_of(bytes_of(path))};
}

bool read_model_bytes(std::string_view bytes) {
  return taken([&] {
    const auto model = read_model(input_file("m.safetensors", tensor_file_of(bytes)));
    fingerprint(*model);
  });
}
std::vector<std::string> model_seeds() {
  std::vector<std::string> seeds;
  const auto add = [&](const Vae& model, torch::ScalarType weights) {
    const std::filesystem::path path = input_file("seed-model.safetensors", "");
    write_model(path, model, weights);
    seeds.push_back(tensor_input_of(bytes_of(path)));
  };
  for (const char* prior : {"mixture", "point_mass", "vamp", "normal"})
    add(*fuzz_model(prior), kFloat32);
  add(*fuzz_model("mixture", "stick_breaking"), torch::kBFloat16);
  return seeds;
}

bool read_refiner_bytes(std::string_view bytes) {
  return taken(
      [&] { read_refiner(input_file("r.safetensors", tensor_file_of(bytes)), known_model()); });
}
std::vector<std::string> refiner_seeds() {
  UnetOptions options;
  options.preset = "custom";
  options.width = 16;
  options.multipliers = {1};
  options.blocks = 1;
  const std::filesystem::path path = input_file("seed-refiner.safetensors", "");
  std::vector<std::string> seeds;
  for (const double guidance : {0.0, 1.5}) {
    write_refiner(path, Refiner(options, known_model(), Key(1), guidance));
    seeds.push_back(tensor_input_of(bytes_of(path)));
  }
  return seeds;
}

bool read_mixture_bytes(std::string_view bytes) {
  return taken([&] {
    const VectorMixture mixture = read_mixture(input_file("x.safetensors", tensor_file_of(bytes)));
    const torch::Tensor vectors = torch::zeros({1, 2}, kFloat64);
    require_vectors(mixture, vectors, "test");
    predict(mixture, vectors);
  });
}
std::vector<std::string> mixture_seeds() {
  FitConfig config;
  config.factors = {{"all", 2, 2, "", {}}};
  config.fit.iterations = 2;
  const std::filesystem::path path = input_file("seed-mixture.safetensors", "");
  write_mixture(path, fit_mixture(config, {normal64(Key(1), {20, 2})}).mixture);
  return {tensor_input_of(bytes_of(path))};
}

bool read_codes_bytes(std::string_view bytes) {
  return taken([&] {
    read_code_file(input_file("c.safetensors", tensor_file_of(bytes)), known_model(), false);
  });
}
std::vector<std::string> codes_seeds() {
  const Pack pack = fuzz_pack();
  std::vector<std::string> seeds;
  for (const bool packed : {false, true}) {
    const std::filesystem::path path = input_file("seed-codes.safetensors", "");
    const auto writer = open_code_file(path, known_model(), pack, {packed, true, true});
    writer->add(
        read_codes(known_model(), pack.images.gather(torch::arange(pack.count()))).on_cpu());
    writer->finish();
    seeds.push_back(tensor_input_of(bytes_of(path)));
  }
  return seeds;
}

/// The same codes in the formats of other programs.
std::string code_bytes(const std::string& name, bool packed) {
  const Pack pack = fuzz_pack();
  const std::filesystem::path path = input_file(name, "");
  const bool more = path.extension() != ".npy";  // which is one array
  const auto writer = open_code_file(path, known_model(), pack, {packed, more, more});
  writer->add(read_codes(known_model(), pack.images.gather(torch::arange(pack.count()))).on_cpu());
  writer->finish();
  return bytes_of(path);
}
bool read_code_table_bytes(std::string_view bytes) {
  return taken([&] { read_code_file(input_file("c.csv", bytes), known_model(), false); });
}
std::vector<std::string> code_table_seeds() {
  return {code_bytes("seed-codes.csv", false), code_bytes("seed-codes.csv", true)};
}
bool read_code_array_bytes(std::string_view bytes) {
  bool any = taken([&] { read_code_file(input_file("c.npz", bytes), known_model(), false); });
  for (const bool packed : {false, true})
    any |= taken([&] { read_code_file(input_file("c.npy", bytes), known_model(), packed); });
  return any;
}
std::vector<std::string> code_array_seeds() {
  std::vector<std::string> seeds;
  for (const char* ending : {"npz", "npy"})
    for (const bool packed : {false, true})
      seeds.push_back(code_bytes(std::string("seed-codes.") + ending, packed));
  return seeds;
}

/// An index of the images of fuzz_pack(), in which one file is replaced.
const std::filesystem::path& index_folder() {
  static const std::filesystem::path made = [] {
    const std::filesystem::path config = input_file("index-config.json", "{}"),
                                model = input_file("index-model.safetensors", ""),
                                folder = config.parent_path() / "index";
    write_model(model, known_model());
    const Pack pack = fuzz_pack();
    create_index(folder, known_model(), config, model, {pack, "a pack", true, {}}, 4, {});
    return folder;
  }();
  return made;
}
bool read_index_with(const std::string& name, std::string_view bytes) {
  index_folder();
  return taken([&] {
    input_file("index/" + name, tensor_file_of(bytes));
    const SearchIndex index = read_index(index_folder(), known_model());
    for (const IndexSegment& segment : index.segments)
      for (int64_t row = 0; row < segment.images; ++row) segment.image_name(row);
    // By the short list, and exactly among images with a value.
    const torch::Tensor latent = torch::zeros({known_model().prior.dimensions()});
    search_index(index, {latent, {true}, {}, 1, 1, false});
    search_index(index, {latent, {}, {1}, 2, 2, true});
  });
}
/// The input of a file of the index as it was made.
std::string index_seed(const std::string& name) {
  static std::map<std::string, std::string> seeds;
  if (seeds.empty())
    for (const auto& entry : std::filesystem::directory_iterator(index_folder()))
      if (entry.path().extension() == ".safetensors")
        seeds[entry.path().filename().string()] = tensor_input_of(bytes_of(entry.path()));
  return seeds.at(name);
}
constexpr const char* kSegment = "segment-0000.safetensors";
constexpr const char* kScan = "segment-0000.scan.safetensors";
void restore_index() {
  for (const char* name : {"index.safetensors", kSegment, kScan})
    input_file(std::string("index/") + name, tensor_file_of(index_seed(name)));
}
bool read_index_bytes(std::string_view bytes) {
  restore_index();
  return read_index_with("index.safetensors", bytes);
}
std::vector<std::string> index_seeds() { return {index_seed("index.safetensors")}; }
bool read_segment_bytes(std::string_view bytes) {
  restore_index();
  return read_index_with(kSegment, bytes);
}
std::vector<std::string> segment_seeds() { return {index_seed(kSegment)}; }
bool read_scan_bytes(std::string_view bytes) {
  restore_index();
  return read_index_with(kScan, bytes);
}
std::vector<std::string> scan_seeds() { return {index_seed(kScan)}; }

}  // namespace

std::vector<FuzzTarget> tensor_targets() {
  return {{"safetensors", read_safetensors_bytes, safetensors_seeds},
          {"pack", read_pack_bytes, pack_seeds},
          {"model", read_model_bytes, model_seeds},
          {"refiner", read_refiner_bytes, refiner_seeds},
          {"mixture", read_mixture_bytes, mixture_seeds},
          {"shards", read_shards_bytes, shards_seeds},
          {"codes", read_codes_bytes, codes_seeds},
          {"code_table", read_code_table_bytes, code_table_seeds},
          {"code_array", read_code_array_bytes, code_array_seeds},
          {"index", read_index_bytes, index_seeds},
          {"segment", read_segment_bytes, segment_seeds},
          {"scan", read_scan_bytes, scan_seeds}};
}

}  // namespace facet
