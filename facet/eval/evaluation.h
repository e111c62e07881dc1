// What an evaluation finds, as plain values: docs/measures.md has the formulas, eval/bounds.h
// computes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facet/core/options.h"
#include "facet/eval/clusters.h"

namespace facet {

struct EvaluationOptions {
  int64_t samples = 1;            ///< draws of z an image for the reconstruction term
  int64_t importance = 0;         ///< draws for the importance-weighted bound; 0 leaves it out
  int64_t importance_images = 0;  ///< images that tell its gain, chosen at random; 0 takes all
  int64_t batch_size = 500;
  uint64_t seed = 1;
};

/// Agreement of a factor's codes with a property.
struct PropertyAgreement {
  std::string property;
  int64_t values = 0;  ///< of the property
  /// Of q(r|x) itself where the factor is named by the property; else under the best matching of
  /// components to values, one to one.
  double accuracy = 0;
  double nmi = 0, purity = 0;
  double adjusted_rand = 0;
  double mutual_information = 0;  ///< in nats
  double explained = 0;  ///< share of the property's entropy that the code says (explained_share)
  std::string value;     ///< that stands out most in a component
  std::string component;
  Standout standout;
};

struct FactorEvaluation {
  std::string name;
  std::string property;  ///< of a named factor; its accuracy is that of q(r|x) itself
  int64_t components = 0;
  int64_t used = 0;       ///< living components: they take more than one image in expectation
  double perplexity = 0;  ///< of the mean responsibilities
  double kl_z = 0, kl_r = 0;
  int64_t dimensions = 0;
  /// Dimensions in which the encoder's mean has a variance over images above 0.01 (the rule of
  /// Burda et al., 2016).
  int64_t active_dimensions = 0;
  std::vector<PropertyAgreement> properties;  ///< for every property with known labels

  int64_t dead() const { return components - used; }
  /// A named factor's own property, else the one with the highest NMI; none without labels.
  const PropertyAgreement* best() const;
  /// The properties that the codes say most about, by `explained`, most first.
  std::vector<const PropertyAgreement*> most_explained(size_t limit) const;
};

/// How much of a property is said by one factor alone (the mutual information gap).
struct PropertyGap {
  std::string property;
  double entropy = 0;  ///< of the known labels, in nats
  double gap = 0;  ///< 0 to 1: the most that a factor says less the second most, over the entropy
  std::string factor;  ///< the factor that says most
};

struct Evaluation {
  std::string split;
  int64_t count = 0, samples = 0;
  double elbo = 0, reconstruction = 0, kl_z = 0, kl_r = 0;
  double standard_error = 0;  ///< of the elbo, over the images
  std::optional<double> importance_bound, importance_standard_error;
  int64_t importance_samples = 0, importance_images = 0;  ///< draws an image, and images
  std::vector<FactorEvaluation> factors;
  std::vector<PropertyGap> gaps;   ///< for every property with two known values or more
  std::optional<double> mean_gap;  ///< over those properties
  /// NMI of the codes of two factors, [I][I], with ones on the diagonal.
  std::vector<std::vector<double>> dependence;
  double mean_dependence = 0;  ///< over pairs of different factors; 0 for a single factor
};

/// The object that `facet eval --json` prints.
Json to_json(const Evaluation& evaluation);

}  // namespace facet
