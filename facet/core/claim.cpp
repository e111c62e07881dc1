// The claim of `thing` is a file thing.claim-N. Who takes over claim N makes N + 1 and then removes
// N, so that of several who find the same dead owner only one succeeds, and nobody ever removes or
// replaces the claim of somebody who lives.
#include "facet/core/claim.h"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/core/process.h"
#include "facet/core/temporary_path.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kClaimSuffix = ".claim-";

[[noreturn]] void fail_claim(const fs::path& path, const std::string& found) {
  throw Error({.doing = "locking with",
               .object = path.string(),
               .found = found,
               .expected = "a folder that can be written"});
}

/// A file name taken apart; no thing where it is not that of a claim.
struct ClaimName {
  std::string thing;
  int64_t generation = 0;

  explicit ClaimName(const std::string& name) {
    const size_t at = name.rfind(kClaimSuffix);
    if (at == std::string::npos) return;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + at + kClaimSuffix.size(), end, generation);
    if (read.ec == std::errc() && read.ptr == end) thing = name.substr(0, at);
  }
};

std::vector<ClaimName> claims_in(const fs::path& folder) {
  std::vector<ClaimName> claims;
  std::error_code error;
  // Opening a folder makes an NFS client ask the server for its present contents.
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (ClaimName name(entry->path().filename().string()); !name.thing.empty())
      claims.push_back(std::move(name));
  if (error) fail_claim(folder, error.message());
  return claims;
}

fs::path folder_of(const fs::path& thing) {
  return thing.has_parent_path() ? thing.parent_path() : fs::path(".");
}

std::set<int64_t> generations_of(const fs::path& thing) {
  std::set<int64_t> generations;
  for (const ClaimName& claim : claims_in(folder_of(thing)))
    if (claim.thing == thing.filename()) generations.insert(claim.generation);
  return generations;
}

fs::path claim_path(const fs::path& thing, int64_t generation) {
  fs::path path = thing;
  path += fmt::format("{}{}", kClaimSuffix, generation);
  return path;
}

int64_t modification_time(const struct stat& status) {
  return int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

struct ClaimFile {
  std::string text;
  int64_t renewed = 0;
};

/// Nothing if it is not there. The file is opened first: an NFS client's stat() may be a minute
/// old.
std::optional<ClaimFile> read_claim(const fs::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  ClaimFile file;
  struct stat status {};
  if (fstat(descriptor, &status) == 0) file.renewed = modification_time(status);
  char buffer[1024];
  for (ssize_t count = 0; (count = read(descriptor, buffer, sizeof buffer)) > 0;)
    file.text.append(buffer, static_cast<size_t>(count));
  close(descriptor);
  return file;
}

/// Makes a new file with this text; the error otherwise, EEXIST if there is one.
int make_file(const fs::path& path, const std::string& text) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) return errno;
  errno = EIO;  // of a write that wrote less
  int error = write(descriptor, text.data(), text.size()) == ssize_t(text.size()) ? 0 : errno;
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error != 0) unlink(path.c_str());
  return error;
}

/// False if another has made it first. The file appears with its text: one that was killed in
/// between would else leave a claim of nobody, which others would have to wait for.
bool make_claim(const fs::path& path, const std::string& text) {
  static std::atomic<int64_t> number{0};  // threads may want the same claim
  fs::path own = path;
  own += fmt::format(".{}", ++number);
  const fs::path written = temporary_path(own);
  unlink(written.c_str());  // of a process with our number, long ago
  if (const int error = make_file(written, text); error != 0)
    fail_claim(path, std::strerror(error));
  int error = link(written.c_str(), path.c_str()) == 0 ? 0 : errno;
  unlink(written.c_str());
  // Some file systems have no links.
  if (error == EPERM || error == ENOTSUP || error == ENOSYS) error = make_file(path, text);
  if (error != 0 && error != EEXIST) fail_claim(path, std::strerror(error));
  return error == 0;
}

/// The time by the clock that claims are renewed by: the file server's. Clocks of machines differ.
int64_t folder_time(const fs::path& folder) {
  struct stat status {};
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail_claim(folder, std::strerror(errno));
  const bool read = futimens(descriptor, nullptr) == 0 && fstat(descriptor, &status) == 0;
  const int error = errno;
  close(descriptor);
  if (!read) fail_claim(folder, std::strerror(error));
  return modification_time(status);
}

std::string new_claim_text() {
  static std::atomic<int64_t> number{0};
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char started[32];
  std::strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return Json{{"host", host_name()},
              {"process", getpid()},
              {"started", started},
              {"process_space", process_space()},
              {"number", ++number}}
             .dump() +
         "\n";
}

ClaimHolder holder_of(const ClaimFile& file, const fs::path& folder) {
  using Life = ClaimHolder::Life;
  const auto silence = std::chrono::nanoseconds(folder_time(folder) - file.renewed);
  ClaimHolder holder{"a process that has just begun", "",
                     silence > kTakeOverClaim ? Life::dead : Life::unknown, file.renewed};
  const Json json = Json::parse(file.text, nullptr, false);
  if (!json.is_object()) return holder;  // not written yet; its owner may have died before
  const auto process = static_cast<pid_t>(json.value("process", int64_t{0}));
  const std::string space = json.value("process_space", "");
  holder.name = fmt::format("process {} on {}", process, json.value("host", ""));
  holder.since = json.value("started", "");
  // Who lives here but is silent has another's number, or hangs.
  if (holder.life == Life::unknown && !space.empty() && space == process_space())
    holder.life = process_lives(process) ? Life::alive : Life::dead;
  return holder;
}

}  // namespace

std::unique_ptr<Claim> Claim::take(const fs::path& thing, std::chrono::milliseconds renew) {
  const std::set<int64_t> before = generations_of(thing);
  const int64_t previous = before.empty() ? 0 : *before.rbegin();
  std::optional<ClaimFile> dead;
  if (previous > 0) {
    dead = read_claim(claim_path(thing, previous));
    if (!dead || holder_of(*dead, folder_of(thing)).life != ClaimHolder::Life::dead) return nullptr;
  }
  const fs::path path = claim_path(thing, previous + 1);
  const std::string text = new_claim_text();
  if (!make_claim(path, text)) return nullptr;
  std::unique_ptr<Claim> claim(new Claim(path, text));
  // Between our look and our claim another may have taken it, or taken it and released it.
  std::set<int64_t> others = generations_of(thing);
  others.erase(previous + 1);
  const int64_t highest = others.empty() ? 0 : *others.rbegin();
  if (highest != previous) return nullptr;
  if (dead) {
    const auto still = read_claim(claim_path(thing, previous));
    if (!still || still->text != dead->text) return nullptr;
  }
  for (const int64_t other : others) unlink(claim_path(thing, other).c_str());
  claim->keep_renewing(renew);
  return claim;
}

std::unique_ptr<Claim> Claim::wait_for(const fs::path& thing) {
  for (;;) {
    if (auto claim = take(thing)) return claim;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Claim::Claim(fs::path path, std::string text)
    : path_(std::move(path)), text_(std::move(text)), renewed_(std::chrono::steady_clock::now()) {}

Claim::~Claim() {
  heartbeat_ = {};
  if (const auto file = read_claim(path_); file && file->text == text_) unlink(path_.c_str());
}

void Claim::keep_renewing(std::chrono::milliseconds every) {
  heartbeat_ = std::jthread([this, every](const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      wake_.wait_for(lock, stop, every, [] { return false; });
      if (!stop.stop_requested()) renew();
    }
  });
}

void Claim::renew() {
  const auto file = read_claim(path_);
  if (file && file->text == text_ && utimensat(AT_FDCWD, path_.c_str(), nullptr, 0) == 0)
    renewed_ = std::chrono::steady_clock::now();
  else
    lost_ = true;
}

bool Claim::lost() {
  const std::lock_guard lock(mutex_);
  // A process that was suspended goes on here before its other thread has looked.
  if (!lost_ && std::chrono::steady_clock::now() - renewed_ > kTakeOverClaim / 2) renew();
  return lost_;
}

std::optional<ClaimHolder> claim_holder(const fs::path& thing) {
  const std::set<int64_t> generations = generations_of(thing);
  if (generations.empty()) return {};
  const auto file = read_claim(claim_path(thing, *generations.rbegin()));
  if (!file) return {};
  return holder_of(*file, folder_of(thing));
}

std::vector<fs::path> claimed_things(const fs::path& folder) {
  std::vector<fs::path> things;
  for (const ClaimName& claim : claims_in(folder)) things.push_back(folder / claim.thing);
  return things;
}

}  // namespace facet
