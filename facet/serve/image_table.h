// What the model says of every image of a pack, kept as plain numbers so that lists of images are
// made without the networks: the component and its probability by factor, and how typical the image
// is. From it come the images of a component, what labels say about a component, and where an
// uploaded image stands among those of the test split.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facet/core/json.h"
#include "facet/core/tensor.h"
#include "facet/data/pack.h"
#include "facet/model/vae.h"

namespace facet {

/// Images that uploaded ones are compared with.
inline constexpr int64_t kMostReferenceImages = 1000;

struct ImageTable {
  ImageTable(int64_t images, size_t factors);

  /// The images from `start` on, by their encoding.
  void take(const FactorialMixture& prior, const Encoding& encoding, int64_t start);
  /// After the last image: sorts what percentiles are looked up in.
  void finish(const Pack& pack);

  int64_t images = 0;
  size_t factors = 0;
  // By image and factor, [N, I].
  std::vector<int32_t> components;
  std::vector<float> probabilities;  ///< of the component
  std::vector<float> densities;      ///< predictive log density of the block
  std::vector<float> typicality;     ///< their sum over factors, [N]
  std::vector<double> errors;        ///< of the reference images, sorted
  std::vector<double> reference;     ///< typicality of the reference images, sorted

  size_t place(int64_t row, size_t factor) const {
    return static_cast<size_t>(row) * factors + factor;
  }
};

/// Rows of a component (-1: of any) of a factor, or of all images in their order.
enum class ImageOrder { index, typical, borderline, outliers };
struct ImageChoice {
  int64_t factor = -1;  ///< -1: none
  int64_t component = -1;
  int64_t property = -1, value = -1;  ///< only images with this label; -1: all
  ImageOrder order = ImageOrder::index;
};
std::vector<int64_t> chosen_images(const ImageTable& table, const torch::Tensor& labels,
                                   const ImageChoice& choice);

/// What labels say about the components of a factor: for each component, the values that are most
/// telling ("hair style: afro 72 %"), and for the factor the property that explains it best.
Json label_statements(const ImageTable& table, const Pack& pack, const FactorOptions& factor,
                      size_t index);

/// The share of numbers that are smaller, in percent.
double percentile(const std::vector<double>& sorted, double value);

/// Up to kMostReferenceImages rows of the test split, or of all where it is empty.
std::vector<int64_t> reference_rows(const Pack& pack, int64_t images);

/// Root mean square difference of U8 pixels [B, C, H, W] in grey levels, float64 [B].
torch::Tensor image_errors(const torch::Tensor& pixels, const torch::Tensor& means);

/// The predictive log density of z [B, Z], summed over factors, float64 [B].
torch::Tensor typicality(const FactorialMixture& prior, const torch::Tensor& z);

}  // namespace facet
