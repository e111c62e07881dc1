#include "facet/train/run_lock.h"

#include <thread>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/train/run_folder.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

/// Others may release or take it between our try and our look at who has it.
constexpr int kTries = 20;

[[noreturn]] void fail_locked(const fs::path& run, const std::string& doing,
                              const ClaimHolder& holder) {
  const bool elsewhere = holder.life == ClaimHolder::Life::unknown;
  Attempt{doing, run.string()}.fail(
      fmt::format("{}, which writes in it{}", holder.name,
                  holder.since.empty() ? "" : " since " + holder.since),
      "a folder that no other process writes in",
      elsewhere
          ? fmt::format("wait for it or end it; if it is gone, the lock ends {} seconds after "
                        "its last sign of life",
                        kTakeOverClaim.count())
          : "wait for it, or end it: its last checkpoint stays");
}

}  // namespace

fs::path claimed_path(const fs::path& folder) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(fs::absolute(folder), error);
  if (error) path = fs::absolute(folder).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

RunLock::RunLock(const fs::path& run, const std::string& doing) : run_(run) {
  const fs::path thing = claimed_path(run);
  std::error_code error;
  fs::create_directories(thing.parent_path(), error);
  if (error) Attempt{doing, run.string()}.fail(error.message(), "a folder that can be made");
  for (int tries = 0; !(claim_ = Claim::take(thing)); ++tries) {
    const auto holder = claim_holder(thing);
    const bool held = holder && holder->life != ClaimHolder::Life::dead;
    if (held && (tries > 0 || holder->life == ClaimHolder::Life::alive))
      fail_locked(run, doing, *holder);
    if (tries == kTries)
      Attempt{doing, run.string()}.fail("a lock that others take all the time", "a free one");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  RunFolder{run}.remove_temporary_files();
  remove_left_overs(thing.parent_path(), LeftOvers::of_the_dead);  // of claims
}

void RunLock::require() const {
  if (claim_->lost())
    Attempt{"writing in", run_.string()}.fail(
        "that another process has taken the run over", "the lock that this one had",
        "it was suspended, or the file server was away, for too long");
}

}  // namespace facet
