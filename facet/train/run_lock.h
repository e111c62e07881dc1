// The lock of a run folder: one process at a time writes into it, be it `facet train`, a run of a
// sweep, `facet refine`, `facet fit` or `facet index`. It is a claim (core/claim.h), the same that
// sweeps take, so it holds between machines that share the folder, and that of a process that was
// killed is taken over. Of several ranks that train one model, the first has it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "facet/core/claim.h"

namespace facet {

class RunLock {
 public:
  /// Locks the folder `run`, which need not exist, and removes the temporary files that a killed
  /// process left in it. Throws an Error that begins with `doing` and names the holder where
  /// another process has it.
  RunLock(const std::filesystem::path& run, const std::string& doing);

  /// Throws an Error if another process has taken the run over meanwhile, because this one was
  /// suspended: nothing may be written then.
  void require() const;

 private:
  std::filesystem::path run_;
  std::unique_ptr<Claim> claim_;
};

/// The path by which all processes name the claim of a folder, however they were given it.
std::filesystem::path claimed_path(const std::filesystem::path& folder);

}  // namespace facet
