// The model that a run folder has now. Its file is looked at every second and read again when it
// has changed, because a training run writes it with every checkpoint; a file that cannot be read
// leaves the model that was there.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "facet/serve/model_thread.h"
#include "facet/serve/nearest.h"
#include "facet/serve/served_model.h"
#include "facet/train/run_folder.h"

namespace facet {

class ModelReloader {
 public:
  /// Reads the model where the folder has one; an Error where it cannot be read or where images to
  /// search have another shape, and, with `refine`, where the run has no refiner of this model.
  /// `nearest` may be null; it encodes its images with every new model.
  ModelReloader(const RunFolder& folder, torch::Device device, ModelThread& thread,
                NearestImages* nearest, const RefineChoice& refine = {});
  ModelReloader(const ModelReloader&) = delete;
  ModelReloader& operator=(const ModelReloader&) = delete;
  ~ModelReloader();

  /// Null before the first checkpoint.
  ServedModelPointer current() const;
  /// An ApiError with status 503 before the first checkpoint.
  ServedModelPointer required() const;

  /// Reads the model again if its file has changed.
  void refresh();

 private:
  void load(const std::string& version);
  /// Changes with the model and with the names of its factors.
  std::string wanted_version() const;
  void watch();

  RunFolder folder_;
  std::filesystem::path path_;
  RefineChoice refine_;
  torch::Device device_;
  ModelThread& thread_;
  NearestImages* nearest_;

  mutable std::mutex model_mutex_;  // of the next two
  ServedModelPointer model_;
  std::string error_;  // why the file that is there cannot be used

  std::mutex refresh_mutex_;  // of the next two
  std::string seen_;          // version of the file that was looked at last
  bool ending_ = false;
  std::condition_variable ending_changed_;
  std::thread watcher_;
};

}  // namespace facet
