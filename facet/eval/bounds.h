// What a model is worth on a split: the bound of eq:test-elbo with its terms, how many components
// of every factor are in use, how well codes agree with known properties, and an
// importance-weighted bound.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "facet/core/options.h"
#include "facet/data/batches.h"
#include "facet/model/vae.h"

namespace facet {

struct EvaluationOptions {
  int64_t samples = 1;     ///< draws of z an image for the reconstruction term
  int64_t importance = 0;  ///< draws for the importance-weighted bound; 0 leaves it out
  int64_t batch_size = 500;
  uint64_t seed = 1;
};

/// Agreement of a factor's codes with a property.
struct PropertyAgreement {
  std::string property;
  double accuracy = 0, nmi = 0, purity = 0;
};

struct FactorEvaluation {
  std::string name;
  std::string property;  ///< of a named factor; its accuracy is that of q(r|x) itself
  int64_t components = 0;
  int64_t used = 0;       ///< components that take more than one image in expectation
  double perplexity = 0;  ///< of the mean responsibilities
  double kl_z = 0, kl_r = 0;
  std::vector<PropertyAgreement> properties;  ///< for every property with known labels

  /// A named factor's own property, else the one with the highest NMI; none without labels.
  const PropertyAgreement* best() const;
};

struct Evaluation {
  std::string split;
  int64_t count = 0, samples = 0;
  double elbo = 0, reconstruction = 0, kl_z = 0, kl_r = 0;
  double standard_error = 0;  ///< of the elbo, over the images
  std::optional<double> importance_bound, importance_standard_error;
  int64_t importance_samples = 0;
  std::vector<FactorEvaluation> factors;
};

Evaluation evaluate(Vae& model, const ImageSet& images, const std::vector<Property>& properties,
                    const std::string& split, const EvaluationOptions& options);

/// The object that `facet eval --json` prints.
Json to_json(const Evaluation& evaluation);

}  // namespace facet
