// Figures of a model: samples, components, grids of factors, combinations of named ones,
// reconstructions. A figure is its images and how they are labelled; a command draws it as one PNG,
// the report as a table. All are functions of the model and a seed, so that whoever draws one gets
// the same images as the command with that seed. Cells of one figure share their random numbers:
// they differ in what their labels say and in nothing else.
#pragma once

#include <string>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/model/recipe.h"
#include "facet/model/refiner.h"
#include "facet/model/vae.h"
#include "facet/report/picture.h"

namespace facet {

/// Images in reading order with the labels that go with them.
struct Figure {
  std::vector<Image> cells;
  GridOptions layout;
};

/// The figure as one picture.
Image draw(const Figure& figure);

/// How much to magnify images: to some 64 pixels per side, and further where labels above or below
/// them need more room.
int64_t magnification(const ImageShape& shape, const std::vector<std::string>& labels = {});

/// The `limit` heaviest components of a factor, heaviest first.
std::vector<int64_t> heaviest_components(const FactorPosterior& posterior, int64_t limit);

/// Whether a component has taken any image; where not, samples of it show nothing.
bool is_living(const FactorialMixture& prior, size_t factor, int64_t component);

/// Merged components: for every factor its groups, or none if it is not merged; an empty list has
/// no groups. Where a factor has groups, the numbers of components in axes, in `fixed` and in lists
/// of components are those of its groups.
using FactorGroups = std::vector<Groups>;
/// The groups of one factor, empty if it is not merged.
const Groups& groups_of(const FactorGroups& groups, size_t factor);

/// "with", "3", "3 (dead)", or "group 3".
std::string component_label(const FactorialMixture& prior, size_t factor, int64_t component,
                            const FactorGroups& groups = {});

/// "glasses=with, hair=2, background=group 3" for the factors that are held.
std::string fixed_label(const FactorialMixture& prior, const std::vector<int64_t>& fixed,
                        const FactorGroups& groups = {});

/// `count` indices spread over a set of `available` images, fewer where there are fewer: data sets
/// come sorted by class often enough.
std::vector<int64_t> spread_indices(int64_t available, int64_t count);

/// What a sheet of samples shows.
struct SampleOptions {
  int64_t count = 64;
  uint64_t seed = 1;
  std::vector<int64_t> fixed;  ///< as sample_latents takes them
  FactorGroups groups;
  Recipe recipe;             ///< how to draw instead; none is as `seed` and `fixed` say
  bool draw_pixels = false;  ///< draws of p(x|z) in place of its means
  bool bare = false;         ///< images alone: no gaps, no title
  int64_t scale = 0;         ///< magnification; 0 is to some 64 pixels per side, or 1 when bare
  Refinement refinement;     ///< of the means; none shows them as they are
};
/// A square sheet of images drawn from the model.
Figure sample_figure(Vae& model, const SampleOptions& options);
/// A column for each of the same draws of z: the mean, the standard deviation and a sample of
/// p(x|z).
Figure distribution_figure(Vae& model, const SampleOptions& options);

/// A factor and those of its components that are laid out down or across.
struct Axis {
  size_t factor = 0;
  std::vector<int64_t> components;
};
/// The `limit` heaviest components in the order of their numbers.
Axis heaviest_axis(const FactorialMixture& prior, size_t factor, int64_t limit);

/// The paper's K x K figure: each cell the mean over `average` samples with all else drawn, or held
/// as `fixed` has it. Refined cells share their noise.
Figure average_figure(Vae& model, const std::vector<int64_t>& fixed, const Axis& rows,
                      const Axis& columns, int64_t average, uint64_t seed,
                      const FactorGroups& groups = {}, const Refinement& refinement = {});

/// The paper's first figure: in a block the other factors' parts of z are drawn once, and so is the
/// part of each row and of each column; a block is their Cartesian product, drawn as one cell.
/// Refined images of a block share their noise.
Figure block_figure(Vae& model, const std::vector<int64_t>& fixed, const Axis& rows,
                    const Axis& columns, int64_t blocks, uint64_t seed,
                    const FactorGroups& groups = {}, const Refinement& refinement = {});

/// A column for every combination of the named factors that `fixed` leaves free, a row for each of
/// `draws` draws of everything else, the noise of refined images among it. An Error without named
/// factors and for too many combinations.
Figure combination_figure(Vae& model, const std::vector<int64_t>& fixed, int64_t draws,
                          uint64_t seed, const FactorGroups& groups = {},
                          const Refinement& refinement = {});

/// How many samples of a component stand beside their mean and variance.
inline constexpr int64_t kShownSamples = 5;

/// A row for each component or group: the mean and the variance of `average` samples and the first
/// of them, with all other factors drawn from the prior.
Figure cluster_figure(Vae& model, size_t factor, const std::vector<int64_t>& components,
                      int64_t average, uint64_t seed, const FactorGroups& groups = {});

/// A column for each of the U8 images [B, C, H, W]: the input, the mean, the standard deviation and
/// a sample of p(x|z) at the mean of q(z|x). With a refiner the refined mean stands below the
/// input.
Figure reconstruction_figure(Vae& model, const torch::Tensor& pixels,
                             const std::vector<std::string>& labels, uint64_t seed,
                             const Refinement& refinement = {});

}  // namespace facet
