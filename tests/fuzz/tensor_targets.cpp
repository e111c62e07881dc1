#include <map>
#include <memory>

#include "facet/core/file.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/data/pack.h"
#include "facet/fit/fit_mixture.h"
#include "facet/fit/vector_mixture.h"
#include "facet/model/fingerprint.h"
#include "facet/model/model_file.h"
#include "facet/model/refiner.h"
#include "facet/search/code_file.h"
#include "facet/search/index_file.h"
#include "tests/close.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/tensor_input.h"

namespace facet {
namespace {

std::shared_ptr<Vae> fuzz_model(const std::string& prior = "mixture") {
  ModelOptions options;
  options.prior = prior;
  options.network.preset = "custom";
  options.network.channels = {2};
  options.network.strides = {2};
  options.factors = {{"first", 3, 2, "", {}}};
  return std::make_shared<Vae>(options, ImageShape{1, 4, 4}, Key(1));
}
const Vae& known_model() {
  static const std::shared_ptr<Vae> model = fuzz_model();
  return *model;
}

bool read_safetensors_bytes(std::string_view bytes) {
  return taken([&] {
    const std::filesystem::path path = input_file("any.safetensors", bytes);
    has_checksums(path, "reading");
    for (const auto& [name, tensor] : read_safetensors(path, "reading").tensors)
      if (tensor.numel() > 0) (void)tensor.clone();
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
  return {written, tensor_file_of(tensor_input_of(written))};
}

Pack fuzz_pack() {
  Pack pack;
  pack.images = ImageRows(torch::arange(4 * 16, kUInt8).view({4, 1, 4, 4}));
  pack.labels = torch::tensor({0, 1, -1, 0}, kInt32).view({4, 1});
  pack.split = torch::tensor({0, 0, 1, 2}, kUInt8);
  pack.properties = {{"hair", {"red", "black"}}};
  pack.origin = "a test";
  return pack;
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

bool read_model_bytes(std::string_view bytes) {
  return taken([&] {
    const auto model = read_model(input_file("m.safetensors", tensor_file_of(bytes)));
    fingerprint(*model);
  });
}
std::vector<std::string> model_seeds() {
  std::vector<std::string> seeds;
  for (const char* prior : {"mixture", "point_mass"}) {
    const std::filesystem::path path = input_file("seed-model.safetensors", "");
    write_model(path, *fuzz_model(prior));
    seeds.push_back(tensor_input_of(bytes_of(path)));
  }
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
  write_refiner(path, Refiner(options, ImageShape{1, 4, 4}, fingerprint(known_model()), Key(1)));
  return {tensor_input_of(bytes_of(path))};
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
    writer->add(read_codes(known_model(), pack.images.gather(torch::arange(4))).on_cpu());
    writer->finish();
    seeds.push_back(tensor_input_of(bytes_of(path)));
  }
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
bool read_index_bytes(std::string_view bytes) {
  input_file(std::string("index/") + kSegment, tensor_file_of(index_seed(kSegment)));
  return read_index_with("index.safetensors", bytes);
}
std::vector<std::string> index_seeds() { return {index_seed("index.safetensors")}; }
bool read_segment_bytes(std::string_view bytes) {
  input_file("index/index.safetensors", tensor_file_of(index_seed("index.safetensors")));
  return read_index_with(kSegment, bytes);
}
std::vector<std::string> segment_seeds() { return {index_seed(kSegment)}; }

}  // namespace

std::vector<FuzzTarget> tensor_targets() {
  return {{"safetensors", read_safetensors_bytes, safetensors_seeds},
          {"pack", read_pack_bytes, pack_seeds},
          {"model", read_model_bytes, model_seeds},
          {"refiner", read_refiner_bytes, refiner_seeds},
          {"mixture", read_mixture_bytes, mixture_seeds},
          {"codes", read_codes_bytes, codes_seeds},
          {"index", read_index_bytes, index_seeds},
          {"segment", read_segment_bytes, segment_seeds}};
}

}  // namespace facet
