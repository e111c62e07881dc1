// `facet serve RUN`: the explorer, a page in the browser on which properties are turned like
// switches. Serves a finished run or one that is still training, on this machine alone unless told
// otherwise.
#include <fmt/format.h>

#include "cli/interruption.h"
#include "cli/picture_options.h"
#include "facet/serve/serve_run.h"

namespace facet {

namespace {

void run_serve(const ServeOptions& options) {
  const auto ready = [&](int port) {
    // Requests under way are answered first; who does not want to wait for them sends it again.
    catch_interruption();
    const bool is_six = options.http.host.find(':') != std::string::npos;
    fmt::print("serving {} at http://{}:{} - Ctrl-C ends it\n", options.run,
               is_six ? "[" + options.http.host + "]" : options.http.host, port);
    std::fflush(stdout);
  };
  serve_run(options, ready, interrupted);
}

}  // namespace

void add_serve_command(const Command& program) {
  auto arguments = std::make_shared<ServeOptions>();
  const Command command =
      program.command("serve", "Explore a run in the browser, also while it trains");
  command.option("run", arguments->run, "A run folder").required();
  command.option("--port", arguments->http.port, "Where to listen; 0 takes a free port")
      .range(0, 65535)
      .show_default();
  command.option("--host", arguments->http.host, "Address of this machine to listen at")
      .show_default();
  command.repeated("--allow-host", arguments->http.allowed_hosts,
                   "A name that browsers may call this server by");
  command.option("--pack", arguments->pack, "A pack to search for the nearest images");
  add_refine_options(command, arguments->refine);
  command.device_option(arguments->device);
  command.run([arguments] { run_serve(*arguments); });
}

}  // namespace facet
