// Draws sixteen images from a trained model:  generate RUN/model.safetensors PICTURE.png
#include <cstdio>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/model/model_file.h"
#include "facet/prior/sampling.h"
#include "facet/report/picture.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: generate MODEL.safetensors PICTURE.png\n");
    return 2;
  }
  try {
    const torch::NoGradGuard no_gradient;
    const std::shared_ptr<facet::Vae> model = facet::read_model(argv[1]);
    const facet::LatentSample draw = facet::sample_latents(facet::Key(1), model->prior, 16);
    const facet::Likelihood& likelihood = model->likelihood();
    const torch::Tensor images = likelihood.mean(model->decode(draw.z));  // [16, C, H, W]
    facet::GridOptions grid;
    grid.columns = 4;
    facet::write_png(argv[2],
                     facet::draw_grid(facet::to_images(likelihood.to_pixels(images)), grid));
  } catch (const facet::Error& error) {
    std::fprintf(stderr, "generate: %s\n", error.what());
    return 2;
  }
}
