// The explorer of a run, or of a folder of runs, served over HTTP until told to stop: what `facet
// serve` does.
#pragma once

#include <functional>
#include <string>

#include "facet/model/refine_request.h"
#include "facet/serve/http_options.h"

namespace facet {

struct ServeOptions {
  std::string run;             ///< a run folder, finished or still training, or a folder of runs
  std::string pack;            ///< images to show and search; empty: those of the run's config
  bool write = false;          ///< whether names and labels may be written to the run
  std::string device = "cpu";  ///< where to compute
  HttpOptions http;
  RefineChoice refine;  ///< of pictures
};

/// `ready` gets the port once requests are answered; `stop` is asked every 50 milliseconds.
void serve_run(const ServeOptions& options, const std::function<void(int port)>& ready,
               const std::function<bool()>& stop);

}  // namespace facet
