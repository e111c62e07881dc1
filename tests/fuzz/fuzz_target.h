// What is tried with damaged input: every reader of bytes that come from others. libFuzzer looks
// for bytes that crash one (`make fuzz`); the test program tries the seeds, the inputs that once
// did harm, and a few hundred variations of each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace facet {

struct FuzzTarget {
  std::string name;
  /// Reads the bytes. True if they were taken, false if they were refused by an Error; whatever
  /// else is thrown is a finding.
  bool (*run)(std::string_view bytes);
  /// Inputs that are taken.
  std::vector<std::string> (*seeds)();
};

const std::vector<FuzzTarget>& fuzz_targets();

/// Inputs of a target that it must refuse; none for some targets.
std::vector<std::string> refused_inputs(const std::string& target);

/// The target of this name; throws std::runtime_error if there is none.
const FuzzTarget& fuzz_target(const std::string& name);

}  // namespace facet
