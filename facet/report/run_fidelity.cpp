#include "facet/report/run_fidelity.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/batches.h"
#include "facet/eval/evaluation_classifier.h"
#include "facet/eval/feature_network.h"
#include "facet/model/refiner.h"
#include "facet/prior/sampling.h"

namespace facet {

namespace {

constexpr int64_t fewest_compared = 50;
constexpr int64_t scaling_images = 10000;
constexpr int64_t most_changed = 500;  // pictures whose named factors are changed

/// Images to compare, by name; the first are the reference.
using ImageGroups = std::vector<std::pair<std::string, ImageRows>>;

/// Two halves of the images, and samples of the model.
ImageGroups compared_images(const LoadedRun& run, const ImageSet& real, int64_t count,
                            const Refinement& refinement, const FidelityRequest& request) {
  const Vae& model = *run.model;
  const Key key = Key(request.seed).fold("fidelity");
  const torch::Tensor order = permutation(key.fold("halves"), real.count());
  const auto half = [&](int64_t begin) {
    return real.pixels.select(order.narrow(0, begin, count).to(real.pixels.device()));
  };
  const LatentSample samples = sample_latents(key.fold("samples"), model.prior, count);
  const PictureNoise noise = PictureNoise::each(key, count);
  ImageGroups groups = {{"reference", half(0)},
                        {"other images", half(count)},
                        {"means of samples", decode_pictures(model, samples, {}, noise)}};
  if (refinement)
    groups.emplace_back(
        fmt::format("refined, {} steps, guidance {}", refinement.steps, refinement.strength()),
        decode_pictures(model, samples, refinement, noise));
  return groups;
}

using Features = std::function<torch::Tensor(const ImageRows&)>;

/// The same features, scaled to mean 0 and variance 1 on training images, on the CPU.
Features scaled_features(const Features& features, const ImageRows& training) {
  const int64_t count = std::min(training.count(), scaling_images);
  const torch::Tensor some = features(training.select(
      torch::arange(count, torch::TensorOptions().dtype(kInt64).device(training.device()))));
  const torch::Tensor centre = some.mean(0), spread = some.std(0, /*unbiased=*/true);
  // A channel that hardly ever responds must not be blown up.
  const torch::Tensor scale = torch::maximum(spread, 0.05 * spread.mean()).clamp_min(1e-12);
  return [=](const ImageRows& images) {
    return ((features(images) - centre) / scale).to(torch::kCPU);
  };
}

FidelityTable compare_features(const std::string& name, const ImageGroups& groups,
                               const Features& features) {
  const torch::Tensor reference = features(groups.front().second);
  FidelityTable table{name, {}};
  for (size_t n = 1; n < groups.size(); ++n)
    table.rows.push_back(measure_fidelity(groups[n].first, reference, features(groups[n].second)));
  return table;
}

/// Pictures that differ in nothing but the value of one named factor, as in a row of a grid.
std::vector<RecognisedRow> recognise_changed(const Vae& model, const Refinement& refinement,
                                             int64_t count, const Features& features,
                                             const Key& key) {
  std::vector<RecognisedRow> rows;
  const PictureNoise noise = PictureNoise::each(key, count);
  for (size_t f = 0; f < model.prior.size(); ++f) {
    if (!model.prior.factors[f].named() || model.prior.factors[f].values.size() < 2) continue;
    const auto share = [&](const Refinement& chosen) {
      const auto with_value = [&](int64_t value) {
        std::vector<int64_t> fixed(model.prior.size(), -1);
        fixed[f] = value;
        return features(
            decode_pictures(model, sample_latents(key, model.prior, count, fixed), chosen, noise));
      };
      return share_recognised(with_value(0), with_value(1));
    };
    rows.push_back({model.prior.factors[f].name, share({}), std::nullopt});
    if (refinement) rows.back().refined = share(refinement);
  }
  return rows;
}

}  // namespace

Fidelity measure_run_fidelity(const LoadedRun& run, const Pack& pack, const std::string& split,
                              const FidelityRequest& request,
                              const std::function<void(const std::string&)>& notice) {
  const DataOptions& data = run.config.data;
  const torch::Device device = run.model->device();
  const ImageSet real = select_images(pack, {parse_split(split)}, data, false, device);
  const int64_t count = std::min(request.samples, real.count() / 2);
  if (count < fewest_compared)
    Attempt{"measuring fidelity on the split", split}.fail(
        fmt::format("{} images, {} per half", real.count(), count),
        fmt::format("at least {} per half", fewest_compared));
  ImageSet training = select_images(pack, parse_splits(data.train_splits), data, false, device);
  training.mirror = data.mirror;
  const auto say = [&](const std::string& sentence) {
    if (notice) notice(sentence);
  };
  const FeatureNetwork network = cached_feature_network(
      run.folder.features(), training, fingerprint(pack), device, {.steps = request.feature_steps},
      [&] { say("training a feature network on the training images"); });
  RefineChoice refine = request.refine;
  refine.refined = std::filesystem::exists(run.folder.refiner());
  const Refinement refinement = load_refinement(run, refine);
  const ImageGroups groups = compared_images(run, real, count, refinement, request);
  Fidelity fidelity{.split = split, .count = count};
  const Features learned = scaled_features(
      [&](const ImageRows& images) { return network.features(images); }, training.pixels);
  fidelity.tables.push_back(compare_features("self-supervised network", groups, learned));
  fidelity.changed = std::min(count, most_changed);
  fidelity.recognised = recognise_changed(*run.model, refinement, fidelity.changed, learned,
                                          Key(request.seed).fold("changed"));
  const auto& factors = run.model->prior.factors;
  if (std::any_of(factors.begin(), factors.end(), [](const auto& f) { return f.named(); })) {
    say("training an evaluation classifier");
    const EvaluationClassifier classifier =
        train_classifier(run.model->prior, training, pack.properties, {});
    const Features layers = [&](const ImageRows& images) {
      return layer_features(classifier.network(), images);
    };
    fidelity.tables.push_back(compare_features("evaluation classifier", groups,
                                               scaled_features(layers, training.pixels)));
  }
  write_text(run.folder.fidelity(), to_json(fidelity).dump(2) + "\n", "saving the fidelity");
  return fidelity;
}

}  // namespace facet
