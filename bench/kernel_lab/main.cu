// Checks every pointwise and prior kernel against plain float64 code, without LibTorch: on odd
// sizes, with outputs that begin as NaN and guard zones around every buffer. Then it times them.
#include "bench/kernel_lab/lab.cuh"

int main() {
  facet::lab::Lab lab;
  facet::lab::check_random(lab);
  facet::lab::check_latent(lab);
  facet::lab::check_likelihood(lab);
  facet::lab::check_adam(lab);
  facet::lab::check_sums(lab);
  facet::lab::check_prior(lab);
  facet::lab::check_predictive(lab);
  facet::lab::check_group_norm(lab);
  std::printf("%s\n", lab.all_agree() ? "all agree" : "SOME DISAGREE");
  return lab.all_agree() ? 0 : 1;
}
