// The encoder's head, draws of the latent vector and KL to N(0, I) against plain code.
#include "bench/kernel_lab/lab.cuh"
#include "facet/cuda/latent.h"
#include "facet/cuda/random.h"

namespace facet::lab {

namespace {

constexpr double low = -8, high = 5;  // bounds of the log variance

/// Inputs and the gradients that come back, for B images and Z latents.
struct LatentInputs {
  int64_t images, latents;
  std::vector<float> head, of_mean, of_log_variance, of_z, of_kl, noise;
};

/// What plain code makes of them.
struct LatentExpected {
  std::vector<double> mean, log_variance, z, gradient, log_variance_only, z_gradient, kl, kl_mean,
      kl_log_variance;

  explicit LatentExpected(const LatentInputs& in)
      : gradient(in.head.size()), log_variance_only(in.head.size()), kl(in.of_kl.size()) {
    for (int64_t b = 0; b < in.images; ++b)
      for (int64_t d = 0; d < in.latents; ++d) {
        const int64_t i = b * in.latents + d, at = i + b * in.latents;
        const double m = in.head[at], raw = in.head[at + in.latents],
                     v = std::clamp(raw, low, high);
        const double sigma = std::exp(0.5 * v), inside = raw >= low && raw <= high;
        mean.push_back(m), log_variance.push_back(v), z.push_back(m + sigma * in.noise[i]);
        z_gradient.push_back(0.5 * in.of_z[i] * sigma * in.noise[i]);
        gradient[at] = static_cast<double>(in.of_mean[i]) + in.of_z[i];
        gradient[at + in.latents] = inside * (in.of_log_variance[i] + z_gradient[i]);
        log_variance_only[at + in.latents] = inside * in.of_log_variance[i];
        kl[b] += 0.5 * (m * m + std::exp(v) - 1 - v);
        kl_mean.push_back(in.of_kl[b] * m);
        kl_log_variance.push_back(0.5 * in.of_kl[b] * (std::exp(v) - 1));
      }
  }
};

void time_encoding(Lab& lab, const Buffer<int64_t>& counter) {
  const Buffer<float> head(lab.normals<float>(2 * 4096)), a(4096), b(4096), c(4096), g(8192);
  const cuda::LatentShape shape{64, 64, -12.f, 8.f, 99, counter};
  lab.time("encoding with draw, 64 x 64",
           [&](cudaStream_t stream) { cuda::split_encoding(head, a, b, c, shape, stream); });
  lab.time("encoding with draw, gradient, 64 x 64", [&](cudaStream_t stream) {
    cuda::split_encoding_gradient(head, a, b, c, g, shape, stream);
  });
}

}  // namespace

void check_latent(Lab& lab) {
  const int64_t images = 7, latents = 13, count = images * latents;
  const uint64_t key = 99;
  const Buffer<int64_t> counter(std::vector<int64_t>{3});
  LatentInputs in{images,
                  latents,
                  lab.normals<float>(2 * count, 6),  // beyond the bounds now and then
                  lab.normals<float>(count),
                  lab.normals<float>(count),
                  lab.normals<float>(count),
                  lab.normals<float>(images),
                  {}};
  const Buffer<float> head(in.head), of_mean(in.of_mean), of_log_variance(in.of_log_variance),
      of_z(in.of_z), of_kl(in.of_kl), noise(count);
  const Buffer<float> mean(count), log_variance(count), z(count), gradient(2 * count),
      log_variance_only(2 * count), z_again(count), z_gradient(count), kl(images), kl_mean(count),
      kl_log_variance(count);
  const cuda::LatentShape shape{images, latents, low, high, key, counter};
  const cudaStream_t stream = lab.stream();
  cuda::fill_normal(noise, count, key, counter, stream);
  cuda::split_encoding(head, mean, log_variance, z, shape, stream);
  cuda::split_encoding_gradient(head, of_mean, of_log_variance, of_z, gradient, shape, stream);
  cuda::split_encoding_gradient(head, nullptr, of_log_variance, nullptr, log_variance_only, shape,
                                stream);
  cuda::sample_latent(mean, log_variance, z_again, count, key, counter, stream);
  cuda::sample_latent_gradient(log_variance, of_z, z_gradient, count, key, counter, stream);
  cuda::standard_normal_kl(mean, log_variance, kl, images, latents, stream);
  cuda::standard_normal_kl_gradient(mean, log_variance, of_kl, 1, kl_mean, kl_log_variance, images,
                                    latents, stream);
  lab.wait();
  in.noise = noise.host();
  const LatentExpected expected(in);
  lab.report("encoding: mean", error(mean.host(), expected.mean), 0);
  lab.report("encoding: log variance", error(log_variance.host(), expected.log_variance), 0);
  lab.report("encoding: draw", error(z.host(), expected.z), 1e-6);
  lab.report("encoding: gradient of all", error(gradient.host(), expected.gradient), 1e-6);
  lab.report("encoding: gradient of the log variance alone",
             error(log_variance_only.host(), expected.log_variance_only), 0);
  lab.report("latent draw", error(z_again.host(), expected.z), 1e-6);
  lab.report("latent draw: gradient", error(z_gradient.host(), expected.z_gradient), 1e-6);
  lab.report("KL to N(0, I)", error(kl.host(), expected.kl), 1e-6);
  lab.report("KL to N(0, I): gradient by the mean", error(kl_mean.host(), expected.kl_mean), 1e-6);
  lab.report("KL to N(0, I): gradient by the log variance",
             error(kl_log_variance.host(), expected.kl_log_variance), 1e-6);
  time_encoding(lab, counter);
}

}  // namespace facet::lab
