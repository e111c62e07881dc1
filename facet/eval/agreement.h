// How the codes of images, or of vectors, agree with known properties: the part of an evaluation
// that needs codes and labels alone.
#pragma once

#include <vector>

#include "facet/data/pack.h"
#include "facet/eval/evaluation.h"
#include "facet/prior/factorial_mixture.h"

namespace facet {

/// Fills in the agreement of codes with properties, and the dependence between factors. codes[i]
/// has one component of factor i per image; `labels` is [N, P], -1 where unknown.
void compare_codes(Evaluation& result, const std::vector<std::vector<int64_t>>& codes,
                   const std::vector<FactorOptions>& factors, const torch::Tensor& labels,
                   const std::vector<Property>& properties);

/// Fills in the accuracies of named factors by the mean over images and their mirror images:
/// `values` has those of each named factor, one per image, or is empty.
void compare_mirrored(Evaluation& result, const std::vector<std::vector<int64_t>>& values,
                      const std::vector<FactorOptions>& factors, const torch::Tensor& labels,
                      const std::vector<Property>& properties);

/// Fills in how groups of merged components agree with properties.
void compare_merged(Evaluation& result, const FactorialMixture& prior,
                    const std::vector<std::vector<int64_t>>& codes, const torch::Tensor& labels,
                    const std::vector<Property>& properties);

}  // namespace facet
