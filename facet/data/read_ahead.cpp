#include "facet/data/read_ahead.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "facet/core/error.h"

namespace facet {

namespace {

struct Outcome {
  ReadPicture picture;
  std::exception_ptr failure;
};

class Reader {
 public:
  Reader(const std::vector<std::filesystem::path>& files, size_t threads,
         const std::function<Image(const std::filesystem::path&)>& read)
      : files_(files), read_(read), slots_(2 * threads) {
    for (size_t t = 0; t < threads; ++t) {
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {  // with fewer threads it takes longer
        if (threads_.empty()) throw;
      }
    }
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  /// The next picture, as soon as it is there.
  ReadPicture next() {
    std::unique_lock lock(mutex_);
    std::optional<Outcome>& slot = slots_[taken_ % slots_.size()];
    ready_.wait(lock, [&] { return slot.has_value(); });
    Outcome outcome = std::move(*slot);
    slot.reset();
    ++taken_;
    lock.unlock();
    room_.notify_one();
    if (outcome.failure) std::rethrow_exception(outcome.failure);
    return std::move(outcome.picture);
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      room_.wait(lock, [&] {
        return stopped_ || started_ == files_.size() || started_ < taken_ + slots_.size();
      });
      if (stopped_ || started_ == files_.size()) return;
      const size_t file = started_++;
      lock.unlock();
      Outcome outcome = read(files_[file]);
      lock.lock();
      slots_[file % slots_.size()] = std::move(outcome);
      ready_.notify_one();
    }
  }

  Outcome read(const std::filesystem::path& file) const {
    Outcome outcome;
    try {
      outcome.picture.image = read_(file);
    } catch (const Error& error) {
      outcome.picture.error = error.what();
    } catch (...) {
      outcome.failure = std::current_exception();
    }
    return outcome;
  }

  const std::vector<std::filesystem::path>& files_;
  const std::function<Image(const std::filesystem::path&)>& read_;
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  std::vector<std::optional<Outcome>> slots_;  ///< file f is in slot f modulo their number
  size_t started_ = 0, taken_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

void read_ahead(const std::vector<std::filesystem::path>& files, size_t threads,
                const std::function<Image(const std::filesystem::path&)>& read,
                const std::function<void(size_t, ReadPicture&&)>& take) {
  Reader reader(files, std::max<size_t>(1, std::min(threads, files.size())), read);
  for (size_t file = 0; file < files.size(); ++file) take(file, reader.next());
}

}  // namespace facet
