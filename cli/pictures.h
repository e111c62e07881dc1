// What the picture commands share: their common options, decoding to pixels, how large to draw, and
// the images that a user hands in. A command computes everything first and writes one PNG at the
// end, so that a mistake leaves no file behind.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/command.h"
#include "facet/data/batches.h"
#include "facet/report/picture.h"

namespace facet {

struct PictureArguments {
  std::string run, output, device = "auto";
  uint64_t seed = 1;
};

/// Adds the run, --out, --seed and --device.
void add_picture_options(CLI::App& command, PictureArguments& arguments);

/// The means of p(x|z) for z [B, Z], U8 [B, C, H, W] on the CPU.
torch::Tensor decode_means(Vae& model, const torch::Tensor& z);
/// A draw from each p(x|z) instead.
torch::Tensor decode_samples(Vae& model, const torch::Tensor& z, const Key& key);

/// Numbers [...] as U8 with `darkest` black and `brightest` white.
torch::Tensor stretch(const torch::Tensor& numbers, double darkest, double brightest);

/// How much to magnify images: to some 64 pixels a side, and further where labels above or below
/// them need more room.
int64_t magnification(const ImageShape& shape, const std::vector<std::string>& labels = {});

/// The `limit` heaviest components of a factor, heaviest first.
std::vector<int64_t> heaviest_components(const FactorPosterior& posterior, int64_t limit);

/// Whether a component has taken any image; where not, samples of it show nothing.
bool is_living(const FactorialMixture& prior, size_t factor, int64_t component);

/// "with", "3", or "3 (dead)".
std::string component_label(const FactorialMixture& prior, size_t factor, int64_t component);

/// "glasses=with, hair=2" for the factors that are held.
std::string fixed_label(const FactorialMixture& prior, const std::vector<int64_t>& fixed);

/// The images that a command works on.
struct InputArguments {
  std::vector<std::string> images;
  std::string split;
  int64_t count = 8;
  bool resize = false;
};

/// Adds the images, --split, --count and --resize.
void add_input_options(CLI::App& command, InputArguments& arguments);

/// Reads images of the model's shape from files, or as SPLIT:INDEX from the run's own data, which
/// are loaded when first asked for. Others are an Error, or are converted with a notice.
class InputImages {
 public:
  InputImages(const LoadedRun& run, bool resize) : run_(run), resize_(resize) {}

  /// The names of all images that arguments ask for; an Error where they ask for none.
  std::vector<std::string> names(const InputArguments& arguments);
  /// U8 [B, C, H, W] on the CPU.
  torch::Tensor read(const std::vector<std::string>& names);

 private:
  torch::Tensor read_one(const std::string& name);  // [C, H, W]
  torch::Tensor read_file(const std::string& name);
  const ImageSet& images_of(const std::string& split);

  const LoadedRun& run_;
  bool resize_;
  std::map<std::string, ImageSet> splits_;
};

/// A name as a label: without folders and ending.
std::string short_name(const std::string& name);

/// What the encoder says of U8 pixels [B, C, H, W].
Encoding encode_pixels(Vae& model, const torch::Tensor& pixels);

/// What a sheet of samples shows.
struct SampleOptions {
  int64_t count = 64;
  uint64_t seed = 1;
  std::vector<int64_t> fixed;  ///< as sample_latents takes them
  bool draw_pixels = false;    ///< draws of p(x|z) in place of its means
};

/// Draws images from the model and writes them as a square sheet.
void write_samples(Vae& model, const SampleOptions& options, const std::filesystem::path& path);

}  // namespace facet
