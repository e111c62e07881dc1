// Claims: one owner at a time, also among many who want it at once; what a dead owner leaves is
// taken over, and one who was thought dead notices.
#include "facet/core/claim.h"

#include <atomic>
#include <chrono>
#include <fcntl.h>
#include <functional>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/core/json.h"
#include "tests/contains.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

namespace fs = std::filesystem;
using Life = ClaimHolder::Life;

/// Makes a file look as if it was last renewed some seconds ago.
void age(const fs::path& path, int64_t seconds) {
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  const timespec time{status.st_mtim.tv_sec - seconds, status.st_mtim.tv_nsec};
  const timespec times[2] = {time, time};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

/// The number of a process that has ended.
pid_t dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 5000 && !condition(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return condition();
}

class ClaimTest : public testing::Test {
 protected:
  fs::path file(int generation) const {
    return folder_ / ("run.claim-" + std::to_string(generation));
  }
  /// The claim of this process, said to be another's.
  void write_claim(int generation, const Json& changes) {
    const auto own = Claim::take(folder_ / "own");
    Json json = Json::parse(read_text(folder_ / "own.claim-1", "test"));
    json.update(changes);
    write_text(file(generation), json.dump(), "test");
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  TemporaryFolder folder_;
  fs::path run_ = folder_ / "run";
};

TEST_F(ClaimTest, HasOneOwnerUntilItIsReleased) {
  auto claim = Claim::take(run_);
  ASSERT_TRUE(claim);
  EXPECT_FALSE(Claim::take(run_));
  EXPECT_TRUE(Claim::take(folder_ / "run.claim")) << "another thing with a similar name";
  const Json json = Json::parse(read_text(file(1), "test"));
  EXPECT_EQ(json["process"], getpid());
  EXPECT_FALSE(json["host"].get<std::string>().empty());
  EXPECT_TRUE(contains(json["started"], "T")) << json;
  const auto holder = claim_holder(run_);
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->life, Life::alive);
  EXPECT_TRUE(contains(holder->name, std::to_string(getpid()))) << holder->name;
  claim.reset();
  EXPECT_EQ(files(), 0u) << "nothing is left";
  EXPECT_FALSE(claim_holder(run_));
  EXPECT_TRUE(Claim::take(run_));
}

TEST_F(ClaimTest, OfManyWhoWantItOneHasItAtATime) {
  std::atomic<int> inside{0}, most{0}, taken{0};
  write_claim(1, {{"process", dead_process()}});  // all find it at once
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 300; ++turn)
        if (const auto claim = Claim::take(run_)) {
          most = std::max(most.load(), ++inside);
          ++taken;
          std::this_thread::yield();
          --inside;
        }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_GT(taken, 8);
  EXPECT_EQ(files(), 0u);
}

TEST_F(ClaimTest, OfAProcessThatIsGoneIsTakenOverAtOnce) {
  write_claim(1, {{"process", dead_process()}});
  EXPECT_EQ(claim_holder(run_)->life, Life::dead);
  const auto claim = Claim::take(run_);
  ASSERT_TRUE(claim);
  EXPECT_FALSE(fs::exists(file(1)));
  EXPECT_TRUE(fs::exists(file(2)));
  EXPECT_FALSE(Claim::take(run_));
}

TEST_F(ClaimTest, OfAProcessThatHasEndedAndThatNobodyHasWaitedForIsTakenOver) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t ended{};
  waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  write_claim(1, {{"process", child}});
  EXPECT_TRUE(Claim::take(run_));
  waitpid(child, nullptr, 0);
}

TEST_F(ClaimTest, OfAnotherMachineIsTakenOverWhenItWasNotRenewed) {
  for (const Json& other : {Json{{"process_space", "another boot"}, {"host", "node7"}},
                            Json{{"process_space", ""}, {"host", "node7"}}}) {
    write_claim(3, other);
    EXPECT_EQ(claim_holder(run_)->life, Life::unknown);
    EXPECT_TRUE(contains(claim_holder(run_)->name, "node7"));
    EXPECT_FALSE(Claim::take(run_));
    age(file(3), kTakeOverClaim.count() - 10);
    EXPECT_FALSE(Claim::take(run_));
    age(file(3), 20);
    EXPECT_TRUE(Claim::take(run_));
    EXPECT_EQ(files(), 0u);
  }
  write_text(file(1), "", "test");  // its owner died before it wrote who it is
  EXPECT_FALSE(Claim::take(run_));
  age(file(1), kTakeOverClaim.count() + 10);
  EXPECT_TRUE(Claim::take(run_));
}

TEST_F(ClaimTest, IsRenewedWhileItIsHeld) {
  const auto claim = Claim::take(run_, std::chrono::milliseconds(10));
  age(file(1), kTakeOverClaim.count() - 10);
  const int64_t before = claim_holder(run_)->renewed;
  EXPECT_TRUE(comes_true([&] { return claim_holder(run_)->renewed > before; }));
  EXPECT_FALSE(claim->lost());
}

TEST_F(ClaimTest, WhoHasLostItNoticesAndLeavesThatOfTheNextOwner) {
  auto suspended = Claim::take(run_, std::chrono::milliseconds(100));
  age(file(1), kTakeOverClaim.count() + 10);
  const auto next = Claim::take(run_);
  ASSERT_TRUE(next);
  EXPECT_TRUE(comes_true([&] { return suspended->lost(); }));
  suspended.reset();
  EXPECT_FALSE(next->lost());
  EXPECT_TRUE(fs::exists(file(2)));
}

TEST_F(ClaimTest, AreListedByWhatIsClaimed) {
  write_claim(12, {{"process", dead_process()}});
  write_text(folder_ / "notes.claim-x", "", "test");
  EXPECT_EQ(claimed_things(folder_.path()), std::vector<fs::path>{run_});
}

TEST_F(ClaimTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_TRUE(contains(message_of([&] { Claim::take(folder_ / "absent" / "run"); }), "absent"));
}

}  // namespace
}  // namespace facet
