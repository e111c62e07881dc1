// A folder of runs over HTTP: a page that lists and compares them, which is in web/runs, and the
// explorer of each run below /run/NAME/. Figures and curves come from the files of a run alone; its
// model is read when someone asks for a picture, and only a few are kept.
#pragma once

#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "facet/serve/explorer.h"
#include "facet/serve/request_handler.h"
#include "facet/serve/run_watch.h"

namespace facet {

/// Models that are in memory at once; the one that was used longest ago makes room.
inline constexpr size_t kMostLoadedRuns = 4;
/// Runs that are listed; further ones are counted.
inline constexpr size_t kMostListedRuns = 500;

/// Addresses, besides those of each run's explorer below /run/NAME:
///   GET /api/v1/runs                      the runs with their figures
///   GET /api/v1/metrics?run=NAME&after=0  lines of a run's metrics
class RunsHandler : public RequestHandler {
 public:
  /// An Error where the folder holds no runs.
  RunsHandler(std::filesystem::path folder, torch::Device device, std::string program);
  RunsHandler(const RunsHandler&) = delete;
  RunsHandler& operator=(const RunsHandler&) = delete;
  ~RunsHandler() override;

  std::string_view method_at(std::string_view path) const override;
  std::string page_file(std::string_view path) const override;
  void check_body(std::string_view path, const std::string& content_type,
                  size_t bytes) const override;
  /// Throws nothing.
  ApiResponse handle(const ApiRequest& request) override;

  /// Models that are in memory now.
  size_t loaded() const;

 private:
  /// What is known of a run without its model.
  struct KnownRun {
    std::string config_version;              // of the file that `watch` or `error` comes from
    std::shared_ptr<RunWatch> watch;         // null where the config cannot be read
    std::string error;                       // why not
    std::set<std::string> named;             // factors with a property, by the config
    std::string evaluation_version;          // of what follows
    Json evaluation = Json::object();        // figures of eval.json; empty where there are none
    std::string evaluation_error;            // why eval.json cannot be read
    std::string model_version, model_error;  // of a model that could not be loaded
  };

  ApiResponse answer_runs(const ApiRequest& request);
  ApiResponse answer_metrics(const ApiRequest& request);
  KnownRun known(const std::string& name);
  Json listed(const std::string& name);
  std::shared_ptr<Explorer> explorer(const std::string& name);
  std::shared_ptr<Explorer> load(const std::string& name);

  std::filesystem::path folder_;
  torch::Device device_;
  std::string program_;

  std::mutex known_mutex_;
  std::map<std::string, KnownRun> known_;

  mutable std::mutex loaded_mutex_;
  std::list<std::pair<std::string, std::shared_ptr<Explorer>>> loaded_;  // used last comes first
};

}  // namespace facet
