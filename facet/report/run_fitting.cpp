#include "facet/report/run_fitting.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/array_file.h"
#include "facet/data/csv_write.h"
#include "facet/fit/fit_evaluation.h"
#include "facet/fit/fit_mixture.h"
#include "facet/train/run_folder.h"
#include "facet/train/run_lock.h"

namespace facet {

namespace {

namespace fs = std::filesystem;

/// Rows of a table that are in memory at a time.
constexpr int64_t rows_at_a_time = 4096;

std::string absolute(const std::string& path) {
  return path.empty() ? path : fs::absolute(path).lexically_normal().string();
}

/// "FACTOR=COLUMN" as the property of the factor.
void name_factor(std::vector<FactorOptions>& factors, const std::string& text) {
  const Attempt naming{"naming a factor", text};
  const size_t equals = text.find('=');
  if (equals == std::string::npos)
    naming.fail("no '='", "FACTOR=COLUMN, where COLUMN is one of the labels");
  const std::string name = text.substr(0, equals);
  std::vector<std::string> known;
  for (FactorOptions& factor : factors) {
    known.push_back(factor.name);
    if (factor.name != name) continue;
    factor.property = text.substr(equals + 1);
    return;
  }
  naming.fail(fmt::format("no factor '{}'", name), "one of the factors", suggest(name, known));
}

/// Gives a named factor the values of its property, one component each. `unspecified` is the number
/// of components that a factor has if the user named none.
void take_values(FactorOptions& factor, const VectorLabels& labels, int64_t unspecified) {
  const Attempt naming{fmt::format("naming factor '{}' by", factor.name), factor.property};
  std::vector<std::string> known;
  for (const Property& property : labels.properties) {
    known.push_back(property.name);
    if (property.name != factor.property) continue;
    const auto values = static_cast<int64_t>(property.values.size());
    if (values == 0) naming.fail("no known label", "at least one");
    if (factor.components != values && factor.components != unspecified)
      naming.fail(fmt::format("{} components", factor.components),
                  fmt::format("{}, one for each value of the labels", values));
    factor.components = values;
    factor.values = property.values;
    return;
  }
  naming.fail("no such column in the labels", known.empty() ? "--labels FILE" : "one of them",
              known.empty() ? "" : suggest(factor.property, known));
}

/// The config with everything filled in that the files say.
FitConfig completed(const FitRequest& request, const torch::Tensor& vectors,
                    const VectorLabels& labels) {
  FitConfig config = request.config;
  if (config.factors.empty()) {
    FactorOptions all;
    all.name = "all";
    all.dimensions = vectors.size(1);
    all.components = request.components;
    config.factors.push_back(all);
  }
  for (const std::string& name : request.names) name_factor(config.factors, name);
  for (FactorOptions& factor : config.factors)
    if (factor.named()) take_values(factor, labels, request.components);
  for (std::string* path : {&config.vectors.file, &config.vectors.labels, &config.vectors.start})
    *path = absolute(*path);
  return config;
}

void write_evaluation(const RunFolder& folder, const FitSummary& summary) {
  Json json = to_json(summary.evaluation);
  json["bound"] = summary.bound;
  json["iterations"] = summary.iterations;
  json["converged"] = summary.converged;
  write_text(folder.evaluation(), json.dump(2) + "\n", "writing the evaluation");
}

VectorLabels labels_or_none(const std::string& path, int64_t vectors) {
  return path.empty() ? VectorLabels{} : read_vector_labels(path, vectors);
}

fs::path model_of(const fs::path& run) {
  return run.extension() == ".safetensors" && !fs::is_directory(run) ? run : RunFolder{run}.model();
}

void require_fit_run(const fs::path& run) {
  if (is_fit_run(run)) return;
  Attempt{"opening a run", run.string()}.fail(
      fs::exists(run) ? "no run of 'facet fit'" : "no such folder",
      "a folder made by 'facet fit --out'");
}

/// Writes a CSV row by row, so that memory does not grow with their number.
class PredictionTable {
 public:
  PredictionTable(const PredictRequest& request, const FactorialMixture& mixture)
      : file_(request.output, "writing predictions"), every_(request.every_probability) {
    std::string header = "vector";
    for (const FactorOptions& factor : mixture.factors) {
      header +=
          "," + csv_cell(factor.name, ',') + "," + csv_cell(factor.name + " probability", ',');
      for (int64_t k = 0; every_ && k < factor.components; ++k)
        header += "," + csv_cell(factor.name + "=" + factor.component_name(k), ',');
    }
    file_.write(header + ",log density\n");
  }

  void add(int64_t begin, const VectorMixture& mixture, const torch::Tensor& vectors) {
    const Prediction prediction = predict(mixture, vectors);
    std::vector<torch::Tensor> all;
    for (size_t i = 0; every_ && i < mixture.mixture.size(); ++i)
      all.push_back(predict_probabilities(mixture, i, vectors).contiguous());
    const auto components = prediction.components.accessor<int64_t, 2>();
    const auto probabilities = prediction.probabilities.accessor<double, 2>();
    const auto density = prediction.log_density.accessor<double, 1>();
    std::string text;
    for (int64_t n = 0; n < vectors.size(0); ++n) {
      text += std::to_string(begin + n);
      for (size_t i = 0; i < mixture.mixture.size(); ++i) {
        const auto column = static_cast<int64_t>(i);
        const FactorOptions& factor = mixture.mixture.factors[i];
        text +=
            fmt::format(",{},{:.4f}", csv_cell(factor.component_name(components[n][column]), ','),
                        probabilities[n][column]);
        for (int64_t k = 0; every_ && k < factor.components; ++k)
          text += fmt::format(",{:.4f}", all[i].data_ptr<double>()[n * factor.components + k]);
      }
      text += fmt::format(",{:.6g}\n", density[n]);
      sum_ += density[n];
    }
    file_.write(text);
  }

  double finish() {
    file_.commit();
    return sum_;
  }

 private:
  AtomicFile file_;
  bool every_;
  double sum_ = 0;
};

}  // namespace

FitSummary fit_run(const FitRequest& request, const FitEvents& events) {
  const RunLock lock(request.folder, "starting a run in");
  if (fs::exists(RunFolder{request.folder}.config())) RunFolder::create(request.folder);
  const VectorOptions& files = request.config.vectors;
  FitData data{read_vectors(files.file, files.tensor)};
  data.object = files.file;
  const VectorLabels labels = labels_or_none(files.labels, data.vectors.size(0));
  const FitConfig config = completed(request, data.vectors, labels);
  data.labels = labels_of_factors(labels, config.factors);
  if (!files.start.empty())
    data.start =
        read_start(files.start, data.vectors.size(0), static_cast<int64_t>(config.factors.size()));
  check_fit_data(config, data);
  const RunFolder folder = RunFolder::create(request.folder);
  write_text(folder.config(), write_options(config).dump(2) + "\n", "writing the config");
  if (events.started) events.started({data.vectors.size(0), data.vectors.size(1), config.factors});
  MetricsFile metrics(folder.metrics(), 0);
  FitCallbacks callbacks = events.callbacks;
  callbacks.report = [&](const FitIteration& iteration) {
    metrics.write({{"iteration", iteration.iteration},
                   {"bound", iteration.bound},
                   {"living", iteration.living},
                   {"merged", iteration.merged},
                   {"split", iteration.split}});
    if (events.callbacks.report) events.callbacks.report(iteration);
  };
  const auto start = std::chrono::steady_clock::now();
  const FitResult result = fit_mixture(config, data, callbacks);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  write_mixture(folder.model(), result.mixture);
  FitSummary summary{evaluate_mixture(result.mixture, data.vectors, labels,
                                      fs::path(files.file).filename().string()),
                     result.bound, result.iterations, result.converged, seconds.count()};
  write_evaluation(folder, summary);
  return summary;
}

Evaluation evaluate_fit_run(const fs::path& run, const VectorRequest& request) {
  require_fit_run(run);
  const VectorMixture mixture = read_mixture(model_of(run));
  VectorOptions files{request.vectors, request.tensor, request.labels, ""};
  if (request.vectors.empty()) {
    files = read_saved_fit_config(RunFolder::of(run).config()).vectors;
    if (!request.labels.empty()) files.labels = request.labels;
  }
  const torch::Tensor vectors = read_vectors(files.file, files.tensor);
  require_vectors(mixture, vectors, files.file);
  return evaluate_mixture(mixture, vectors, labels_or_none(files.labels, vectors.size(0)),
                          fs::path(files.file).filename().string());
}

PredictSummary predict_vectors(const PredictRequest& request) {
  require_fit_run(request.run);
  if (request.output.extension() != ".csv")
    Attempt{"writing predictions", request.output.string()}.fail(
        fmt::format("the ending '{}'", request.output.extension().string()), ".csv");
  const VectorMixture mixture = read_mixture(model_of(request.run));
  const torch::Tensor vectors = read_vectors(request.vectors, request.tensor);
  require_vectors(mixture, vectors, request.vectors);
  PredictionTable table(request, mixture.mixture);
  const int64_t count = vectors.size(0);
  for (int64_t begin = 0; begin < count; begin += rows_at_a_time)
    table.add(begin, mixture, vectors.narrow(0, begin, std::min(rows_at_a_time, count - begin)));
  return {count, table.finish() / static_cast<double>(count)};
}

std::string describe_fit_run(const fs::path& path) {
  const VectorMixture mixture = read_mixture(model_of(path));
  std::string text = fmt::format("a mixture of vectors: fitted to {} of {} dimensions\n",
                                 mixture.vectors, mixture.mixture.dimensions());
  if (const fs::path config = RunFolder{path}.config(); fs::exists(config)) {
    const FitConfig own = read_saved_fit_config(config);
    text += fmt::format("  vectors {}, seed {}, {} weights, {} updates\n", own.vectors.file,
                        own.seed, own.weights, own.fit.method);
  }
  for (size_t i = 0; i < mixture.mixture.size(); ++i) {
    const FactorOptions& factor = mixture.mixture.factors[i];
    text += fmt::format("  factor '{}': {} dimensions, {} components, {} living", factor.name,
                        factor.dimensions, factor.components,
                        mixture.mixture.held_images(i).gt(1.0).sum().item<int64_t>());
    if (factor.named())
      text += fmt::format(", named by '{}': {}", factor.property, fmt::join(factor.values, ", "));
    text += "\n";
  }
  return text;
}

}  // namespace facet
