#include "facet/report/run_labelling.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/eval/calibration.h"
#include "facet/eval/labelling.h"
#include "facet/model/vae.h"
#include "facet/report/given_images.h"

namespace facet {

namespace {

using Row = std::vector<std::string>;
using Notice = std::function<void(const std::string&)>;

ImageSet all_images(const Pack& pack, const DataOptions& options, torch::Device device) {
  return select_images(pack, {Split::train, Split::valid, Split::test}, options, false, device,
                       /*streamed=*/true);
}

/// What the run's own data tell about its predictions.
struct OwnData {
  std::vector<double> temperatures;        ///< one per named factor
  std::vector<int64_t> calibrated_with;    ///< labels
  std::vector<Reliability> before, after;  ///< on test images
  torch::Tensor reference_bounds;          ///< undefined if unknown
};

std::optional<ImageReadings> read_split(Vae& model, const Pack& pack, const DataOptions& options,
                                        Split split, uint64_t seed) {
  if (!pack.split.eq(static_cast<int64_t>(split)).any().item<bool>()) return std::nullopt;
  return read_images(model, select_images(pack, {split}, options, false, model.device()),
                     pack.properties, seed, options.mirror);
}

OwnData read_own_data(Vae& model, const DataOptions& options, uint64_t seed, const Notice& notice) {
  OwnData own;
  const auto factors = static_cast<size_t>(
      std::count_if(model.prior.factors.begin(), model.prior.factors.end(),
                    [](const FactorOptions& factor) { return factor.named(); }));
  own.temperatures.assign(factors, 1.0);
  own.calibrated_with.assign(factors, 0);
  own.before.resize(factors);
  own.after.resize(factors);
  if (!options.pack.empty() && !std::filesystem::exists(options.pack)) {
    notice(fmt::format("probabilities are not calibrated: the run's own pack '{}' is missing",
                       options.pack));
    return own;
  }
  const Pack pack = load_data(options);
  const auto valid = read_split(model, pack, options, Split::valid, seed);
  const auto test = read_split(model, pack, options, Split::test, seed);
  if (valid) own.reference_bounds = valid->bounds;
  for (size_t i = 0; i < factors; ++i) {
    if (valid) {
      const NamedValues& values = valid->named[i];
      own.calibrated_with[i] = values.given.ge(0).sum().item<int64_t>();
      own.temperatures[i] = fit_temperature(values.log_probabilities, values.given);
    }
    if (own.calibrated_with[i] == 0)
      notice(
          fmt::format("probabilities of '{}' are not calibrated: no image of the valid split "
                      "has a label",
                      model.prior.factors[i].property));
    if (!test) continue;
    const NamedValues& values = test->named[i];
    own.before[i] = reliability(at_temperature(values.log_probabilities, 1.0), values.given);
    own.after[i] =
        reliability(at_temperature(values.log_probabilities, own.temperatures[i]), values.given);
  }
  return own;
}

/// The name of an image: its file, or its number.
std::string image_name(const Pack& pack, int64_t n) {
  return pack.files.empty() ? fmt::format("{}", n) : std::string(pack.files[n]);
}

const char* name_column(const Pack& pack) { return pack.files.empty() ? "image" : "file"; }

std::string decimal(double number) { return fmt::format("{:.4f}", number); }

bool has_column(const Pack& pack, const std::string& name) {
  return std::find(pack.table.names.begin(), pack.table.names.end(), name) !=
         pack.table.names.end();
}

/// The completed table: the user's columns as they were, then ours.
class CompletedTable {
 public:
  CompletedTable(const Pack& pack, const ImageReadings& readings,
                 const std::vector<torch::Tensor>& probabilities, const torch::Tensor& typical,
                 const LabelRequest& request)
      : pack_(pack),
        readings_(readings),
        probabilities_(probabilities),
        typical_(typical),
        request_(request) {}

  Row header() const {
    Row columns = pack_.table.names;
    if (pack_.table.file_column < 0) columns.insert(columns.begin(), name_column(pack_));
    for (const NamedValues& named : readings_.named) {
      const std::string& name = named.property;
      if (!has_column(pack_, name)) columns.push_back(name + " given");
      columns.insert(columns.end(),
                     {name + " completed", name + " predicted", name + " probability"});
      if (request_.every_value)
        for (const std::string& value : named.values) columns.push_back(name + "=" + value);
    }
    columns.push_back("typicality");
    return columns;
  }

  Row row(int64_t n) const {
    Row cells;
    if (pack_.table.file_column < 0) cells.push_back(image_name(pack_, n));
    for (size_t c = 0; c < pack_.table.cells.size(); ++c) {
      cells.emplace_back(pack_.table.cells[c][n]);
      // An image without a row in the table still has a name.
      if (static_cast<int64_t>(c) == pack_.table.file_column && cells.back().empty())
        cells.back() = image_name(pack_, n);
    }
    for (size_t i = 0; i < readings_.named.size(); ++i) add_values(cells, i, n);
    cells.push_back(decimal(typical_[n].item<double>()));
    return cells;
  }

 private:
  void add_values(Row& cells, size_t factor, int64_t n) const {
    const NamedValues& named = readings_.named[factor];
    const auto p = probabilities_[factor].accessor<double, 2>();
    const auto values = static_cast<int64_t>(named.values.size());
    int64_t best = 0;
    for (int64_t v = 1; v < values; ++v)
      if (p[n][v] > p[n][best]) best = v;
    const int64_t known = named.given.data_ptr<int64_t>()[n];
    const auto name = [&](int64_t v) { return named.values[static_cast<size_t>(v)]; };
    const std::string given = known < 0 ? "" : name(known);
    const std::string predicted = p[n][best] < request_.min_probability ? "" : name(best);
    if (!has_column(pack_, named.property)) cells.push_back(given);
    cells.push_back(known < 0 ? predicted : given);
    cells.push_back(predicted);
    cells.push_back(decimal(p[n][best]));
    if (!request_.every_value) return;
    for (int64_t v = 0; v < values; ++v) cells.push_back(decimal(p[n][v]));
  }

  const Pack& pack_;
  const ImageReadings& readings_;
  const std::vector<torch::Tensor>& probabilities_;
  const torch::Tensor& typical_;
  const LabelRequest& request_;
};

void fill_suspicious(LabelTable& table, const Pack& pack, const ImageReadings& readings,
                     const std::vector<torch::Tensor>& probabilities) {
  table.columns = {
      name_column(pack),         "property", "given", "predicted", "probability of given",
      "probability of predicted"};
  for (const DoubtedLabel& label : doubted_labels(readings, probabilities)) {
    const NamedValues& named = readings.named[static_cast<size_t>(label.factor)];
    const auto name = [&](int64_t v) { return named.values[static_cast<size_t>(v)]; };
    table.rows.push_back({image_name(pack, label.image), named.property,
                          name(named.given.data_ptr<int64_t>()[label.image]), name(label.predicted),
                          decimal(label.probability_of_given),
                          decimal(label.probability_of_predicted)});
  }
}

PropertySummary summarise(const NamedValues& named, const torch::Tensor& probabilities,
                          const LabelRequest& request) {
  PropertySummary summary;
  summary.property = named.property;
  const torch::Tensor open = named.given.lt(0);
  const torch::Tensor sure = probabilities.amax(1).ge(request.min_probability);
  summary.given = named.given.numel() - open.sum().item<int64_t>();
  summary.predicted = open.logical_and(sure).sum().item<int64_t>();
  summary.left_empty = open.sum().item<int64_t>() - summary.predicted;
  return summary;
}

}  // namespace

LabelTable label_images(LoadedRun run, const LabelRequest& request, const Notice& notice) {
  torch::NoGradGuard no_gradient;
  Vae& model = *run.model;
  const Pack pack = given_images(model, {request.data}, "labelling the images of", notice).pack;
  const DataOptions& data = run.config.data;
  const ImageReadings readings = read_images(model, all_images(pack, data, model.device()),
                                             pack.properties, request.seed, data.mirror);
  const OwnData own = read_own_data(model, data, request.seed, notice);
  const torch::Tensor typical = typicality(
      readings.bounds, own.reference_bounds.defined() ? own.reference_bounds : readings.bounds);
  LabelTable table;
  table.images = pack.count();
  table.separator = pack.table.separator;
  std::vector<torch::Tensor> probabilities;
  for (size_t i = 0; i < readings.named.size(); ++i) {
    probabilities.push_back(
        at_temperature(readings.named[i].log_probabilities, own.temperatures[i]));
    PropertySummary summary = summarise(readings.named[i], probabilities[i], request);
    summary.temperature = own.temperatures[i];
    summary.calibrated_with = own.calibrated_with[i];
    summary.accuracy = own.after[i].accuracy;
    summary.calibration_error = own.after[i].error;
    summary.uncalibrated_error = own.before[i].error;
    summary.tested_with = own.after[i].images;
    table.properties.push_back(summary);
  }
  if (request.suspicious) {
    fill_suspicious(table, pack, readings, probabilities);
    return table;
  }
  const CompletedTable completed(pack, readings, probabilities, typical, request);
  table.columns = completed.header();
  if (request.ask > 0) {
    for (const int64_t n : images_to_ask(readings, probabilities, request.ask))
      table.rows.push_back(completed.row(n));
    return table;
  }
  for (int64_t n = 0; n < pack.count(); ++n) table.rows.push_back(completed.row(n));
  return table;
}

}  // namespace facet
