#include "facet/serve/worker_threads.h"

#include <exception>
#include <system_error>
#include <utility>

namespace facet {

WorkerThreads::~WorkerThreads() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  arrived_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerThreads::run(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (tasks_.size() >= idle_ && threads_.size() < most_) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // the machine has no more: the task waits for another one
      if (threads_.empty()) return false;
    }
  }
  tasks_.push_back(std::move(task));
  arrived_.notify_one();
  return true;
}

void WorkerThreads::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    arrived_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) return;
    {
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      try {
        task();
      } catch (const std::exception&) {  // out of memory: what the task held is freed
      }
    }
    lock.lock();
  }
}

}  // namespace facet
