#include "cli/picture_options.h"

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/data/image_file.h"

namespace facet {

void add_picture_options(const Command& command, PictureArguments& arguments, uint64_t& seed) {
  command.option("run", arguments.run, "A run folder").required();
  command
      .option("--out", arguments.output,
              "The picture to write, a PNG, or a JPEG where it ends in .jpg")
      .required();
  command.option("--seed", seed, "Another seed draws others").show_default();
  command.device_option(arguments.device);
}

void add_input_options(const Command& command, InputRequest& inputs) {
  const Option images = command.option("images", inputs.images,
                                       "Image files, or SPLIT:INDEX for images of the run's data");
  const Option split =
      command.option("--split", inputs.split, "Images spread over this split, instead")
          .excludes(images);
  command.option("--count", inputs.count, "How many images of --split")
      .range(1, 1000)
      .needs(split)
      .show_default();
  command.flag("--resize", inputs.resize,
               "Crop, resize and convert images of another shape to the model's");
}

Option add_refine_options(const Command& command, RefineChoice& choice) {
  const Option refined = command.flag(
      "--refined", choice.refined, "Make means sharp with the run's refiner, see 'facet refine'");
  command.option("--refine-steps", choice.steps, "Steps of the refiner: more are finer and slower")
      .range(int64_t{1}, kMostRefineSteps)
      .needs(refined)
      .show_default();
  add_guidance_option(command, choice).needs(refined);
  return refined;
}

Option add_guidance_option(const Command& command, RefineChoice& choice) {
  return command
      .option("--refine-guidance", choice.guidance,
              "How strongly refined pictures follow their means: 1 as images do; else as the "
              "refiner has it")
      .range(1.0, kMostGuidance);
}

void require_inputs(const InputRequest& inputs) {
  if (inputs.images.empty() && inputs.split.empty())
    Attempt{"choosing images"}.fail("none", "image files, SPLIT:INDEX such as test:0, or --split");
}

void write_drawn(const DrawnPicture& picture, const std::string& output) {
  write_picture(output, picture.image);
  for (size_t i = 0; i < picture.notes.size(); ++i)
    fmt::print("{}{}\n", picture.notes[i],
               i + 1 < picture.notes.size() ? "" : fmt::format(" in {}", output));
}

}  // namespace facet
