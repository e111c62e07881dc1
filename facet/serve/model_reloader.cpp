#include "facet/serve/model_reloader.h"

#include <chrono>

#include "facet/core/error.h"
#include "facet/model/model_summary.h"
#include "facet/serve/answer_parts.h"
#include "facet/serve/message.h"
#include "facet/train/loaded_run.h"
#include "facet/train/run_names.h"

namespace facet {

ModelReloader::ModelReloader(const RunFolder& folder, torch::Device device, ModelThread& thread,
                             NearestImages* nearest, const RefineChoice& refine)
    : folder_(folder),
      path_(folder.model()),
      refine_(refine),
      device_(device),
      thread_(thread),
      nearest_(nearest) {
  // A run that has only begun has no model yet; one that cannot be read will not mend itself.
  if (const std::string version = wanted_version(); !version.empty()) load(version);
  watcher_ = std::thread([this] { watch(); });
}

ModelReloader::~ModelReloader() {
  {
    const std::lock_guard lock(refresh_mutex_);
    ending_ = true;
  }
  ending_changed_.notify_all();
  watcher_.join();
}

void ModelReloader::watch() {
  std::unique_lock lock(refresh_mutex_);
  while (!ending_changed_.wait_for(lock, std::chrono::seconds(1), [&] { return ending_; })) {
    lock.unlock();
    refresh();
    lock.lock();
  }
}

std::string ModelReloader::wanted_version() const {
  const std::string model = file_version(path_);
  return model.empty() ? model : model + file_version(folder_.names());
}

void ModelReloader::load(const std::string& version) {
  seen_ = version;
  const ServedModelPointer fresh = load_served_model(path_, version, device_, thread_);
  apply_names(fresh->networks->prior, read_names(folder_));
  fresh->summary.update(model_summary(*fresh->networks));
  fresh->refinement = load_refinement({folder_, {}, fresh->networks}, refine_);
  if (nearest_ != nullptr && nearest_->loaded() && nearest_->pack().shape() != fresh->shape())
    throw Error({.doing = "searching the pack",
                 .found = "images of " + shape_text(nearest_->pack().shape()),
                 .expected = shape_text(fresh->shape()) + ", as the model has"});
  {
    const std::lock_guard lock(model_mutex_);
    model_ = fresh;
    error_.clear();
  }
  if (nearest_ != nullptr) nearest_->encode_with(fresh, thread_);
}

void ModelReloader::refresh() {
  const std::lock_guard lock(refresh_mutex_);
  const std::string version = wanted_version();
  if (version.empty() || version == seen_) return;
  try {
    load(version);
  } catch (const ApiError&) {  // the networks are busy: again in a second
    seen_.clear();
  } catch (const std::exception& error) {  // the model that was there goes on
    const std::lock_guard model_lock(model_mutex_);
    error_ = error.what();
  }
}

ServedModelPointer ModelReloader::current() const {
  const std::lock_guard lock(model_mutex_);
  return model_;
}

ServedModelPointer ModelReloader::required() const {
  const std::lock_guard lock(model_mutex_);
  if (model_) return model_;
  throw ApiError(503, error_.empty() ? "there is no model yet: the training writes it with its "
                                       "first checkpoint (train.checkpoint_every steps)"
                                     : error_);
}

}  // namespace facet
