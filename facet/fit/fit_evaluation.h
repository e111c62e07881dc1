// A fitted mixture measured on vectors. The measures are those of a model (docs/measures.md); a
// vector is its own encoding without variance, so there is no reconstruction, and KL[z] is minus
// the expected log density.
#pragma once

#include "facet/eval/evaluation.h"
#include "facet/fit/vector_labels.h"
#include "facet/fit/vector_mixture.h"

namespace facet {

/// `name` says which vectors these are. Labels may be empty.
Evaluation evaluate_mixture(const VectorMixture& mixture, const torch::Tensor& vectors,
                            const VectorLabels& labels, const std::string& name);

}  // namespace facet
