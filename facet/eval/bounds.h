// The evaluation of a model on a split: the bound of eq:test-elbo and its terms, the number of
// components in use per factor, the agreement of codes with known properties, the dependence
// between the codes of two factors, and an importance-weighted bound. docs/measures.md has the
// formulas.
#pragma once

#include <string>
#include <vector>

#include "facet/data/batches.h"
#include "facet/eval/evaluation.h"
#include "facet/model/vae.h"

namespace facet {

Evaluation evaluate(Vae& model, const ImageSet& images, const std::vector<Property>& properties,
                    const std::string& split, const EvaluationOptions& options);

}  // namespace facet
