// Inputs that must be refused, one for each thing that can be wrong with a file or a request, as
// far as variations of the seeds do not come to it by themselves. Most are a seed with one change.
#include <map>

#include "facet/core/json.h"
#include "facet/data/npy_format.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/tensor_input.h"

namespace facet {
namespace {

std::string first_seed(const std::string& target) { return fuzz_target(target).seeds().front(); }

/// The text with one part replaced, which it must have.
std::string replaced(std::string text, const std::string& part, const std::string& by) {
  return text.replace(text.find(part), part.size(), by);
}

/// A seed of a safetensors file (tensor_input.h) that is to be changed.
class Changed {
 public:
  explicit Changed(const std::string& target, size_t seed = 0) {
    const std::string input = fuzz_target(target).seeds().at(seed);
    const size_t end = input.find('\0');
    header_ = Json::parse(input.substr(0, end));
    data_ = input.substr(end + 1);
  }

  Changed& metadata(const std::string& key, const std::string& value) {
    header_["__metadata__"][key] = value;
    return *this;
  }
  /// The same for a value of the options that the metadata have as text.
  Changed& option(const std::string& key, const std::string& pointer, const Json& value) {
    Json options = Json::parse(header_["__metadata__"][key].get<std::string>());
    options[Json::json_pointer(pointer)] = value;
    return metadata(key, options.dump());
  }
  /// All bytes of a tensor.
  Changed& fill(const std::string& tensor, char byte) {
    const Json& offsets = header_[tensor]["data_offsets"];
    const auto begin = offsets[0].get<size_t>(), end = offsets[1].get<size_t>();
    std::fill(data_.begin() + static_cast<long>(begin), data_.begin() + static_cast<long>(end),
              byte);
    return *this;
  }
  Changed& shape(const std::string& tensor, const Json& shape) {
    header_[tensor]["shape"] = shape;
    return *this;
  }
  Changed& rename(const std::string& from, const std::string& to) {
    header_[to] = header_[from];
    header_.erase(from);
    return *this;
  }
  operator std::string() const { return header_.dump() + '\0' + data_; }

 private:
  Json header_;
  std::string data_;
};

std::string tensor_header(const std::string& json) { return tensor_file_of(json); }

std::vector<std::string> refused_tensors() {
  return {tensor_header(R"({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})"),
          tensor_header(R"({"a": {"dtype": "F32", "shape": [1099511627776, 1099511627776],
                                   "data_offsets": [0, 4]}})"),
          tensor_header(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})"),
          tensor_header(R"({"a": {"dtype": "F32", "shape": 3, "data_offsets": [0, 4]}})"),
          tensor_header(R"({"__metadata__": []})"),
          tensor_header(R"({"__metadata__": {"a": 1}})"),
          tensor_header(std::string(40, '[') + std::string(40, ']')),
          tensor_header("[]")};
}

std::vector<std::string> refused_packs() {
  return {Changed("pack").metadata("format", "x"),
          Changed("pack").metadata("properties", "[{\"name\": 3}]"),
          Changed("pack").metadata("properties", "[{\"name\": \"a\", \"values\": [3]}]"),
          Changed("pack").metadata("properties", "3"),
          Changed("pack").metadata("properties", "[]"),
          Changed("pack").metadata("part_of", "x"),
          Changed("pack").metadata("table", "{}"),
          Changed("pack").option("table", "/file_column", 7),
          Changed("pack").fill("split", 1),  // none to train with
          Changed("pack").fill("split", 3),
          Changed("pack").fill("labels", 9),
          Changed("pack").fill("files.ends", 9),
          Changed("pack").shape("images", {3, 2, 4, 4}),
          Changed("pack").rename("images", "x")};
}

std::vector<std::string> refused_shards() {
  return {Changed("shards").shape("images", {6, 1, 2, 8}),
          Changed("shards").option("properties", "/0/name", "hat"),
          Changed("shards").rename("files", "x"),
          Changed("shards").option("table", "/columns/1", "hat"),
          Changed("shards").metadata("part_of", "3"),
          Changed("shards").metadata("part_of", "1")};
}

std::vector<std::string> refused_models() {
  return {Changed("model").metadata("format", "x"),
          Changed("model").fill("prior.first.s", '\xFF'),  // NaN
          Changed("model").fill("prior.first.s", 0),
          Changed("model").option("model", "/network/channels/0", 1000),
          Changed("model", 2).option("shape", "/height", 1 << 20),
          Changed("model").option("model", "/factors/0/name", "other"),
          Changed("model").option("model", "/prior", "none")};
}

std::vector<std::string> refused_refiners() {
  return {Changed("refiner").metadata("format", "x"), Changed("refiner").metadata("model", "x"),
          Changed("refiner").option("shape", "/height", 5),
          Changed("refiner").option("network", "/multipliers", {16, 16}),
          Changed("refiner").fill("output.bias", '\xFF')};
}

std::vector<std::string> refused_mixtures() {
  return {Changed("mixture").metadata("format", "x"),
          Changed("mixture").fill("vectors.shift", '\xFF'),
          Changed("mixture").fill("vectors.scale", 0)};
}

std::vector<std::string> refused_codes() {
  return {Changed("codes").metadata("model", "x"), Changed("codes").fill("codes", 9),
          Changed("codes").rename("codes", "x"), Changed("codes").shape("codes", {3, 2}),
          Changed("codes").fill("files.ends", 9)};
}

std::vector<std::string> refused_indexes() {
  const Json second = {// whose file is not there
                       {"name", "segment-0001"},
                       {"images", 1},
                       {"source", "x"},
                       {"from_pack", false}};
  return {Changed("index").metadata("model", "x"),
          Changed("index").metadata("format", "x"),
          Changed("index").option("segments", "/1", second),
          Changed("index").metadata("segments", "[]"),
          Changed("index").metadata("segments", "{"),
          Changed("index").fill("quantizer.mean", '\x7F'),
          Changed("index").fill("quantizer.begins", 1)};
}

std::vector<std::string> refused_states() {
  return {
      Changed("state").metadata("format", "x"),      Changed("state").metadata("data", "others"),
      Changed("state").metadata("labels", "others"), Changed("state").fill("progress", 9),
      Changed("state").fill("adam.first", '\xFF'),   Changed("state").rename("adam.second", "x")};
}

std::vector<std::string> refused_arrays() {
  std::string cut = first_seed("npy");
  cut.resize(40);
  return {npy_header(">f4", {1, 1}) + "1234",
          npy_header("<f4", {int64_t{1} << 40, int64_t{1} << 40}),
          npy_header("<c8", {1, 1}) + "12345678",
          npy_header("<f4", {0, 2}),
          npy_header("<f4", {1, 1, 1}) + "1234",
          npy_header("<i4", {3, 0}),
          npy_header("<i4", {4}) + std::string(16, '\1'),
          npy_header("<i4", {3, 1, 1}) + std::string(12, '\1'),
          npy_header("<U1", {1, 1}) + std::string("a\0\0\0", 4),
          cut};
}

std::vector<std::string> refused_settings() {
  return {"train.batch_size=1e300",
          "train.batch_size=1e17",
          "train.batch_size=18446744073709551615",
          "train.batch_size=1.5",
          "train.batch_size=true",
          "train.average_decay=2",
          "train.average_decay=\"x\"",
          "model.prior=none",
          "model.prior=points",
          "train.joint.hold_steps=3",
          "train.joint.untangled=3",
          "train=3",
          "model.factors=3",
          "model.factors=[3]",
          "model.factors.7.name=a",
          "model.network.channels=[\"a\"]",
          "seed..x=1",
          "seed.x.y=1",
          "=1",
          "seed=\xFF",
          "seed={\"a\": 1, \"a\": 2}",
          "seed=" + std::string(80, '[') + std::string(80, ']'),
          "data.pack=" + std::string(90, 'x') + "\nseed=[\"" + std::string(90, 'x') + "\"]",
          "?a",
          "?a=",
          "?a=1,,2",
          "?5/4",
          "?1/0",
          "?slurm",
          "?slurm 9 1 4",
          "?slurm x 1 4",
          "?a:x",
          "?splits=middle"};
}

std::vector<std::string> refused_configs() {
  return {R"({"train": {"joint": {"hold_steps": 1, "freeze_prior_steps": 2}}})", "[1]", "{",
          R"({"seed": 1e999})", R"({"train": {"unknown": 1}})"};
}

std::vector<std::string> refused_sweeps() {
  return {
      R"({"config": {}, "vary": []})", R"({"config": {}})",
      R"({"config": {}, "vary": [{"key": "seed", "values": [1, 1]}]})",
      R"({"config": {}, "vary": [{"key": "seed", "values": [1]}, {"key": "seed", "values": [2]}]})",
      replaced(first_seed("sweep"), "[1,2]", "[1,\"x\"]")};
}

std::vector<std::string> refused_names() {
  const auto named = [](const std::string& entry) {
    return R"({"factors": {"first": )" + entry + "}}";
  };
  return {named(R"({"components": {"7": "red"}})"),
          named(R"({"components": {"0": "a", "1": "a"}})"),
          named(R"({"name": "12"})"),
          named(R"({"name": "a=b"})"),
          named(R"({"name": 3})"),
          R"({"factors": {"other": {"name": "x"}}})",
          "{",
          named(R"({"components": {"x": "a"}})")};
}

std::vector<std::string> refused_surveys() {
  Json none = Json::parse(first_seed("survey")), twice = none, choices = none, outside = none;
  none["items"] = Json::array();
  twice["items"] = {"a0", "a0"};
  choices["questions"][0]["choices"].erase(0);
  choices["questions"][0]["choices"].erase(0);
  outside["items"][0] = "../key";
  return {none.dump(), twice.dump(), choices.dump(), outside.dump()};
}

std::vector<std::string> refused_keys() {
  Json fewer = Json::parse(first_seed("survey_key")), other = fewer;
  fewer["items"].erase(0);
  other["survey"] = "00";
  return {fewer.dump(), other.dump()};
}

std::vector<std::string> refused_http() {
  const std::string host = " HTTP/1.1\r\nHost: localhost\r\n",
                    post = "POST /api/v1/generate" + host;
  return {"GET /" + std::string(9000, 'x') + host + "\r\n",
          post + "Transfer-Encoding: chunked\r\n\r\n",
          "GET /api/v1/model" + host + "Sec-Fetch-Site: cross-site\r\n\r\n",
          "GET /api/v1/model" + host + "Content-Length: 3\r\n\r\nabc",
          "GET /api/v1/generate" + host + "\r\n",
          "GET / HTTP/1.1\r\nHost: elsewhere.org\r\n\r\n",
          post + "\r\n",
          post + "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
          "POST /api/v1/encode" + host + "Content-Type: text/plain \r\nContent-Length: 2\r\n\r\n{}",
          post + "Content-Type: application/json\r\nContent-Length: 9999999\r\n\r\n",
          "GET / HTTP/1.1\r\n" + std::string(20000, 'a') + "\r\n\r\n"};
}

std::vector<std::string> refused_requests() {
  const auto generate = [](const std::string& state) {
    return "generate\n{\"states\": [" + state + "]}";
  };
  return {
      "nothing",
      "model?x=1",
      "atlas",
      "atlas?factor=none",
      "atlas?factor=hair&scale=100",
      "atlas?factor=hair&factor=hair",
      "images?order=none",
      "images?count=x",
      "generate",
      "generate\n" + std::string(30, '[') + std::string(30, ']'),
      generate("{\"seed\": 1e300}"),
      generate("{\"seed\": 18446744073709551615}"),
      generate("{\"seed\": true}"),
      generate("{\"seed\": null}"),
      generate("{\"seed\": {}}"),
      generate("{\"seed\": \"" + std::string(90, 'x') + "\"}"),
      generate("{\"temperature\": 9}"),
      generate("{\"factors\": {\"a\": {}, \"b\": {}, \"c\": {}, \"d\": {}}}"),
      generate("{\"factors\": {\"hair\": {\"offsets\": [{\"dimension\": 0, \"stddevs\": 1}, "
               "{\"dimension\": 0.0, \"stddevs\": 1}]}}}"),
      "generate\n{\"states\": [{}, {}], \"format\": \"png\"}",
      "generate\n{\"states\": [{}], \"format\": \"gif\"}",
      "decode\n{\"z\": [[1]]}",
      "edit\n{\"z\": [0, 0, 0, 0, 0, 0, 0], \"edits\": [{\"changes\": {}, \"keep_offset\": 1}]}",
      "encode\nno picture",
      "names\n{\"factor\": \"hair\", \"name\": \"12\"}",
      "names\n{\"factor\": \"hair\", \"name\": \"glasses\"}",
      "labels\n{\"property\": \"hat\", \"value\": \"" + std::string(300, 'x') +
          "\", \"rows\": [0]}",
      "progress.png?phase=joint&step=9"};
}

std::vector<std::string> refused_survey_requests() {
  const std::string answer = fuzz_target("survey_api").seeds().back();
  return {"none",
          "picture?item=none",
          "survey?rater=",
          "survey?rater=%01",
          "survey?rater=" + std::string(90, 'x'),
          replaced(answer, "a1", "none"),
          replaced(answer, "\"hair\"", "\"hat\""),
          replaced(answer, "\"long\"", "\"blue\""),
          replaced(answer, "900", "-1"),
          replaced(answer, "anna", std::string(5000, 'x'))};
}

std::vector<std::string> refused_runs() {
  return {"run/two/api/v1/model",
          "api/v1/metrics?run=none",
          "api/v1/metrics?run=..",
          "run/none/api/v1/model",
          "run/one",
          "run/../api/v1/model",
          "nothing"};
}

std::vector<std::string> refused_code_tables() {
  const std::string packed = fuzz_target("code_table").seeds().back();
  return {"file,code\na.png,zz\n", "file,other\na.png,1\n", "file,first\na.png,9\n",
          packed.substr(0, packed.find('\n') + 1)};
}

}  // namespace

std::vector<std::string> refused_inputs(const std::string& target) {
  static const std::map<std::string, std::vector<std::string> (*)()> known = {
      {"safetensors", refused_tensors},
      {"pack", refused_packs},
      {"shards", refused_shards},
      {"model", refused_models},
      {"refiner", refused_refiners},
      {"mixture", refused_mixtures},
      {"codes", refused_codes},
      {"code_table", refused_code_tables},
      {"index", refused_indexes},
      {"state", refused_states},
      {"npy", refused_arrays},
      {"settings", refused_settings},
      {"config", refused_configs},
      {"sweep", refused_sweeps},
      {"names", refused_names},
      {"survey", refused_surveys},
      {"survey_key", refused_keys},
      {"http", refused_http},
      {"api", refused_requests},
      {"runs_api", refused_runs},
      {"survey_api", refused_survey_requests}};
  const auto found = known.find(target);
  return found == known.end() ? std::vector<std::string>() : found->second();
}

}  // namespace facet
