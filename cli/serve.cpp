// `facet serve RUN`: the explorer, a page in the browser on which properties are turned like
// switches. Serves a finished run or one that is still training, on this machine alone unless told
// otherwise.
#include <unistd.h>

#include <fmt/format.h>

#include "cli/interruption.h"
#include "cli/picture_options.h"
#include "facet/serve/serve_run.h"

namespace facet {

namespace {

/// Where a browser of another machine finds the server.
std::string reachable_host(const std::string& host) {
  if (host != "0.0.0.0" && host != "::")
    return host.find(':') != std::string::npos ? "[" + host + "]" : host;
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 && name[0] != '\0' ? name : host;
}

void run_serve(ServeOptions options) {
  const bool is_open = !is_loopback(options.http.host);
  if (is_open && options.http.token.empty()) options.http.token = random_token();
  if (is_open)
    fmt::print(stderr,
               "warning: --host {} lets other machines connect. Only those who know the token in "
               "the address can use the server, but the connection is not encrypted: in a network "
               "that you do not trust, use an SSH tunnel.\n",
               options.http.host);
  const auto ready = [&](int port) {
    // Requests under way are answered first; who does not want to wait for them sends it again.
    catch_interruption();
    fmt::print("serving {} at http://{}:{}{} - Ctrl-C ends it\n", options.run,
               reachable_host(options.http.host), port,
               options.http.token.empty() ? "" : "/?token=" + options.http.token);
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
