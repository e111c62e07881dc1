#include "facet/report/report.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/shell.h"
#include "facet/core/torch.h"
#include "facet/report/tree_figure.h"

namespace facet {

namespace {

constexpr uint64_t kSeed = 1;  // the commands' default, so that they draw the same images
constexpr int64_t kMostShownCombinations = 12, kCombinationRows = 4;
constexpr int64_t kGridLimit = 8, kGridAverage = 100;  // the second is the command's default
constexpr int64_t kComponentLimit = 8, kComponentLimitOfTwo = 16, kComponentAverage = 200;
constexpr size_t kMostComponentFigures = 12;
constexpr int64_t kReconstructions = 8;
/// Fewer components are seen at a glance, without a tree.
constexpr int64_t kFewestLeaves = 9;
constexpr int64_t kTreeLeaves = 30;
constexpr size_t kMostTrees = 4;

/// "a, b and c".
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

bool has_split(const Pack& pack, Split split) {
  return pack.split.eq(static_cast<int64_t>(split)).any().item<bool>();
}

bool mixtures_are_placed(const FactorialMixture& prior) {
  for (size_t i = 0; i < prior.size(); ++i)
    if (prior.held_images(i).gt(1.0).any().item<bool>()) return true;
  return false;
}

/// Draws the figures of one model; each says how to draw it again.
class Illustrator {
 public:
  Illustrator(Vae& model, std::string run, const Refinement& refinement)
      : model_(model), run_(shell_quoted(run)), refinement_(refinement) {
    refined_ = refine_options(refinement);
  }

  ReportFigure samples() const {
    return {
        sample_figure(model_, {.seed = kSeed, .refinement = refinement_}), "Samples",
        fmt::format(
            "Images drawn from the model: a component of every factor by its weight, a point of "
            "the component, and the mean of the pixels there{}.",
            refinement_ ? ", refined" : ""),
        fmt::format("facet sample {}{} --out samples.png", run_, refined_)};
  }

  /// As many of the named factors as give a picture of moderate width; the others are held at their
  /// heaviest component. None where no factor is named or the first ones have too many components.
  std::optional<ReportFigure> combinations() const {
    const FactorialMixture& prior = model_.prior;
    std::vector<int64_t> fixed(prior.size(), -1);
    std::vector<std::string> shown;
    std::string held;
    int64_t count = 1;
    for (size_t i = 0; i < prior.size(); ++i) {
      const FactorOptions& factor = prior.factors[i];
      if (!factor.named()) continue;
      if (count * factor.components <= kMostShownCombinations) {
        count *= factor.components;
        shown.push_back(factor.name);
      } else {
        fixed[i] = heaviest_components(prior.posteriors[i], 1).front();
        held += " --fix " + shell_quoted(factor.name + "=" + factor.component_name(fixed[i]));
      }
    }
    if (shown.empty()) return std::nullopt;
    return ReportFigure{
        combination_figure(model_, fixed, kCombinationRows, kSeed, {}, refinement_),
        "Named factors",
        fmt::format("Columns are values of {}, requested by name; along a row everything else is "
                    "fixed.",
                    listed(shown)),
        fmt::format("facet grid {} --combinations --rows-count {}{}{} --out combinations.png", run_,
                    kCombinationRows, held, refined_)};
  }

  ReportFigure averages(size_t rows, size_t columns) const {
    const FactorialMixture& prior = model_.prior;
    const std::string &down = prior.factors[rows].name, &across = prior.factors[columns].name;
    return {average_figure(model_, std::vector<int64_t>(prior.size(), -1),
                           heaviest_axis(prior, rows, kGridLimit),
                           heaviest_axis(prior, columns, kGridLimit), kGridAverage, kSeed),
            "Two factors against each other",
            fmt::format("Components of ‘{}’ down and of ‘{}’ across. Each cell is the mean of {} "
                        "samples with all other factors drawn anew: what stays sharp is what the "
                        "two factors say.",
                        down, across, kGridAverage),
            fmt::format("facet grid {} --rows {} --cols {} --limit {} --out grid.png", run_,
                        shell_quoted(down), shell_quoted(across), kGridLimit)};
  }

  ReportFigure components(size_t factor) const {
    const FactorPosterior& posterior = model_.prior.posteriors[factor];
    const FactorOptions& options = model_.prior.factors[factor];
    const int64_t limit = model_.prior.size() > 2 ? kComponentLimit : kComponentLimitOfTwo;
    return {cluster_figure(model_, factor, heaviest_components(posterior, limit), kComponentAverage,
                           kSeed),
            options.name,
            options.components <= limit
                ? ""
                : fmt::format("The {} heaviest of {} components.", limit, options.components),
            fmt::format("facet clusters {} --factor {} --limit {} --out clusters.png", run_,
                        shell_quoted(options.name), limit)};
  }

  ReportTree tree(size_t factor) const {
    const std::string& name = model_.prior.factors[factor].name;
    return {component_dendrogram(model_, factor, kTreeLeaves, kSeed), name,
            "Components that are neighbours join into groups: a group's images would mostly go to "
            "the other group if its own components did not exist. The further left two groups "
            "join, the less they have to do with each other. Left of the dashed line they are "
            "neighbours less often than by chance; the groups that remain there have colours. A "
            "row shows the heaviest components of a group, each at its mean.",
            fmt::format("facet clusters {} --factor {} --tree --leaves {} --out tree.png", run_,
                        shell_quoted(name), kTreeLeaves)};
  }

  ReportFigure reconstructions(const ImageSet& images, const std::string& split) const {
    std::vector<std::string> labels;
    std::vector<torch::Tensor> pixels;
    for (const int64_t index : spread_indices(images.count(), kReconstructions)) {
      labels.push_back(std::to_string(index));
      pixels.push_back(images.pixels[index].to(torch::kCPU));
    }
    return {reconstruction_figure(model_, torch::stack(pixels), labels, kSeed, refinement_),
            "Reconstructions",
            fmt::format("Images of the {} split by their numbers, {}and the mean, the standard "
                        "deviation and a sample "
                        "of the pixels that the model expects for them.",
                        split, refinement_ ? "refined reconstructions, " : ""),
            fmt::format("facet reconstruct {} --split {} --count {}{} --out reconstruct.png", run_,
                        split, kReconstructions, refined_)};
  }

 private:
  Vae& model_;
  std::string run_;
  Refinement refinement_;
  std::string refined_;  ///< the options of commands
};

/// The two factors whose components say most about an image, free ones before named ones; fewer
/// where fewer have a choice of components.
std::vector<size_t> strongest_factors(const FactorialMixture& prior, const Evaluation& evaluation) {
  std::vector<size_t> order;
  for (size_t i = 0; i < prior.size(); ++i)
    if (prior.factors[i].components > 1) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const bool free_a = !prior.factors[a].named(), free_b = !prior.factors[b].named();
    if (free_a != free_b) return free_a;
    return evaluation.factors[a].kl_r > evaluation.factors[b].kl_r;
  });
  order.resize(std::min<size_t>(order.size(), 2));
  return order;
}

void draw_mixtures(RunReport& report, Vae& model, const Illustrator& illustrator) {
  report.hero = illustrator.combinations();
  if (report.hero)
    report.figures.push_back(illustrator.samples());
  else
    report.hero = illustrator.samples();
  const std::vector<size_t> pair = strongest_factors(model.prior, *report.evaluation);
  const bool any_free = std::any_of(pair.begin(), pair.end(),
                                    [&](size_t i) { return !model.prior.factors[i].named(); });
  if (pair.size() == 2 && any_free)  // combinations show the named ones
    report.figures.push_back(illustrator.averages(pair[0], pair[1]));
  const size_t shown = std::min(model.prior.size(), kMostComponentFigures);
  for (size_t i = 0; i < shown; ++i) report.components.push_back(illustrator.components(i));
  for (size_t i = 0; i < model.prior.size() && report.trees.size() < kMostTrees; ++i)
    if (const auto& merged = report.evaluation->factors[i].merged;
        merged && merged->living >= kFewestLeaves)
      report.trees.push_back(illustrator.tree(i));
  if (shown < model.prior.size())
    report.components_note = fmt::format("The first {} of {} factors.", shown, model.prior.size());
}

void classify_samples(RunReport& report, Vae& model, const Pack& pack) {
  const std::vector<Split> trained = parse_splits(report.config.data.train_splits);
  const auto is_unseen = [&](Split split) {
    return has_split(pack, split) &&
           std::find(trained.begin(), trained.end(), split) == trained.end();
  };
  const Split unseen = is_unseen(Split::test) ? Split::test : Split::valid;
  if (!is_unseen(unseen)) {
    report.no_classifier = "there are no images that a classifier has not learned from";
    return;
  }
  if (std::none_of(model.prior.factors.begin(), model.prior.factors.end(),
                   [](const FactorOptions& factor) { return factor.named(); })) {
    report.no_classifier = "no factor is named by a property, so there are no values to request";
    return;
  }
  try {
    report.classifier = classify_model_samples(model, pack, report.config.data, unseen, false, {});
  } catch (const Error& error) {  // a property without labels
    report.no_classifier = error.what();
  }
}

/// The share of training images whose label of the property training saw.
std::map<std::string, double> known_shares(const Config& config, const Pack& pack) {
  const ImageSet images =
      select_images(pack, parse_splits(config.data.train_splits), config.data, true, torch::kCPU);
  std::map<std::string, double> shares;
  for (size_t p = 0; p < pack.properties.size(); ++p)
    shares[pack.properties[p].name] =
        images.labels.select(1, static_cast<int64_t>(p)).ge(0).to(kFloat64).mean().item<double>();
  return shares;
}

std::string date_text(std::time_t time) {
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts)};
}

}  // namespace

double RunReport::training_seconds() const {
  double seconds = 0;
  for (const EventSpan& session : sessions) seconds += session.end - session.begin;
  return seconds;
}

bool RunReport::finished() const { return log.steps_done() >= log.lengths.total(); }

RunReport gather_report(const RunFolder& folder, const Config& config, Vae& model, const Pack& pack,
                        const ReportOptions& options) {
  const auto notice = [&](const std::string& sentence) {
    if (options.notice) options.notice(sentence);
  };
  RunReport report;
  report.name = std::filesystem::absolute(folder.path / "")
                    .lexically_normal()
                    .parent_path()
                    .filename()
                    .string();
  report.reproduce = fmt::format(
      "facet train {} --out NEW-RUN",
      shell_quoted((std::filesystem::path(options.command_path) / "config.json").string()));
  report.version = options.version;
  report.config = config;
  report.shape = model.shape();
  report.network_parameters = model.network_parameters();
  report.training_images = pack.indices(parse_splits(config.data.train_splits)).size(0);
  const TrainOptions& train = config.train;
  report.log = read_training_log(folder.metrics(),
                                 {train.pretrain.steps, train.initialise.steps, train.joint.steps});
  report.sessions = read_event_spans(folder.events());
  report.written = date_text(std::time(nullptr));
  report.label_shares = known_shares(config, pack);

  const std::string split =
      has_split(pack, Split::test) ? "test" : config.data.train_splits.front();
  const ImageSet images =
      select_images(pack, {parse_split(split)}, config.data, false, model.device());
  const Illustrator illustrator(model, options.command_path, options.refinement);
  if (mixtures_are_placed(model.prior)) {
    notice(fmt::format("measuring on the {} split", split));
    report.evaluation = evaluate(model, images, pack.properties, split,
                                 {.merge = true, .mirror = config.data.mirror});
    notice("drawing");
    draw_mixtures(report, model, illustrator);
    if (options.classify) {
      notice("training the evaluation classifier");
      classify_samples(report, model, pack);
    }
  } else {
    report.no_mixtures =
        "The saved model has no mixtures yet: they are placed when pre-training is done, and with "
        "them come samples, components and measures.";
  }
  report.figures.push_back(illustrator.reconstructions(images, split));
  return report;
}

}  // namespace facet
