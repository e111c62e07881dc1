#include "facet/serve/runs_server.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/train/config.h"
#include "facet/train/run_folder.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kRunPrefix = "/run/";
constexpr size_t kMostEvaluationBytes = 16 << 20;

/// Whether a folder holds a run of networks, or what is left of one.
bool holds_run(const fs::path& path) {
  std::error_code error;  // of folders that may not be read: they hold nothing for us
  const RunFolder run{path};
  const bool begun = fs::exists(run.config(), error) || fs::exists(run.metrics(), error) ||
                     fs::exists(run.model(), error);
  if (!begun) return false;
  try {
    return !is_fit_run(path);
  } catch (const Error&) {
    return true;  // damaged: the list says how
  }
}

/// The names of the runs in a folder, sorted.
std::vector<std::string> run_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && holds_run(entry->path())) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// An address below /run/NAME: the name, and the rest as the run's own explorer has it.
struct RunAddress {
  std::string name, rest;
};

std::optional<RunAddress> run_address(std::string_view path) {
  if (!path.starts_with(kRunPrefix)) return std::nullopt;
  path.remove_prefix(kRunPrefix.size());
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return RunAddress{std::string(path.substr(0, slash)), std::string(path.substr(slash))};
}

/// A name of one folder, and not of the folder itself or of the one above.
bool is_plain_name(std::string_view name) {
  return !name.empty() && !name.starts_with('.') && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

/// Factors that have the name of a property: only their accuracy says how well labels were learned.
std::set<std::string> named_factors(const RunFolder& run) {
  std::set<std::string> names;
  for (const FactorOptions& factor : read_saved_config(run.config()).model.factors)
    if (factor.named()) names.insert(factor.name);
  return names;
}

Json number_or_null(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_number() ? json[key] : Json();
}

/// Bound, accuracy of named factors and components in use, of an eval.json.
Json evaluation_figures(const Json& evaluation, const std::set<std::string>& named) {
  Json factors = Json::array(), accuracies = Json::object();
  if (evaluation.contains("factors") && evaluation["factors"].is_array())
    for (const Json& factor : evaluation["factors"]) {
      if (!factor.is_object() || !factor.contains("name") || !factor["name"].is_string()) continue;
      factors.push_back({{"name", factor["name"]},
                         {"living", number_or_null(factor, "used")},
                         {"components", number_or_null(factor, "components")}});
      if (const auto name = factor["name"].get<std::string>();
          named.count(name) > 0 && factor.contains("accuracy"))
        accuracies[name] = number_or_null(factor, "accuracy");
    }
  return {{"bound", {{"value", number_or_null(evaluation, "elbo")}, {"split", "test"}}},
          {"accuracies", accuracies},
          {"factors", factors}};
}

Json read_evaluation(const fs::path& path, const std::set<std::string>& named) {
  if (fs::file_size(path) > kMostEvaluationBytes)
    Attempt{"reading an evaluation", path.string()}.fail(
        fmt::format("{} bytes", fs::file_size(path)),
        fmt::format("at most {}", kMostEvaluationBytes));
  const Json json = Json::parse(read_text(path, "reading an evaluation"), nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object())
    Attempt{"reading an evaluation", path.string()}.fail("no JSON object",
                                                         "what facet train writes");
  return evaluation_figures(json, named);
}

}  // namespace

RunsHandler::RunsHandler(fs::path folder, torch::Device device, std::string program)
    : folder_(std::move(folder)), device_(device), program_(std::move(program)) {
  if (run_names(folder_).empty())
    Attempt{"serving runs", folder_.string()}.fail(
        "no run in it", "a run folder, or a folder of runs", "is the path spelled right?");
}

RunsHandler::~RunsHandler() = default;

std::string_view RunsHandler::method_at(std::string_view path) const {
  if (path == "/api/v1/runs" || path == "/api/v1/metrics") return "GET";
  const auto address = run_address(path);
  const Explorer::Route* route = address ? Explorer::route(address->rest) : nullptr;
  return route == nullptr ? "" : route->method;
}

std::string RunsHandler::page_file(std::string_view path) const {
  if (path == "/") return "/runs/runs.html";
  if (path.starts_with(kRunPrefix)) {
    const auto address = run_address(path);
    if (!address || !is_plain_name(address->name) || !holds_run(folder_ / address->name)) return "";
    return Explorer::page_file_at(address->rest);
  }
  return path.starts_with("/survey/") ? "" : std::string(path);
}

void RunsHandler::check_body(std::string_view path, const std::string& content_type,
                             size_t bytes) const {
  const auto address = run_address(path);
  const Explorer::Route* route = address ? Explorer::route(address->rest) : nullptr;
  if (route != nullptr) route->check_body(content_type, bytes);
}

ApiResponse RunsHandler::handle(const ApiRequest& request) {
  return answer_of([&]() -> ApiResponse {
    if (const auto address = run_address(request.path)) {
      ApiRequest own = request;
      own.path = address->rest;
      return explorer(address->name)->handle(own);
    }
    const std::string_view method = method_at(request.path);
    if (method.empty()) throw ApiError(404, "there is nothing at this address");
    if (request.method != method) throw ApiError(405, fmt::format("this address takes {}", method));
    return request.path == "/api/v1/runs" ? answer_runs(request) : answer_metrics(request);
  });
}

size_t RunsHandler::loaded() const {
  const std::lock_guard lock(loaded_mutex_);
  return loaded_.size();
}

/// What is known of a run, read again where its files have changed.
RunsHandler::KnownRun RunsHandler::known(const std::string& name) {
  const RunFolder run{folder_ / name};
  const std::lock_guard lock(known_mutex_);
  KnownRun& known = known_[name];
  const std::string config_version = file_version(run.config());
  if (config_version.empty() || config_version != known.config_version) {
    known = {};
    known.config_version = config_version;
    try {
      known.watch = std::make_shared<RunWatch>(RunFolder::open(run.path));
      known.named = named_factors(run);
    } catch (const std::exception& error) {
      known.error = error.what();
    }
  }
  const std::string version = file_version(run.evaluation());
  if (version != known.evaluation_version) {
    known.evaluation_version = version;
    known.evaluation = Json::object();
    known.evaluation_error.clear();
    try {
      if (!version.empty()) known.evaluation = read_evaluation(run.evaluation(), known.named);
    } catch (const std::exception& error) {
      known.evaluation_error = error.what();
    }
  }
  return known;
}

/// A run as the list shows it: figures of its evaluation, or else of its last metrics.
Json RunsHandler::listed(const std::string& name) {
  const KnownRun run = known(name);
  Json entry = {{"name", name}, {"model", fs::exists(RunFolder{folder_ / name}.model())}};
  if (!run.watch) {
    entry.update({{"state", "damaged"}, {"error", run.error}});
    return entry;
  }
  entry.update(run.watch->summary());
  if (!run.evaluation.empty()) entry.update(run.evaluation);
  if (!run.evaluation_error.empty()) entry["error"] = run.evaluation_error;
  if (!run.model_error.empty() &&
      run.model_version == file_version(RunFolder{folder_ / name}.model()))
    entry.update({{"state", "damaged"}, {"error", run.model_error}});
  return entry;
}

ApiResponse RunsHandler::answer_runs(const ApiRequest& request) {
  Query(request, {});
  const std::vector<std::string> names = run_names(folder_);
  Json runs = Json::array();
  for (size_t i = 0; i < std::min(names.size(), kMostListedRuns); ++i)
    runs.push_back(listed(names[i]));
  return json_response({{"api", "v1"},
                        {"program", program_},
                        {"folder", fs::absolute(folder_ / "").parent_path().filename().string()},
                        {"runs", runs},
                        {"left_out", names.size() - runs.size()}});
}

ApiResponse RunsHandler::answer_metrics(const ApiRequest& request) {
  const Query query(request, {"run", "after"});
  const std::string& name = query.text("run");
  if (!is_plain_name(name) || !holds_run(folder_ / name))
    throw ApiError(404, "there is no run of this name", "run");
  const KnownRun run = known(name);
  if (!run.watch) throw ApiError(500, run.error, "run");
  return json_response(run.watch->metrics(query.integer("after", 0, 0, 1000000000)));
}

/// The explorer of a run, read if it is not in memory.
std::shared_ptr<Explorer> RunsHandler::explorer(const std::string& name) {
  if (!is_plain_name(name) || !holds_run(folder_ / name))
    throw ApiError(404, "there is no run of this name");
  std::shared_ptr<Explorer> unused;  // it ends its threads after the lock is open again
  const std::lock_guard lock(loaded_mutex_);
  const auto found = std::find_if(loaded_.begin(), loaded_.end(),
                                  [&](const auto& each) { return each.first == name; });
  if (found != loaded_.end()) {
    loaded_.splice(loaded_.begin(), loaded_, found);
    return found->second;
  }
  if (loaded_.size() >= kMostLoadedRuns) {
    unused = std::move(loaded_.back().second);
    loaded_.pop_back();
  }
  loaded_.emplace_front(name, load(name));
  return loaded_.front().second;
}

std::shared_ptr<Explorer> RunsHandler::load(const std::string& name) {
  ExplorerOptions options;
  options.run = folder_ / name;
  options.device = device_;
  options.program = program_;
  options.data = [run = options.run](const ImageShape&) -> Pack {
    throw Error({.doing = "showing images",
                 .object = run.string(),
                 .found = "a run among others",
                 .expected = "the run alone",
                 .cause = fmt::format("'facet serve {}' shows them", run.string())});
  };
  try {
    return std::make_shared<Explorer>(std::move(options));
  } catch (const Error& error) {
    const std::lock_guard lock(known_mutex_);
    known_[name].model_version = file_version(RunFolder{folder_ / name}.model());
    known_[name].model_error = error.what();
    throw ApiError(500, error.what());
  }
}

}  // namespace facet
