// The parts of a factor's bound that a merge or a split of components changes: the log-normalisers
// A of the Normal-Gammas and Z of the weights. With responsibilities fixed and q(xi) at its optimum
// for them, the bound is their sum and the entropy of the responsibilities (prior/moves.h).
#pragma once

#include <cstdint>
#include <vector>

#include "facet/prior/factorial_mixture.h"

namespace facet {

/// sum_d A(lambda_kd), [K].
torch::Tensor log_normalisers(const FactorPosterior& posterior);

/// sum_d A(lambda_0d), a scalar; `dimensions` where the hyperprior has the same for all.
double empty_log_normaliser(const FactorHyperprior& hyperprior, int64_t dimensions);

/// log Z(c) of the weights, up to a constant, for pseudo-counts on the CPU. Sticks are taken in
/// their best order: sorted by their pseudo-counts, largest first.
double weights_evidence(const std::vector<double>& counts, const torch::Tensor& concentration);

/// The same values in tensors of their own.
FactorPosterior copy_of(const FactorPosterior& posterior);

/// A posterior with one row at the hyperprior: an empty component.
FactorPosterior empty_component(const FactorPosterior& like, const FactorHyperprior& hyperprior);

/// Makes one component of two, in place: `into` gets the images of both, `from` those of `empty`.
void merge_rows(FactorPosterior& posterior, int64_t into, int64_t from,
                const FactorPosterior& empty);

}  // namespace facet
