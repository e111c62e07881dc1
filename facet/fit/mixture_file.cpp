// The file of a fitted mixture. It has the tensors of a model's prior, so that what reads one reads
// the other, in the units of the vectors.
#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/fit/fit_options.h"
#include "facet/fit/vector_mixture.h"

namespace facet {

namespace {

constexpr const char* format_name = "facet-mixture-1";

/// What rebuilds the mixture, as stored in the metadata.
struct MixtureOptions {
  std::vector<FactorOptions> factors;
  std::string weights = "dirichlet";
  int64_t vectors = 0;

  void visit(OptionVisitor& visitor) {
    visitor.option("factors", factors, "The factors.");
    visitor.option("weights", weights, "The prior of the weights.",
                   one_of({"dirichlet", "stick_breaking"}));
    visitor.option("vectors", vectors, "Number of vectors that it was fitted to.", at_least(0));
  }
};

class MixtureReader {
 public:
  explicit MixtureReader(const std::filesystem::path& path)
      : object_(path.string()), file_(read_safetensors(path, "reading a mixture")) {
    const std::string found = metadata("format");
    if (found != format_name)
      Attempt{"reading a mixture", object_}.fail(fmt::format("format '{}'", found),
                                                 fmt::format("'{}'", format_name),
                                                 "was it made by 'facet fit'?");
  }

  VectorMixture read() const {
    MixtureOptions options;
    read_options(options, parse_config(metadata("mixture"), object_), object_, OldNames::accept);
    // Checked before anything of these sizes is allocated.
    for (const FactorOptions& factor : options.factors)
      tensor(fmt::format("prior.{}.m", factor.name), {factor.components, factor.dimensions});
    VectorMixture result{FactorialMixture(options.factors, Hyperprior{}, torch::kCPU,
                                          options.weights == "stick_breaking")};
    const int64_t dimensions = result.mixture.dimensions();
    result.shift = tensor("vectors.shift", {dimensions}).clone();
    result.scale = positive("vectors.scale", {dimensions}).clone();
    result.vectors = options.vectors;
    for (size_t i = 0; i < result.mixture.size(); ++i) read_factor(result, i);
    return result;
  }

 private:
  std::string metadata(const char* key) const {
    const auto found = file_.metadata.find(key);
    return found == file_.metadata.end() ? "" : found->second;
  }
  const torch::Tensor& tensor(const std::string& name, torch::IntArrayRef shape) const {
    const torch::Tensor& stored = file_.get(name, kFloat64, shape, object_);
    if (!torch::isfinite(stored).all().item<bool>())
      Attempt{fmt::format("reading tensor '{}' of", name), object_}.fail(
          "NaN or infinite values", "finite values", "is the file damaged?");
    return stored;
  }
  const torch::Tensor& positive(const std::string& name, torch::IntArrayRef shape) const {
    const torch::Tensor& stored = tensor(name, shape);
    if (!stored.gt(0).all().item<bool>())
      Attempt{fmt::format("reading tensor '{}' of", name), object_}.fail(
          "values at or below zero", "positive values", "is the file damaged?");
    return stored;
  }

  void read_factor(VectorMixture& result, size_t i) const {
    const FactorOptions& factor = result.mixture.factors[i];
    const std::string prefix = fmt::format("prior.{}.", factor.name);
    const int64_t begin = result.mixture.block_begin(i);
    const torch::Tensor shift = result.shift.narrow(0, begin, factor.dimensions),
                        scale = result.scale.narrow(0, begin, factor.dimensions);
    const std::vector<int64_t> shape = {factor.components, factor.dimensions};
    result.mixture.posteriors[i].assign(FactorPosterior::from_mean(
        {(tensor(prefix + "m", shape) - shift) / scale, positive(prefix + "s", shape),
         positive(prefix + "a", shape), positive(prefix + "b", shape) / scale.square()},
        positive(prefix + "c", {factor.components})));
    FactorHyperprior& hyperprior = result.mixture.hyperpriors[i];
    for (const auto& [name, own] : hyperprior.tensors())
      own.copy_(name == "m0" ? tensor(prefix + name, own.sizes())
                             : positive(prefix + name, own.sizes()));
    hyperprior.components.m.sub_(shift).div_(scale);
    hyperprior.components.b.div_(scale.square());
  }

  std::string object_;
  TensorFile file_;
};

}  // namespace

bool is_mixture_format(const std::string& format) { return format == format_name; }

void write_mixture(const std::filesystem::path& path, const VectorMixture& mixture) {
  TensorFile file;
  file.tensors["vectors.shift"] = mixture.shift;
  file.tensors["vectors.scale"] = mixture.scale;
  for (size_t i = 0; i < mixture.mixture.size(); ++i) {
    const std::string prefix = fmt::format("prior.{}.", mixture.mixture.factors[i].name);
    const NormalGamma components = components_of(mixture, i), own = hyperprior_of(mixture, i);
    file.tensors[prefix + "m"] = components.m;
    file.tensors[prefix + "s"] = components.s;
    file.tensors[prefix + "a"] = components.a;
    file.tensors[prefix + "b"] = components.b;
    file.tensors[prefix + "c"] = mixture.mixture.posteriors[i].counts;
    for (const auto& [name, tensor] : mixture.mixture.hyperpriors[i].tensors())
      file.tensors[prefix + name] = name == "m0" ? own.m : name == "b0" ? own.b : tensor;
  }
  MixtureOptions options{mixture.mixture.factors, "dirichlet", mixture.vectors};
  for (const FactorHyperprior& hyperprior : mixture.mixture.hyperpriors)
    if (hyperprior.concentration.defined()) options.weights = "stick_breaking";
  file.metadata = {{"format", format_name}, {"mixture", write_options(options).dump()}};
  write_safetensors(path, file, "saving the mixture");
}

VectorMixture read_mixture(const std::filesystem::path& path) { return MixtureReader(path).read(); }

}  // namespace facet
