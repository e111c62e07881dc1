// How much samples look like images, as distances between features of the two (docs/measures.md).
// Features are rows of numbers, one per image, from a network that saw neither. Every measure also
// has a floor: what it gives for images against other images, because with finitely many of them no
// measure is zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facet/core/options.h"
#include "facet/core/random.h"
#include "facet/core/tensor.h"

namespace facet {

/// The Fréchet distance of normal distributions with the means and covariances of two sets of
/// features, float64 [N, F] and [M, F]: |m_a - m_b|^2 + tr(S_a + S_b - 2 (S_a S_b)^(1/2)).
double frechet_distance(const torch::Tensor& a, const torch::Tensor& b);

struct KernelDistance {
  double value = 0;           ///< squared maximum mean discrepancy, unbiased: it may be below zero
  double standard_error = 0;  ///< from blocks
};
/// The unbiased MMD^2 with the kernel (x.y / F + 1)^3; the standard error is that of the mean of
/// `blocks` blocks of rows, which compare fewer pairs: it errs on the large side.
KernelDistance kernel_distance(const torch::Tensor& a, const torch::Tensor& b, int64_t blocks);

/// Measures from balls around features that reach to their k-th nearest neighbour in their own set.
struct NeighbourMeasures {
  double precision = 0;  ///< share of samples in the ball of some image
  double recall = 0;     ///< share of images in the ball of some sample
  double density = 0;    ///< in how many balls of images a sample is, over k; 1 for the same set
  double coverage = 0;   ///< share of images whose ball has a sample
};
NeighbourMeasures neighbour_measures(const torch::Tensor& images, const torch::Tensor& samples,
                                     int64_t neighbours);

/// What is compared with the reference images.
struct FidelityRow {
  std::string name;
  double frechet = 0;
  KernelDistance kernel;
  NeighbourMeasures neighbours;
};
FidelityRow measure_fidelity(const std::string& name, const torch::Tensor& images,
                             const torch::Tensor& samples);

/// Share of pictures whose nearest among all changed ones is their own, features [N, F] twice, when
/// what all changes have in common, their mean, is taken off. 1/N by chance.
double share_recognised(const torch::Tensor& pictures, const torch::Tensor& changed);

/// How often a picture is recognised after one named factor has changed from its first value to its
/// second.
struct RecognisedRow {
  std::string factor;
  double means = 0;
  std::optional<double> refined;
};

/// The measures in the features of one network.
struct FidelityTable {
  std::string features;  ///< what the network is
  std::vector<FidelityRow> rows;
};
struct Fidelity {
  std::string split;
  int64_t count = 0;  ///< images, and samples of every row
  std::vector<FidelityTable> tables;
  int64_t changed = 0;                    ///< pictures of every row of `recognised`
  std::vector<RecognisedRow> recognised;  ///< one per named factor with two values or more
};
Json to_json(const Fidelity& fidelity);

}  // namespace facet
