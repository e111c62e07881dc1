#include "facet/train/checkpoint.h"

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/safetensors.h"

namespace facet {

namespace {

constexpr const char* format_name = "facet-state-1";

/// The natural parameters of a factor with their names in the file.
std::vector<std::pair<std::string, torch::Tensor*>> prior_tensors(FactorPosterior& posterior,
                                                                  const std::string& factor) {
  const std::string prefix = fmt::format("prior.{}.", factor);
  return {{prefix + "log_alpha", &posterior.components.log_alpha},
          {prefix + "alpha", &posterior.components.alpha},
          {prefix + "alpha_mu", &posterior.components.alpha_mu},
          {prefix + "alpha_mu2", &posterior.components.alpha_mu2},
          {prefix + "counts", &posterior.counts}};
}

}  // namespace

const char* phase_name(Phase phase) {
  constexpr const char* names[] = {"pretrain", "initialise", "joint", "done"};
  return names[static_cast<size_t>(phase)];
}

void write_checkpoint(const std::filesystem::path& path, const Vae& model, const Adam& adam,
                      const NamedOptimizers& named, const WeightAverage* average,
                      const Progress& progress) {
  TensorFile file;
  for (const auto& parameter : model.named_parameters())
    file.tensors["network." + parameter.key()] = parameter.value();
  for (size_t i = 0; i < model.prior.size(); ++i) {
    FactorPosterior posterior = model.prior.posteriors[i];
    for (const auto& [name, tensor] : prior_tensors(posterior, model.prior.factors[i].name))
      file.tensors[name] = *tensor;
  }
  file.tensors["adam.first"] = adam.moments().first;
  file.tensors["adam.second"] = adam.moments().second;
  for (const auto& [name, optimizer] : named) {
    file.tensors[fmt::format("named.{}.first", name)] = optimizer.moments().first;
    file.tensors[fmt::format("named.{}.second", name)] = optimizer.moments().second;
    file.tensors[fmt::format("named.{}.steps", name)] = torch::tensor({optimizer.steps()});
  }
  if (average) average->store(file);
  file.tensors["metrics.sums"] = progress.sums;
  file.tensors["progress"] = torch::tensor(
      {static_cast<int64_t>(progress.phase), progress.step, progress.metrics_lines, adam.steps()});
  file.metadata["format"] = format_name;
  write_safetensors(path, file, "saving a checkpoint");
}

Progress read_checkpoint(const std::filesystem::path& path, Vae& model, Adam& adam,
                         NamedOptimizers& named, WeightAverage* average) {
  torch::NoGradGuard no_gradient;
  const std::string object = path.string();
  const TensorFile file = read_safetensors(path, "reading a checkpoint");
  if (const auto found = file.metadata.find("format");
      found == file.metadata.end() || found->second != format_name)
    throw Error({.doing = "reading a checkpoint",
                 .object = object,
                 .found = "a file of another kind",
                 .expected = fmt::format("format '{}'", format_name),
                 .cause = "is the file damaged, or from another version?"});
  for (auto& parameter : model.named_parameters())
    parameter.value().copy_(file.get("network." + parameter.key(), parameter.value().scalar_type(),
                                     parameter.value().sizes(), object));
  for (size_t i = 0; i < model.prior.size(); ++i)
    for (const auto& [name, tensor] :
         prior_tensors(model.prior.posteriors[i], model.prior.factors[i].name))
      tensor->copy_(file.get(name, torch::kFloat64, tensor->sizes(), object));
  const torch::Tensor progress = file.get("progress", torch::kInt64, {4}, object);
  const auto number = [&](int64_t index) { return progress[index].item<int64_t>(); };
  if (number(0) < 0 || number(0) > static_cast<int64_t>(Phase::done) || number(1) < 0 ||
      number(2) < 0 || number(3) < 0)
    throw Error({.doing = "reading a checkpoint",
                 .object = object,
                 .found = fmt::format("phase {} step {}", number(0), number(1)),
                 .expected = "a phase from 0 to 3 and a step",
                 .cause = "is the file damaged?"});
  const std::vector<int64_t> flat = adam.moments().first.sizes().vec();
  adam.restore(number(3), {file.get("adam.first", torch::kFloat32, flat, object),
                           file.get("adam.second", torch::kFloat32, flat, object)});
  for (auto& [name, optimizer] : named) {
    const auto size = optimizer.moments().first.sizes();
    const auto tensor = [&](const char* part, torch::ScalarType type, torch::IntArrayRef shape) {
      return file.get(fmt::format("named.{}.{}", name, part), type, shape, object);
    };
    optimizer.restore(
        tensor("steps", torch::kInt64, {1}).item<int64_t>(),
        {tensor("first", torch::kFloat64, size), tensor("second", torch::kFloat64, size)});
  }
  if (average) average->restore(file, object);
  return {static_cast<Phase>(number(0)), number(1), number(2),
          file.get("metrics.sums", torch::kFloat64, {-1}, object).clone()};
}

}  // namespace facet
