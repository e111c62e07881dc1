#include "facet/train/checkpoint.h"

#include <cstdlib>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/train/finite_check.h"

namespace facet {

namespace {

constexpr const char* format_name = "facet-state-1";

/// What belongs to every factor of a prior, with its name in the file.
template <class Parts>
NamedTensors prior_tensors(const FactorialMixture& prior, const Parts& parts) {
  NamedTensors tensors;
  for (size_t i = 0; i < prior.size(); ++i)
    for (const auto& [name, tensor] : parts[i].tensors())
      tensors.emplace_back(fmt::format("prior.{}.{}", prior.factors[i].name, name), tensor);
  return tensors;
}
NamedTensors posterior_tensors(const FactorialMixture& prior) {
  return prior_tensors(prior, prior.posteriors);
}
NamedTensors hyperprior_tensors(const FactorialMixture& prior) {
  return prior_tensors(prior, prior.hyperpriors);
}

std::string not_finite_tensor(const TensorFile& file) {
  for (const auto& [name, tensor] : file.tensors)
    if (tensor.is_floating_point() && !first_not_finite({{name, tensor}}).empty()) return name;
  return "";
}

void require_same_data(const TensorFile& file, const char* key, const std::string& data,
                       const std::string& object) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end() || found->second == data) return;
  const std::string what = std::string(key) == "data" ? "" : "labels with checksum ";
  Attempt{"continuing the run of", object}.fail(
      what + data, fmt::format("the {} that it was begun with, {}", key, found->second),
      "was the pack made anew or replaced?");
}

}  // namespace

void write_checkpoint(const RunFolder& folder, const Vae& model, const Adam& adam,
                      const WeightAverage* average, const Progress& progress,
                      const TrainedOn& data) {
  TensorFile file;
  for (const auto& [name, tensor] : model.parameters()) file.tensors["network." + name] = tensor;
  for (const auto& [name, tensor] : posterior_tensors(model.prior)) file.tensors[name] = tensor;
  for (const auto& [name, tensor] : hyperprior_tensors(model.prior)) file.tensors[name] = tensor;
  file.tensors["adam.first"] = adam.moments().first;
  file.tensors["adam.second"] = adam.moments().second;
  for (const auto& [name, optimizer] : model.strategy().optimizers()) {
    file.tensors[fmt::format("named.{}.first", name)] = optimizer.moments().first;
    file.tensors[fmt::format("named.{}.second", name)] = optimizer.moments().second;
    file.tensors[fmt::format("named.{}.steps", name)] = torch::tensor({optimizer.steps()});
  }
  if (average) average->store(file);
  for (const auto& [name, tensor] : progress.state) file.tensors[name] = tensor;
  file.tensors["metrics.sums"] = progress.sums;
  file.tensors["progress"] = torch::tensor(
      {static_cast<int64_t>(progress.phase), progress.step, progress.metrics.lines, adam.steps()});
  file.metadata["format"] = format_name;
  file.metadata["data"] = data.images;
  if (!data.labels.empty()) file.metadata["labels"] = data.labels;
  file.metadata["metrics"] = progress.metrics.checksum;
  if (progress.joint_steps) file.metadata["joint_steps"] = std::to_string(*progress.joint_steps);
  if (const std::string name = not_finite_tensor(file); !name.empty())
    throw NotFinite({.doing = "saving a checkpoint of",
                     .object = folder.path.string(),
                     .found = fmt::format("NaN or infinity in {}", name),
                     .expected = "finite numbers",
                     .cause = "the last good checkpoint is unchanged"});
  AtomicFile output(folder.state(), "saving a checkpoint");
  write_safetensors(output, file, "saving a checkpoint");
  output.commit_keeping(folder.previous_state());
}

Progress read_checkpoint(const std::filesystem::path& path, Vae& model, Adam& adam,
                         WeightAverage* average, const NamedTensors& state, const TrainedOn& data) {
  torch::NoGradGuard no_gradient;
  const std::string object = path.string();
  const TensorFile file = read_safetensors(path, "reading a checkpoint");
  if (const auto found = file.metadata.find("format");
      found == file.metadata.end() || found->second != format_name)
    throw Error({.doing = "reading a checkpoint",
                 .object = object,
                 .found = "another kind of file",
                 .expected = fmt::format("format '{}'", format_name),
                 .cause = "is the file damaged, or from another version?"});
  require_same_data(file, "data", data.images, object);
  if (!data.labels.empty()) require_same_data(file, "labels", data.labels, object);
  if (const std::string name = not_finite_tensor(file); !name.empty())
    throw NotFinite({.doing = fmt::format("reading tensor '{}' of", name),
                     .object = object,
                     .found = "NaN or infinity",
                     .expected = "finite numbers",
                     .cause = "did training diverge?"});
  for (const auto& [name, parameter] : model.parameters())
    parameter.copy_(
        file.get("network." + name, parameter.scalar_type(), parameter.sizes(), object));
  for (const auto& [name, tensor] : posterior_tensors(model.prior))
    tensor.copy_(file.get(name, kFloat64, tensor.sizes(), object));
  // States of version 0.1 have no hyperprior of their own: the options' numbers hold.
  for (const auto& [name, tensor] : hyperprior_tensors(model.prior))
    if (file.tensors.contains(name)) tensor.copy_(file.get(name, kFloat64, tensor.sizes(), object));
  const torch::Tensor progress = file.get("progress", kInt64, {4}, object);
  const auto number = [&](int64_t index) { return progress[index].item<int64_t>(); };
  if (number(0) < 0 || number(0) > static_cast<int64_t>(Phase::done) || number(1) < 0 ||
      number(2) < 0 || number(3) < 0)
    throw Error({.doing = "reading a checkpoint",
                 .object = object,
                 .found = fmt::format("phase {} step {}", number(0), number(1)),
                 .expected = "a phase from 0 to 3 and a step of at least 0",
                 .cause = "is the file damaged?"});
  const std::vector<int64_t> flat = adam.moments().first.sizes().vec();
  adam.restore(number(3), {file.get("adam.first", kFloat32, flat, object),
                           file.get("adam.second", kFloat32, flat, object)});
  for (auto& [name, optimizer] : model.strategy().optimizers()) {
    const auto size = optimizer.moments().first.sizes();
    const auto tensor = [&](const char* part, torch::ScalarType type, torch::IntArrayRef shape) {
      return file.get(fmt::format("named.{}.{}", name, part), type, shape, object);
    };
    optimizer.restore(tensor("steps", kInt64, {1}).item<int64_t>(),
                      {tensor("first", kFloat64, size), tensor("second", kFloat64, size)});
  }
  if (average) average->restore(file, object);
  for (const auto& [name, tensor] : state)
    tensor.copy_(file.get(name, tensor.scalar_type(), tensor.sizes(), object));
  Progress result{.phase = static_cast<Phase>(number(0)),
                  .step = number(1),
                  .metrics = {.lines = number(2)},
                  .sums = file.get("metrics.sums", kFloat64, {-1}, object).clone(),
                  .state = state};
  if (const auto found = file.metadata.find("metrics"); found != file.metadata.end())
    result.metrics.checksum = found->second;
  if (const auto found = file.metadata.find("joint_steps"); found != file.metadata.end())
    result.joint_steps = std::atoll(found->second.c_str());
  return result;
}

}  // namespace facet
