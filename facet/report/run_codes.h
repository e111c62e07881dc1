// The codes of a run's images as files, and images drawn from codes: what `facet encode` and `facet
// decode` do.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "facet/report/picture_requests.h"
#include "facet/train/loaded_run.h"

namespace facet {

struct EncodeRequest {
  std::vector<std::string> data;  ///< a pack, a folder of images, a CSV, or image files
  std::string output;             ///< .csv, .npy, .npz or .safetensors
  bool packed = false;            ///< codes as bits
  bool probabilities = false;     ///< the probability of every component
  bool latents = false;           ///< mean and variance of every block
};

/// How a long pass over images tells where it is.
struct CodeEvents {
  std::function<void(int64_t done, int64_t images)> progress = {};
  std::function<bool()> stop = {};
  std::function<void(const std::string&)> notice = [](const std::string&) {};
};

struct EncodeSummary {
  bool stopped = false;  ///< nothing was written
  int64_t images = 0;
  int64_t factors = 0;
  int64_t bits = 0;  ///< of a packed code
};

/// Throws an Error if the data do not fit the model or the file cannot be written.
EncodeSummary encode_images(const LoadedRun& run, const EncodeRequest& request,
                            const CodeEvents& events);

struct DecodeRequest {
  std::string file;                ///< codes that `facet encode` or another program wrote
  bool packed = false;             ///< the file is a .npy of packed codes
  std::vector<std::string> codes;  ///< in place of a file: "glasses=with,first=3"
  bool draw = false;               ///< draw within components, in place of their means
  int64_t limit = 400;             ///< images of a sheet
  uint64_t seed = 1;
};

/// One sheet of the images of all codes.
DrawnPicture decode_sheet(const LoadedRun& run, const DecodeRequest& request);

/// One PNG per code below `folder`, with the name of the image that it is of. The number of images
/// that were written, fewer than there are codes if events.stop() said so.
int64_t decode_folder(const LoadedRun& run, const DecodeRequest& request, const std::string& folder,
                      const CodeEvents& events);

}  // namespace facet
