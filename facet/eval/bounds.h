// What a model is worth on a split: the bound of eq:test-elbo with its terms, how many components
// of every factor are in use, how well codes agree with known properties, how much the codes of one
// factor say about another's, and an importance-weighted bound. docs/measures.md has the formulas.
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
