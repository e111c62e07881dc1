#include "facet/serve/upload.h"

#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/serve/answer_parts.h"

namespace facet {

namespace {

/// Whether a PNG may have transparent pixels: its colour type says so, or a chunk before the
/// pixels.
bool may_be_transparent(const std::string& bytes) {
  if (bytes.size() < 33 || bytes.compare(1, 3, "PNG") != 0) return false;
  const int colour_type = bytes[25];
  return (colour_type & 4) != 0 ||
         bytes.substr(0, bytes.find("IDAT")).find("tRNS") != std::string::npos;
}

/// What was done to an image, in one sentence; null where nothing was.
Json upload_notice(const ImageShape& found, const ImageShape& shape, bool transparent) {
  std::vector<std::string> parts;
  if (found.height * shape.width != found.width * shape.height)
    parts.push_back("cropped to the centre");
  if (found.height != shape.height || found.width != shape.width) parts.push_back("resized");
  if (found.channels != shape.channels)
    parts.push_back(shape.channels == 1 ? "made grey" : "given three colour channels");
  if (transparent) parts.push_back("laid on white where it is transparent");
  if (parts.empty()) return Json();
  return fmt::format("{} (width x height) made {}: {}", shape_text(found), shape_text(shape),
                     fmt::join(parts, ", "));
}

}  // namespace

Upload read_upload(HandlerContext& context, const ImageShape& shape, const std::string& bytes) {
  if (!context.image_readers.try_acquire_for(std::chrono::seconds(5)))
    throw ApiError(503, "too many images are being read; try again in a second");
  struct Release {
    std::counting_semaphore<8>& readers;
    ~Release() { readers.release(); }
  } release{context.image_readers};
  const Image image =
      decode_image(bytes, "upload", {.pixels = kMostImagePixels, .jpeg_scans = kMostJpegScans});
  const ImageShape found{image.channels, image.height, image.width};
  const Json notice = upload_notice(found, shape, may_be_transparent(bytes));
  if (found == shape) return {to_tensor({image}), found, notice};
  const Image fitted = resize(with_channels(image, shape.channels), shape.height, shape.width);
  return {to_tensor({fitted}), found, notice};
}

}  // namespace facet
