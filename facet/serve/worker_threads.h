// Threads that make answers while the server's own thread goes on reading and writing. One is
// started whenever a task comes and all are busy, so that no task waits for another one, and kept
// for later tasks: starting a thread takes longer than most answers.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace facet {

class WorkerThreads {
 public:
  /// Tasks wait for each other only where more than `most` come at once.
  explicit WorkerThreads(size_t most) : most_(most) {}
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;
  /// Waits for all tasks.
  ~WorkerThreads();

  /// Runs a task on another thread; false where the machine has none for it. A task that throws has
  /// ended like any other.
  bool run(std::function<void()> task);

 private:
  void work();

  size_t most_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> tasks_;
  size_t idle_ = 0;  // threads that wait for a task
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace facet
