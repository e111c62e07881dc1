// An image that someone sent, fitted to the model's shape, with what was done to it in words. Few
// are read at once, because a large one takes much memory.
#pragma once

#include <string>

#include "facet/core/json.h"
#include "facet/core/tensor.h"
#include "facet/data/image_shape.h"
#include "facet/serve/handlers.h"

namespace facet {

/// An image that was sent, in the model's shape.
struct Upload {
  torch::Tensor pixels;  // U8 [1, C, H, W]
  ImageShape original;
  Json notice;  // null where nothing was done to it
};

/// An Error where the bytes are no image, an ApiError where too many are being read.
Upload read_upload(HandlerContext& context, const ImageShape& shape, const std::string& bytes);

}  // namespace facet
