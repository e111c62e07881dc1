#include "facet/fit/fit_options.h"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"

namespace facet {

void FitOptions::visit(OptionVisitor& visitor) {
  visitor.option("method", method,
                 "'exact': updates from all vectors, coordinate ascent; 'stochastic': "
                 "natural-gradient steps on batches.",
                 one_of({"exact", "stochastic"}));
  visitor.option("iterations", iterations, "Most passes over all vectors.", at_least(0));
  visitor.option("tolerance", tolerance,
                 "The fit ends when an iteration changes the bound by less, in nats per vector; 0: "
                 "after all iterations.",
                 at_least(0));
  visitor.option("standardise", standardise,
                 "The hyperprior is in units of every column's mean and standard deviation.");
  visitor.option("learn_hyperprior", learn_hyperprior,
                 "Learn the hyperprior of free factors, in every dimension.");
  visitor.option("merge_and_split", merge_and_split,
                 "Merge and split components of free factors where this raises the goal, so that "
                 "K is an upper limit.");
  visitor.option(
      "move_goal", move_goal,
      "What merges and splits raise: 'evidence', the bound of all vectors, with what the "
      "components' parameters cost; 'held_out', the bound that vectors left out would "
      "have, which keeps more components.",
      one_of({"evidence", "held_out"}));
  visitor.option("moves_every", moves_every, "Iterations between such moves.", at_least(1));
  visitor.option("kmeans_iterations", kmeans_iterations, "Iterations of the k-means start.",
                 at_least(1));
  visitor.option("kmeans_vectors", kmeans_vectors, "Vectors, drawn at random, for the start.",
                 at_least(1));
  visitor.option("batch_size", batch_size, "Vectors per natural-gradient step.", at_least(1));
  visitor.option("step_size", step_size, "Size of natural-gradient steps.");
}

void VectorOptions::visit(OptionVisitor& visitor) {
  visitor.option("file", file, "The vectors: .npy, .csv, .fvecs, .bvecs, .ivecs or .safetensors.");
  visitor.option("tensor", tensor, "The tensor of a .safetensors file; empty: the only one.");
  visitor.option("labels", labels,
                 "A CSV with one row per vector, or a .npy of integers; empty or -1 is unknown.");
  visitor.option("start", start,
                 "A .npy of integers: the component that each vector starts in; empty: k-means.");
}

void FitConfig::visit(OptionVisitor& visitor) {
  visitor.option("seed", seed, "Seed of all random numbers.", at_least(0));
  visitor.option("vectors", vectors, "The data.");
  visitor.option("factors", factors,
                 "Blocks of dimensions, each with its own mixture; none: one for all dimensions.");
  visitor.option("weights", weights,
                 "The prior of a free factor's mixing weights: a symmetric Dirichlet, or a "
                 "Dirichlet process cut off at K.",
                 one_of({"dirichlet", "stick_breaking"}));
  visitor.option("hyperprior", hyperprior, "The hyperprior that all factors start with.");
  visitor.option("fit", fit, "How the mixtures are fitted.");
}

FitConfig read_fit_config(const std::filesystem::path& path,
                          const std::vector<std::string>& settings) {
  Json json = Json::object();
  const std::string object = path.empty() ? "--set" : path.string();
  if (!path.empty()) json = parse_config(read_text(path, "reading a config"), object);
  // A list that --set reaches into must exist.
  FitConfig config;
  read_options(config, json, object);
  Json complete = write_options(config);
  for (const std::string& setting : settings) apply_setting(complete, setting);
  read_options(config, complete, object);
  return config;
}

FitConfig read_saved_fit_config(const std::filesystem::path& path) {
  FitConfig config;
  read_options(config, parse_config(read_text(path, "reading a config"), path.string()),
               path.string(), OldNames::accept);
  return config;
}

std::vector<FactorOptions> parse_factors(const std::string& text, int64_t components) {
  const Attempt reading{"reading the factors", text};
  const auto number = [&](std::string_view word) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < 1)
      reading.fail(fmt::format("'{}'", word), "a number of at least 1",
                   "each factor is NAME:DIMENSIONS or NAME:DIMENSIONS:COMPONENTS");
    return value;
  };
  std::vector<FactorOptions> factors;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view entry = std::string_view(text).substr(begin, end - begin);
    const size_t first = entry.find(':');
    if (first == std::string_view::npos || first == 0)
      reading.fail(fmt::format("'{}'", entry), "NAME:DIMENSIONS:COMPONENTS, separated by commas");
    const size_t second = std::min(entry.find(':', first + 1), entry.size());
    FactorOptions factor;
    factor.name = entry.substr(0, first);
    factor.dimensions = number(entry.substr(first + 1, second - first - 1));
    factor.components = second == entry.size() ? components : number(entry.substr(second + 1));
    factors.push_back(factor);
    begin = end + 1;
  }
  return factors;
}

}  // namespace facet
