// Whether and how a picture is refined, as commands ask for it.
#pragma once

#include <cstdint>

namespace facet {

inline constexpr int64_t kDefaultRefineSteps = 8, kMostRefineSteps = 100;
inline constexpr double kMostGuidance = 10;

struct RefineChoice {
  bool refined = false;
  int64_t steps = kDefaultRefineSteps;  ///< of Heun's method
  double guidance = 0;  ///< how strongly pictures follow their means; 0: as the refiner has it
};

}  // namespace facet
