// Whether and how a picture is refined, as commands ask for it.
#pragma once

#include <cstdint>

namespace facet {

inline constexpr int64_t kDefaultRefineSteps = 8, kMostRefineSteps = 100;

struct RefineChoice {
  bool refined = false;
  int64_t steps = kDefaultRefineSteps;  ///< of Heun's method
};

}  // namespace facet
