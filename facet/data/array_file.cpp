#include "facet/data/array_file.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/data/npy_read.h"
#include "facet/data/text_encoding.h"

namespace facet {

namespace {

/// The only tensor with two dimensions, or the one that was named.
torch::Tensor read_named_tensor(const std::filesystem::path& path, const std::string& name) {
  const Attempt reading{"reading vectors", path.string()};
  const TensorFile file = read_safetensors(path, reading.doing);
  std::vector<std::string> names, tables;
  for (const auto& [own_name, tensor] : file.tensors) {
    names.push_back(own_name);
    if (tensor.dim() == 2) tables.push_back(own_name);
  }
  if (!name.empty()) {
    const auto found = file.tensors.find(name);
    if (found != file.tensors.end()) return found->second;
    reading.fail(fmt::format("no tensor '{}'", name), "one of the file's", suggest(name, names));
  }
  if (tables.size() == 1) return file.tensors.at(tables.front());
  if (tables.empty()) reading.fail("no tensor with two dimensions", "one");
  if (tables.size() > 8) tables.resize(8);
  reading.fail("several tensors with two dimensions", "the name of one (--tensor)",
               fmt::format("the file has {}", fmt::join(tables, ", ")));
}

torch::Tensor read_npy_file(const std::filesystem::path& path) {
  const Attempt reading{"reading a .npy file", path.string()};
  const auto file = std::make_shared<MappedFile>(path, reading.doing);
  const torch::Tensor numbers = read_npy({file, 0, file->size()}, reading).numbers;
  if (!numbers.defined()) reading.fail("texts", "numbers");
  return numbers;
}

/// What stands behind each vector's number of dimensions.
struct VecsKind {
  const char* ending;
  torch::ScalarType type;
};
constexpr VecsKind vecs_kinds[] = {{".fvecs", kFloat32}, {".bvecs", kUInt8}, {".ivecs", kInt32}};

}  // namespace

torch::Tensor read_vecs(const std::filesystem::path& path) {
  const Attempt reading{"reading vectors", path.string()};
  const std::string ending = lower_case(path.extension().string());
  const auto kind = std::find_if(std::begin(vecs_kinds), std::end(vecs_kinds),
                                 [&](const VecsKind& one) { return ending == one.ending; });
  const auto file = std::make_shared<MappedFile>(path, reading.doing);
  const auto size = static_cast<int64_t>(file->size());
  if (size < 4)
    reading.fail(fmt::format("{} bytes", size), "a number of dimensions and a vector",
                 "was the file cut short?");
  const auto dimensions_at = [&](int64_t byte) {
    int32_t number = 0;
    std::memcpy(&number, file->data() + byte, 4);
    return int64_t{number};
  };
  const int64_t dimensions = dimensions_at(0);
  if (dimensions < 1)
    reading.fail(fmt::format("a vector of {} dimensions", dimensions), "at least 1",
                 fmt::format("is this a {} file?", ending));
  const auto element = static_cast<int64_t>(c10::elementSize(kind->type));
  const int64_t stride = 4 + dimensions * element;
  if (size % stride != 0)
    reading.fail(fmt::format("{} bytes", size),
                 fmt::format("a multiple of {}, for vectors of {} dimensions", stride, dimensions),
                 "was the file cut short, or is it of another kind?");
  const int64_t count = size / stride;
  for (int64_t row = 1; row < count; ++row)
    if (const int64_t own = dimensions_at(row * stride); own != dimensions)
      reading.fail(fmt::format("{} dimensions in vector {}", own, row),
                   fmt::format("{}, as in the first one", dimensions));
  // The numbers of dimensions become columns of the view, and are cut away.
  const int64_t prefix = 4 / element;
  return torch::from_blob(
             const_cast<std::byte*>(file->data()), {count, dimensions + prefix}, [file](void*) {},
             torch::TensorOptions().dtype(kind->type))
      .narrow(1, prefix, dimensions);
}

torch::Tensor read_array(const std::filesystem::path& path, const std::string& tensor) {
  const std::string ending = lower_case(path.extension().string());
  const Attempt reading{"reading vectors", path.string()};
  if (!tensor.empty() && ending != ".safetensors")
    reading.fail(fmt::format("the name of a tensor, '{}'", tensor),
                 "one for a .safetensors file only");
  if (ending == ".npy") return read_npy_file(path);
  if (ending == ".csv") return read_number_table(path);
  if (ending == ".safetensors") return read_named_tensor(path, tensor);
  for (const VecsKind& kind : vecs_kinds)
    if (ending == kind.ending) return read_vecs(path);
  reading.fail(ending.empty() ? "a name without an ending" : fmt::format("the ending '{}'", ending),
               kArrayEndings);
}

torch::Tensor read_vectors(const std::filesystem::path& path, const std::string& tensor) {
  const torch::Tensor array = read_array(path, tensor);
  const Attempt reading{"reading vectors", path.string()};
  if (array.dim() != 2)
    reading.fail(
        fmt::format("an array of {} dimension{}", array.dim(), array.dim() == 1 ? "" : "s"),
        "a table: one row per vector, one column per dimension");
  if (array.size(0) < 1 || array.size(1) < 1)
    reading.fail(fmt::format("{} vectors of {} dimensions", array.size(0), array.size(1)),
                 "at least one of each");
  return array;
}

Place first_not_finite(const torch::Tensor& vectors) {
  torch::NoGradGuard no_gradient;
  if (!vectors.is_floating_point()) return {};
  const int64_t rows = std::max<int64_t>(1, (int64_t{1} << 20) / vectors.size(1));
  for (int64_t begin = 0; begin < vectors.size(0); begin += rows) {
    const torch::Tensor part = vectors.narrow(0, begin, std::min(rows, vectors.size(0) - begin));
    // The sum of finite numbers is finite but for an overflow, which the second look rules out.
    if (std::isfinite(part.sum(kFloat64).item<double>())) continue;
    const torch::Tensor bad = torch::isfinite(part).logical_not().nonzero();
    if (bad.size(0) == 0) continue;
    return {begin + bad[0][0].item<int64_t>(), bad[0][1].item<int64_t>()};
  }
  return {};
}

}  // namespace facet
