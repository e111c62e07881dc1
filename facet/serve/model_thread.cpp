#include "facet/serve/model_thread.h"

#include <algorithm>

#include "facet/core/torch.h"
#include "facet/model/generate.h"
#include "facet/serve/message.h"

namespace facet {

namespace {

constexpr int64_t kTaskRows = 8;  // what a task counts for among rows that wait
constexpr std::chrono::milliseconds kPause{300}, kLongestWait{500}, kLook{20};

}  // namespace

ModelThread::ModelThread(int64_t most_waiting)
    : most_waiting_(most_waiting), thread_([this] { work(); }) {}

ModelThread::~ModelThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  arrived_.notify_all();
  thread_.join();
}

torch::Tensor ModelThread::decode(const std::shared_ptr<ServedModel>& model,
                                  const torch::Tensor& z) {
  const auto job = std::make_shared<Job>();
  job->model = model;
  job->z = z;
  const ImageShape& shape = model->shape();
  job->pixels = torch::empty({z.size(0), shape.channels, shape.height, shape.width}, kUInt8);
  {
    const std::lock_guard lock(mutex_);
    asked_ = Clock::now();
  }
  enqueue(job, z.size(0));
  job->finished.get_future().get();
  return job->pixels;
}

torch::Tensor ModelThread::one_by_one(int64_t count,
                                      const std::function<torch::Tensor(int64_t number)>& draw) {
  std::vector<torch::Tensor> parts;
  for (int64_t n = 0; n < count; ++n) run([&] { parts.push_back(draw(n)); });
  return torch::cat(parts);
}

namespace {

PictureNoise noise_of(const PictureNoise& noise, int64_t number) {
  return {{noise.keys[static_cast<size_t>(number)]}};
}

}  // namespace

torch::Tensor ModelThread::pictures(const std::shared_ptr<ServedModel>& model,
                                    const torch::Tensor& z, const PictureNoise& noise,
                                    const torch::Tensor& photograph) {
  if (!model->refinement) return decode(model, z);
  const Vae& networks = *model->networks;
  return one_by_one(z.size(0), [&](int64_t n) {
    const torch::Tensor row = z.narrow(0, n, 1).to(networks.device());
    const PictureNoise own = noise_of(noise, n);
    return photograph.defined()
               ? decode_pictures_of(networks, photograph, row, model->refinement, own)
               : decode_pictures(networks, row, model->refinement, own);
  });
}

torch::Tensor ModelThread::pictures(const std::shared_ptr<ServedModel>& model,
                                    const LatentSample& samples, const PictureNoise& noise) {
  if (!model->refinement) return decode(model, samples.z);
  const Vae& networks = *model->networks;
  return one_by_one(samples.z.size(0), [&](int64_t n) {
    const auto row = [&](const torch::Tensor& all) {
      return all.narrow(0, n, 1).to(networks.device());
    };
    return decode_pictures(networks, LatentSample{row(samples.z), row(samples.components)},
                           model->refinement, noise_of(noise, n));
  });
}

void ModelThread::run(const std::function<void()>& task) {
  {
    const std::lock_guard lock(mutex_);
    asked_ = Clock::now();
  }
  run_task(task);
}

void ModelThread::run_in_pause(const std::function<void()>& task) {
  const auto began = Clock::now();
  const auto is_pause = [&] {
    const std::lock_guard lock(mutex_);
    return ending_ || Clock::now() - asked_ > kPause;
  };
  while (!is_pause() && Clock::now() - began < kLongestWait) std::this_thread::sleep_for(kLook);
  run_task(task);
}

void ModelThread::run_task(const std::function<void()>& task) {
  const auto job = std::make_shared<Job>();
  job->task = task;
  enqueue(job, kTaskRows);
  job->finished.get_future().get();
}

void ModelThread::enqueue(const std::shared_ptr<Job>& job, int64_t rows) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_ || waiting_ + rows > most_waiting_)
      throw ApiError(503, "too many requests wait for the model; try again in a second");
    waiting_ += rows;
    jobs_.push_back(job);
  }
  arrived_.notify_one();
}

/// The first job, and where it decodes all others that decode with the same model.
std::deque<std::shared_ptr<ModelThread::Job>> ModelThread::next_pass() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return !jobs_.empty() || ending_; });
  std::deque<std::shared_ptr<Job>> chosen;
  if (jobs_.empty()) return chosen;
  const Job& first = *jobs_.front();
  for (const auto& job : jobs_) {
    if (!chosen.empty() && (first.task || job->task || job->model != first.model)) continue;
    if (static_cast<int64_t>(chosen.size()) <
        std::max<int64_t>(first.model ? first.model->batch : 1, 1))
      chosen.push_back(job);
  }
  return chosen;
}

void ModelThread::decode_shares(const std::deque<std::shared_ptr<Job>>& jobs) {
  const std::shared_ptr<ServedModel> model = jobs.front()->model;
  const auto count = static_cast<int64_t>(jobs.size());
  const int64_t share = std::max<int64_t>(1, model->batch / count);
  std::vector<torch::Tensor> parts;
  for (const auto& job : jobs)
    parts.push_back(job->z.narrow(0, job->done, std::min(share, job->left())));
  const torch::Tensor pixels =
      decode_means(*model->networks, torch::cat(parts).to(model->networks->device()));
  int64_t row = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const int64_t rows = parts[i].size(0);
    jobs[i]->pixels.narrow(0, jobs[i]->done, rows).copy_(pixels.narrow(0, row, rows));
    jobs[i]->done += rows;
    row += rows;
  }
}

/// Those that are not go to the back of the queue.
void ModelThread::remove_finished(const std::deque<std::shared_ptr<Job>>& jobs) {
  const std::lock_guard lock(mutex_);
  for (const auto& job : jobs) {
    jobs_.erase(std::find(jobs_.begin(), jobs_.end(), job));
    if (!job->task && job->left() > 0)
      jobs_.push_back(job);
    else
      waiting_ -= job->task ? kTaskRows : job->z.size(0);
  }
}

void ModelThread::work() {
  for (;;) {
    const auto jobs = next_pass();
    if (jobs.empty()) return;
    std::exception_ptr error;
    try {
      if (jobs.front()->task)
        jobs.front()->task();
      else
        decode_shares(jobs);
    } catch (...) {
      error = std::current_exception();
      for (const auto& job : jobs)
        if (!job->task) job->done = job->z.size(0);
    }
    remove_finished(jobs);
    for (const auto& job : jobs) {
      if (error)
        job->finished.set_exception(error);
      else if (job->task || job->left() == 0)
        job->finished.set_value();
    }
  }
}

}  // namespace facet
