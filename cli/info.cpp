// `facet info RUN|PACK|MODEL`: what a file or folder of ours is.
#include <fmt/format.h>

#include "cli/command.h"
#include "facet/report/describe.h"

namespace facet {

void add_info_command(const Command& program) {
  auto path = std::make_shared<std::string>();
  const Command command = program.command("info", "Say what a run, a pack or a model is");
  command.option("path", *path, "A run folder, a pack or a model file").required();
  command.run([path] { fmt::print("{}", describe(*path)); });
}

}  // namespace facet
