// The refiner: it turns a model's decoded mean, which is blurred, into a sharp image. It is a
// conditional flow: a network v(x, t | mean) is trained so that following dx/dt = v from noise at
// t = 0 to t = 1 draws an image given its mean (docs/mathematics.md). A second, small flow does the
// same for latent vectors given their components, so that samples of the prior, whose dimensions
// are independent, become ones that images could have. A refiner belongs to one model, which it
// does not change. All its images are float32 [B, C, H, W] in [-1, 1].
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "facet/core/random.h"
#include "facet/core/tensor.h"
#include "facet/model/refine_request.h"
#include "facet/model/vae.h"
#include "facet/nets/unet.h"
#include "facet/nets/vector_flow.h"
#include "facet/prior/sampling.h"

namespace facet {

class Refiner {
 public:
  /// `guidance` is the strength that pictures are drawn with; 0 for a refiner that is never trained
  /// without means, which has no guidance.
  Refiner(const UnetOptions& options, const Vae& model, const Key& key, double guidance = 0);

  /// v at images x [B, C, H, W] and times [B], given means [B, C, H, W]. On a GPU the network
  /// computes in bfloat16; the result is float32.
  torch::Tensor velocity(const torch::Tensor& x, const torch::Tensor& means,
                         const torch::Tensor& times) const;
  /// The same with guidance of a strength: v(x, t) + strength (v(x, t | means) - v(x, t)), where
  /// v(x, t) is given no means. 1 is velocity(), more follows the means more closely.
  torch::Tensor guided_velocity(const torch::Tensor& x, const torch::Tensor& means,
                                const torch::Tensor& times, double strength) const;

  /// The velocity of latent vectors x [B, Z] at times [B], in units of the components' scales,
  /// given what latent_conditions() says of them. Float32.
  torch::Tensor latent_velocity(const torch::Tensor& x, const torch::Tensor& conditions,
                                const torch::Tensor& times) const {
    return latents_.velocity(x, conditions, times);
  }

  /// Those of the flow of images, and "latents.input.weight" and so on.
  NamedTensors parameters() const;
  const UnetOptions& network() const { return network_.options(); }
  double guidance() const { return guidance_; }
  const ImageShape& shape() const { return shape_; }
  /// The fingerprint of the model that it belongs to (model/fingerprint.h).
  const std::string& model() const { return model_; }
  torch::Device device() const;
  void move_to(torch::Device device);
  int64_t parameter_count() const;
  /// The images to refine at once: at most 128, or fewer if its layers are so large that these
  /// would take more than half a gigabyte each.
  int64_t images_at_once() const;

 private:
  ImageShape shape_;
  std::string model_;
  double guidance_;
  Unet network_;
  VectorFlow latents_;
};

/// U8 pixels as float32 in [-1, 1], and back.
torch::Tensor to_unit_range(const torch::Tensor& pixels);
torch::Tensor from_unit_range(const torch::Tensor& images);
/// The means of p(x|z) in [-1, 1], on the model's device, for z [B, Z]. Means of a Gaussian may lie
/// outside by a little.
torch::Tensor unit_means(const Vae& model, const torch::Tensor& z);

/// x_t = (1 - t) noise + t image, for times [B].
torch::Tensor mix_noise(const torch::Tensor& images, const torch::Tensor& noise,
                        const torch::Tensor& times);

/// Means that say nothing, for those that are hidden from the refiner: all grey.
torch::Tensor hide_means(const torch::Tensor& means, const torch::Tensor& hidden);

/// dx/dt at images or vectors x and a time.
using Velocity = std::function<torch::Tensor(const torch::Tensor& x, double time)>;
/// Follows dx/dt = v from x at time `start` to t = 1 in `steps` steps of Heun's method; the last is
/// one of Euler's, because v is not trained at t = 1.
torch::Tensor follow_flow(const Velocity& velocity, torch::Tensor x, double start, int64_t steps);

/// The time from which a photograph is refined: so much of it is kept.
inline constexpr double kPhotographStart = 0.5;

/// How pictures are made from means.
struct Refinement {
  std::shared_ptr<const Refiner> refiner;  ///< null: they are the means
  int64_t steps = kDefaultRefineSteps;
  double guidance = 0;  ///< 0: as the refiner has it

  explicit operator bool() const { return refiner != nullptr; }
  /// The strength of guidance: 1 for none.
  double strength() const;
};

/// The options of a command that refines in this way, each after a space: " --refined".
std::string refine_options(const Refinement& refinement);

/// What the flow of latent vectors is given: the centres of their components [B, Z], and for every
/// value of a named factor how probable it is by the latent vector itself, so that what clearly has
/// a value keeps it. Float32 [B, C].
torch::Tensor latent_conditions(const FactorialMixture& prior, const torch::Tensor& z,
                                const GaussianRows& components);
/// C.
int64_t latent_condition_count(const FactorialMixture& prior);

/// Samples of the prior moved to where latent vectors of images lie that have the same components:
/// along the flow of latent vectors, from the place within the components. [B, Z]
torch::Tensor likely_latents(const FactorialMixture& prior, const LatentSample& samples,
                             const Refinement& refinement);

/// The noise that each of a list of pictures starts from. Pictures with the same key share it, and
/// then differ only in what their latent vectors say.
struct PictureNoise {
  std::vector<Key> keys;

  /// Its own for each.
  static PictureNoise each(const Key& key, int64_t count);
  /// One for all.
  static PictureNoise shared(const Key& key, int64_t count);
  /// One for every `repeats` pictures in turn: rows that share their noise.
  static PictureNoise by_row(const Key& key, int64_t count, int64_t repeats);
  /// The same `period` of them again and again.
  static PictureNoise cycling(const Key& key, int64_t count, int64_t period);
};

/// Pictures for z [B, Z], U8 [B, C, H, W] on the CPU: the means of p(x|z), refined if there is a
/// refiner. A picture is the same whichever others are made with it.
torch::Tensor decode_pictures(const Vae& model, const torch::Tensor& z,
                              const Refinement& refinement, const PictureNoise& noise);
/// The same for samples of the prior. If there is a refiner, it draws their likely_latents().
torch::Tensor decode_pictures(const Vae& model, const LatentSample& samples,
                              const Refinement& refinement, const PictureNoise& noise);
/// Pictures for z that was found from photographs, U8 [B, C, H, W], as the mean of q(z|x), and
/// perhaps changed: the flow starts from the photograph, changed as its decoded mean has changed,
/// with half noise, so that what the latent vector does not describe stays.
torch::Tensor decode_pictures_of(const Vae& model, const torch::Tensor& photographs,
                                 const torch::Tensor& z, const Refinement& refinement,
                                 const PictureNoise& noise);

void write_refiner(const std::filesystem::path& path, const Refiner& refiner,
                   torch::ScalarType weights = kFloat32);
/// Throws an Error if it belongs to another model than this one. On the model's device.
std::shared_ptr<Refiner> read_refiner(const std::filesystem::path& path, const Vae& model);

}  // namespace facet
