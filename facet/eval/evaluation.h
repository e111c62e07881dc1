// The results of an evaluation as plain values. docs/measures.md has the formulas; eval/bounds.h
// computes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facet/core/options.h"
#include "facet/eval/clusters.h"
#include "facet/eval/merged_clusters.h"

namespace facet {

/// The NMI from which a free factor is said to have found a property.
constexpr double clearly_found = 0.4;

struct EvaluationOptions {
  int64_t samples = 1;            ///< draws of z per image for the reconstruction term
  int64_t importance = 0;         ///< draws per image for the importance-weighted bound; 0: none
  int64_t importance_images = 0;  ///< random images for that bound; 0: all
  int64_t batch_size = 500;
  bool merge = false;   ///< whether free factors are also measured with merged components
  bool mirror = false;  ///< whether a mirror image has the labels of the image (data.mirror)
  uint64_t seed = 1;
};

/// The agreement of a factor's codes with a property.
struct PropertyAgreement {
  std::string property;
  int64_t values = 0;  ///< of the property
  int64_t images = 0;  ///< those with a label
  /// Of q(r|x) itself if the factor is named by the property; otherwise under the best one-to-one
  /// matching of components to values.
  double accuracy = 0;
  double nmi = 0, purity = 0;
  double adjusted_rand = 0;
  double mutual_information = 0;  ///< in nats
  double explained = 0;  ///< share of the property's entropy that codes explain (explained_share)
  /// The value and the component of `standout`, by name.
  std::string value, component;
  Standout standout;
};

struct FactorEvaluation {
  std::string name;
  std::string property;  ///< of a named factor
  int64_t components = 0;
  int64_t used = 0;       ///< components with more than one image in expectation
  double perplexity = 0;  ///< of the mean responsibilities
  double kl_z = 0, kl_r = 0;
  int64_t dimensions = 0;
  /// Dimensions in which the variance of the encoder's mean over images is above 0.01 (the rule of
  /// Burda et al., 2016).
  int64_t active_dimensions = 0;
  std::vector<PropertyAgreement> properties;  ///< one per property with known labels

  /// Of a named factor, if mirror images have the same labels: the accuracy of the value that is
  /// more probable by the mean over the image and its mirror image.
  std::optional<double> mirrored_accuracy;

  /// Of a free factor with at least two living components, if requested.
  std::optional<MergedEvaluation> merged;

  int64_t dead() const { return components - used; }
  /// A named factor's own property, otherwise the one with the highest NMI; null without labels.
  const PropertyAgreement* best() const;
  /// The properties with the highest `explained`, highest first.
  std::vector<const PropertyAgreement*> most_explained(size_t limit) const;
};

/// The mutual information gap of a property: how much of it a single factor encodes.
struct PropertyGap {
  std::string property;
  double entropy = 0;  ///< of the known labels, in nats
  /// 0 to 1: the highest mutual information of a factor minus the second highest, over the entropy.
  double gap = 0;
  std::string factor;  ///< the factor with the highest mutual information
};

struct Evaluation {
  std::string split;
  int64_t count = 0, samples = 0;
  double elbo = 0, reconstruction = 0, kl_z = 0, kl_r = 0;
  double standard_error = 0;  ///< of the ELBO, over the images
  /// The bound with the predictive density of z in place of the expected log density, from the same
  /// draws of z.
  double predictive_bound = 0;
  double predictive_standard_error = 0;  ///< over the images
  std::optional<double> importance_bound, importance_standard_error;
  int64_t importance_samples = 0, importance_images = 0;  ///< draws per image, and images
  /// False if the run ended before its components were initialised: they mean nothing yet.
  bool components_placed = true;
  std::vector<FactorEvaluation> factors;
  std::vector<PropertyGap> gaps;   ///< one per property with at least two known values
  std::optional<double> mean_gap;  ///< over those properties
  /// NMI of the codes of every two factors, [I][I], with ones on the diagonal.
  std::vector<std::vector<double>> dependence;
  double mean_dependence = 0;  ///< over pairs of different factors; 0 for a single factor
};

/// The object that `facet eval --json` prints.
Json to_json(const Evaluation& evaluation);

}  // namespace facet
