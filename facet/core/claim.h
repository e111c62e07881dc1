// Claims: of several processes, on one machine or on several that share a folder, one works on a
// thing in that folder, such as a run (train/run_lock.h). A claim is a file beside the thing that
// says who has it. It is made with O_EXCL, which is atomic on NFS too; locks of the kernel often
// are not there.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace facet {

/// How often an owner renews its claim by touching the file, and after how long without it the
/// claim is taken over. Much longer, because a loaded file server may answer late.
inline constexpr std::chrono::seconds kRenewClaim{15};
inline constexpr std::chrono::seconds kTakeOverClaim{120};

class Claim {
 public:
  /// Claims `thing`, the path of a file or folder that need not exist. Nothing where another owner
  /// has it who lives, or may live: the claim of an owner who has died is taken over. Tests renew
  /// it more often.
  static std::unique_ptr<Claim> take(const std::filesystem::path& thing,
                                     std::chrono::milliseconds renew = kRenewClaim);
  /// Waits until it can be taken.
  static std::unique_ptr<Claim> wait_for(const std::filesystem::path& thing);

  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  /// Releases it.
  ~Claim();

  /// Whether another process has taken it over, since this one could not renew it for too long (it
  /// was suspended, or the network was away). The owner must stop then.
  bool lost();

 private:
  Claim(std::filesystem::path path, std::string text);
  void renew();
  void keep_renewing(std::chrono::milliseconds every);

  const std::filesystem::path path_;
  const std::string text_;  ///< of the file; no other claim has the same
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::chrono::steady_clock::time_point renewed_;
  bool lost_ = false;
  std::jthread heartbeat_;
};

/// What the claim of a thing says, to one who has not got it.
struct ClaimHolder {
  enum class Life { alive, dead, unknown };
  std::string name;     ///< "process 1234 on node7"
  std::string since;    ///< when it took the claim, "2026-01-31T12:00:00Z"; empty where not known
  Life life;            ///< unknown: on another machine, and still in time to renew its claim
  int64_t renewed = 0;  ///< when it did so last, in nanoseconds of the file system's clock
};
std::optional<ClaimHolder> claim_holder(const std::filesystem::path& thing);

/// What is claimed in a folder, by owners who live or do not.
std::vector<std::filesystem::path> claimed_things(const std::filesystem::path& folder);

}  // namespace facet
