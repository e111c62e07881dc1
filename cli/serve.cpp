// `facet serve RUN`: the explorer, a page in the browser on which properties are turned like
// switches. Serves a finished run or one that is still training, on this machine alone unless told
// otherwise.
#include <csignal>

#include <fmt/format.h>

#include "cli/command.h"
#include "facet/core/error.h"
#include "facet/serve/explorer.h"
#include "facet/serve/http_server.h"

namespace facet {

namespace {

volatile std::sig_atomic_t ended = 0;

/// Requests under way are answered first; who does not want to wait for them sends it again.
void end(int signal) {
  ended = 1;
  std::signal(signal, SIG_DFL);
}

struct ServeArguments {
  std::string run, pack, device = "cpu";
  HttpOptions http;
};

void run_serve(const ServeArguments& arguments, const std::string& program) {
  // One thread for the networks: requests use the other processors, and threads of a team that wait
  // for each other on busy processors take a hundred times as long.
  torch::set_num_threads(1);
  ExplorerOptions options;
  options.run = arguments.run;
  options.device = choose_device(arguments.device);
  options.program = program;
  if (!arguments.pack.empty()) options.pack = read_pack(arguments.pack);
  Explorer explorer(std::move(options));
  HttpServer server(explorer, arguments.http);
  std::signal(SIGINT, end);
  std::signal(SIGTERM, end);
  const bool is_six = arguments.http.host.find(':') != std::string::npos;
  fmt::print("serving {} at http://{}:{} - Ctrl-C ends it\n", arguments.run,
             is_six ? "[" + arguments.http.host + "]" : arguments.http.host, server.port());
  std::fflush(stdout);
  server.run([] { return ended != 0; });
}

}  // namespace

void add_serve_command(CLI::App& program) {
  auto arguments = std::make_shared<ServeArguments>();
  CLI::App* command =
      program.add_subcommand("serve", "Explore a run in the browser, also while it trains");
  command->add_option("run", arguments->run, "A run folder")->required();
  command->add_option("--port", arguments->http.port, "Where to listen; 0 takes a free port")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command->add_option("--host", arguments->http.host, "Address of this machine to listen at")
      ->capture_default_str();
  add_repeated_option(*command, "--allow-host", arguments->http.allowed_hosts,
                      "A name that browsers may call this server by");
  command->add_option("--pack", arguments->pack, "A pack to search for the nearest images");
  add_device_option(*command, arguments->device);
  command->callback([arguments, &program] { run_serve(*arguments, program.version()); });
}

}  // namespace facet
