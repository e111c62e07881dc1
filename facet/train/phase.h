// The three phases of training: the networks, the mixtures, and both together.
#pragma once

#include <cstdint>

namespace facet {

enum class Phase : int64_t { pretrain = 0, initialise = 1, joint = 2, done = 3 };

/// "pretrain", "initialise", "joint" or "done".
const char* phase_name(Phase phase);

}  // namespace facet
