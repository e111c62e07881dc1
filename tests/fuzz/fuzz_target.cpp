#include "tests/fuzz/fuzz_target.h"

#include <stdexcept>

#include "tests/fuzz/targets.h"

namespace facet {

const std::vector<FuzzTarget>& fuzz_targets() {
  static const std::vector<FuzzTarget> targets = [] {
    std::vector<FuzzTarget> all = file_targets();
    for (const auto& more : {tensor_targets(), run_targets(), survey_targets(), request_targets()})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return targets;
}

const FuzzTarget& fuzz_target(const std::string& name) {
  for (const FuzzTarget& target : fuzz_targets())
    if (target.name == name) return target;
  throw std::runtime_error("no target is called " + name);
}

}  // namespace facet
