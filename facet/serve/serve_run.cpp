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
#include "facet/train/config.h"
#include "facet/train/run_folder.h"

namespace facet {

namespace {

/// The data that the run was trained on, where they are still there: a model can be served without.
void find_data(ExplorerOptions& explored) {
  try {
    explored.pack = load_data(read_saved_config(RunFolder::open(explored.run).config()).data);
  } catch (const Error& error) {
    explored.data_notice = fmt::format("the run's data cannot be read: {}", error.what());
  }
}

}  // namespace

void serve_run(const ServeOptions& options, const std::function<void(int port)>& ready,
               const std::function<bool()>& stop) {
  // One thread for the networks: requests use the other processors, and threads of a team that wait
  // for each other on busy processors take a hundred times as long.
  torch::set_num_threads(1);
  ExplorerOptions explored;
  explored.run = options.run;
  explored.device = choose_device(options.device);
  explored.refine = options.refine;
  explored.program = fmt::format("facet {}", version());
  explored.write = options.write;
  if (!options.pack.empty())
    explored.pack = read_pack(options.pack);
  else
    find_data(explored);
  Explorer explorer(std::move(explored));
  HttpServer server(explorer, options.http);
  ready(server.port());
  server.run(stop);
}

}  // namespace facet
