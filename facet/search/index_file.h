// An index of images on disk: a folder that holds a copy of the run's model and config, so that it
// is a run folder itself and outlives the run; index.safetensors with the quantizer and the list of
// segments; and for every segment, which is what one call of `facet index` adds, the latent
// vectors, codes, given labels and file names of its images, and their 4-bit numbers in a second
// file. All are mapped into memory. A segment counts once index.safetensors names it, so that an
// interrupted call leaves the index as it was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/data/data_options.h"
#include "facet/data/pack.h"
#include "facet/data/text_column.h"
#include "facet/model/vae.h"
#include "facet/search/image_codes.h"
#include "facet/search/quantizer.h"

namespace facet {

struct IndexSegment {
  std::string name;        ///< of its files, "segment-0000"
  int64_t images = 0;      ///< N below
  std::string source;      ///< the pack, or the folder that `files` are relative to
  bool from_pack = false;  ///< whether `source` is a pack

  torch::Tensor latents;  ///< means of q(z|x), float16 [N, Z]
  torch::Tensor codes;    ///< int32 [N, I]
  torch::Tensor labels;   ///< given labels of named factors as components, int32 [N, I]; -1: none
  torch::Tensor scan;     ///< U8 [blocks, M, 16] (search/fast_scan.h)
  TextColumn files;       ///< empty if the images have no names

  /// The name of an image: its file, or its row in the pack.
  std::string image_name(int64_t row) const;
};

struct SearchIndex {
  std::filesystem::path folder;
  std::string model;  ///< the fingerprint of the model that made it
  LatentQuantizer quantizer;
  std::vector<IndexSegment> segments;

  int64_t count() const;
};

/// What an index is made of.
struct IndexSource {
  const Pack& pack;
  std::string source;      ///< as in IndexSegment
  bool from_pack = false;  ///< as in IndexSegment
  DataOptions options;     ///< of the run
};

/// Makes an index in a new folder, with copies of the run's config and of the model's file.
/// The scan has at most `bytes` bytes per image. False if events.stop() said so; the folder is then
/// not made.
bool create_index(const std::filesystem::path& folder, const Vae& model,
                  const std::filesystem::path& config, const std::filesystem::path& model_file,
                  const IndexSource& source, int64_t bytes, const PassEvents& events);

/// Adds the images of another pack. Throws an Error if the index was made by another model.
bool append_to_index(const std::filesystem::path& folder, const Vae& model,
                     const IndexSource& source, const PassEvents& events);

/// Throws an Error if the folder has no index.
void require_index(const std::filesystem::path& folder);

/// Throws an Error if the folder has no index of this model, or a damaged one.
SearchIndex read_index(const std::filesystem::path& folder, const Vae& model);

}  // namespace facet
