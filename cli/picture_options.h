// Options that several picture commands have.
#pragma once

#include <string>

#include "cli/command.h"
#include "facet/report/picture_requests.h"

namespace facet {

struct PictureArguments {
  std::string run, output, device = "auto";
};

/// Adds the run, --out, --seed and --device.
void add_picture_options(const Command& command, PictureArguments& arguments, uint64_t& seed);

/// Adds the images, --split, --count and --resize.
void add_input_options(const Command& command, InputRequest& inputs);

/// Adds --refined, which is returned, --refine-steps and --refine-guidance.
Option add_refine_options(const Command& command, RefineChoice& choice);
/// Adds --refine-guidance, which is returned.
Option add_guidance_option(const Command& command, RefineChoice& choice);

/// An Error where they name no image.
void require_inputs(const InputRequest& inputs);

/// Writes the picture and prints its notes; the last is followed by where it is.
void write_drawn(const DrawnPicture& picture, const std::string& output);

}  // namespace facet
