// `facet serve RUN`: the explorer, a page in the browser on which properties are turned like
// switches. Serves a finished run or one that is still training, on this machine alone unless told
// otherwise.
#include <fmt/format.h>

#include "cli/interruption.h"
#include "cli/picture_options.h"
#include "cli/server_address.h"
#include "facet/serve/serve_run.h"

namespace facet {

namespace {

void run_serve(ServeOptions options) {
  require_token_beyond_loopback(options.http);
  const auto ready = [&](int port) {
    // Requests under way are answered first; who does not want to wait for them sends it again.
    catch_interruption();
    fmt::print("serving {} at {} - Ctrl-C ends it\n", options.run,
               server_address(options.http, port));
    std::fflush(stdout);
  };
  serve_run(options, ready, interrupted);
}

}  // namespace

void add_serve_command(const Command& program) {
  auto arguments = std::make_shared<ServeOptions>();
  const Command command =
      program.command("serve", "Explore a run in the browser, also while it trains");
  command.option("run", arguments->run, "A run folder, or a folder of runs to compare").required();
  command.option("--port", arguments->http.port, "Where to listen; 0 takes a free port")
      .range(0, 65535)
      .show_default();
  command.option("--host", arguments->http.host, "Address of this machine to listen at")
      .show_default();
  command.repeated("--allow-host", arguments->http.allowed_hosts,
                   "A name that browsers may call this server by");
  command.option("--token", arguments->http.token,
                 "What requests must know; beyond this machine a random one, if none is given");
  command.option("--pack", arguments->pack,
                 "A pack of images to show and search; without it, the data of the run");
  command.flag("--write", arguments->write,
               "Let people name factors and label images; saved in the run");
  add_refine_options(command, arguments->refine);
  command.device_option(arguments->device);
  command.run([arguments] { run_serve(*arguments); });
}

}  // namespace facet
