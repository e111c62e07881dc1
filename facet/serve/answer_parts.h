// The parts that answers are made of: shapes, numbers and pictures, as JSON and as PNG.
#pragma once

#include <string>
#include <vector>

#include "facet/core/json.h"
#include "facet/core/tensor.h"
#include "facet/data/image_shape.h"
#include "facet/model/vae.h"
#include "facet/serve/message.h"
#include "facet/serve/reading.h"
#include "facet/serve/served_model.h"

namespace facet {

Json shape_json(const ImageShape& shape);
/// "16x16 RGB".
std::string shape_text(const ImageShape& shape);

/// The noise of refined pictures that come from an image: one, so that edits of it differ only in
/// what was changed.
PictureNoise edit_noise(int64_t count);

/// Where the factor's block of z begins.
int64_t first_dimension(const FactorialMixture& prior, size_t factor);

/// U8 pixels [B, C, H, W] side by side without gaps, as `facet sample --bare` draws them.
std::string draw_png(const torch::Tensor& pixels, int64_t columns, int64_t scale);
/// One row of them.
std::string draw_one(const torch::Tensor& pixels, int64_t row, int64_t scale);

/// The answer with all pictures: U8 pixels [B, C, H, W] of latents with B rows. `commands` has one
/// entry per picture or is empty.
ApiResponse pictures_response(const ServedModel& model, const Look& look,
                              const torch::Tensor& pixels, const LatentSample& latents,
                              const std::vector<std::string>& commands);

}  // namespace facet
