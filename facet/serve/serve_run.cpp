#include "facet/serve/serve_run.h"

#include <fmt/format.h>

#include "facet/core/device.h"
#include "facet/core/torch.h"
#include "facet/core/version.h"
#include "facet/data/pack.h"
#include "facet/serve/explorer.h"
#include "facet/serve/http_server.h"

namespace facet {

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
  if (!options.pack.empty()) explored.pack = read_pack(options.pack);
  Explorer explorer(std::move(explored));
  HttpServer server(explorer, options.http);
  ready(server.port());
  server.run(stop);
}

}  // namespace facet
