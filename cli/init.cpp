// `facet init PACK --out config.json`: a config that fits a pack, with the reasons as comments.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/command.h"
#include "facet/report/initial_config.h"

namespace facet {

namespace {

struct InitArguments {
  std::string pack, output, device = "auto";
};

}  // namespace

void add_init_command(const Command& program) {
  auto arguments = std::make_shared<InitArguments>();
  const Command command =
      program.command("init", "Write a config that fits a pack, with the reasons as comments");
  command.option("pack", arguments->pack, "A pack made by 'facet import'").required();
  command.option("--out", arguments->output, "The config to write; must not exist").required();
  command.device_option(arguments->device);
  command.run([arguments] {
    write_initial_config(arguments->pack, arguments->output, arguments->device);
    std::string name = std::filesystem::path(arguments->pack).stem().string();
    name.resize(std::min(name.size(), name.find("-*")));  // a pack in several files
    fmt::print("{}: read it, then train with: facet train {} --out runs/{}\n", arguments->output,
               arguments->output, name);
  });
}

}  // namespace facet
