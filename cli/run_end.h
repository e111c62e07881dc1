// How a training run ends: when the user interrupts it, and what it leaves behind when it is done.
#pragma once

#include "facet/train/trainer.h"

namespace facet {

/// From now on the first Ctrl-C (or SIGTERM) is an interruption that the trainer is asked to save
/// and stop for; a second Ctrl-C ends the program at once.
void save_on_interrupt();
/// From now on Ctrl-C ends the program, as usual.
void end_on_interrupt();
bool interrupted();

/// Writes a sheet of samples and then the evaluation of a trained run: on the test split, or, in a
/// pack without one, on the train split.
Evaluation finish_run(Trainer& trainer, const Pack& pack, const Config& config,
                      const RunFolder& folder, torch::Device device);

}  // namespace facet
