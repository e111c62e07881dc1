#include "facet/serve/serve_run.h"

#include <fmt/format.h>

#include "facet/core/device.h"
#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/core/version.h"
#include "facet/data/batches.h"
#include "facet/data/pack.h"
#include "facet/serve/explorer.h"
#include "facet/serve/http_server.h"
#include "facet/serve/runs_server.h"
#include "facet/train/config.h"
#include "facet/train/run_folder.h"

namespace facet {

namespace fs = std::filesystem;

namespace {

/// The data that the run was trained on. Portraits of another size are not drawn first.
Pack read_run_data(const std::filesystem::path& run, const ImageShape& shape) {
  const DataOptions data = read_saved_config(RunFolder::open(run).config()).data;
  if (!data.pack.empty() || data.portraits.size == shape.height) {
    Pack pack = load_data(data);
    if (pack.shape() == shape) return pack;
  }
  throw Error({.doing = "reading the data of",
               .object = run.string(),
               .found = "images of another size than the model's",
               .expected = "the data that it was trained on",
               .cause = "--pack names others"});
}

/// What only the server of one run has.
void require_one_run(const ServeOptions& options) {
  const std::string option = !options.pack.empty()    ? "--pack"
                             : options.write          ? "--write"
                             : options.refine.refined ? "--refined"
                                                      : "";
  if (!option.empty())
    Attempt{"serving runs", options.run}.fail(fmt::format("{} with a folder of runs", option),
                                              "one run");
}

void serve_one(const ServeOptions& options, const std::function<void(int port)>& ready,
               const std::function<bool()>& stop) {
  ExplorerOptions explored;
  explored.run = options.run;
  explored.device = choose_device(options.device);
  explored.refine = options.refine;
  explored.program = fmt::format("facet {}", version());
  explored.write = options.write;
  if (!options.pack.empty())
    explored.pack = read_pack(options.pack);
  else
    explored.data = [run = explored.run](const ImageShape& shape) {
      return read_run_data(run, shape);
    };
  Explorer explorer(std::move(explored));
  HttpServer server(explorer, options.http);
  ready(server.port());
  server.run(stop);
}

void serve_folder(const ServeOptions& options, const std::function<void(int port)>& ready,
                  const std::function<bool()>& stop) {
  require_one_run(options);
  RunsHandler runs(options.run, choose_device(options.device), fmt::format("facet {}", version()));
  HttpServer server(runs, options.http);
  ready(server.port());
  server.run(stop);
}

}  // namespace

void serve_run(const ServeOptions& options, const std::function<void(int port)>& ready,
               const std::function<bool()>& stop) {
  // One thread for the networks: requests use the other processors, and threads of a team that wait
  // for each other on busy processors take a hundred times as long.
  torch::set_num_threads(1);
  if (fs::is_directory(options.run) && !fs::exists(RunFolder{options.run}.config()))
    serve_folder(options, ready, stop);
  else
    serve_one(options, ready, stop);
}

}  // namespace facet
