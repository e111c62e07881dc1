// `facet check RUN|PACK|MODEL`: whether files still have the bytes that were written.
#include <fmt/format.h>

#include "cli/command.h"
#include "facet/report/check_files.h"

namespace facet {

namespace {

void run_check(const std::vector<std::string>& paths) {
  bool damaged = false;
  for (const std::string& path : paths) {
    for (const CheckedFile& file : check_files(path)) {
      if (!file.damage.empty()) {
        complain(file.damage);
        damaged = true;
      } else if (file.path.extension() == ".jsonl") {
        fmt::print("{}: {:.1f} MB, as it was written\n", file.path.string(),
                   static_cast<double>(file.bytes) / 1e6);
      } else {
        fmt::print("{}: {} tensors in {:.1f} MB, {}\n", file.path.string(), file.tensors,
                   static_cast<double>(file.bytes) / 1e6,
                   file.has_checksums ? "as they were written" : "without checksums to compare");
      }
    }
  }
  if (damaged) throw ExitStatus{2};
}

}  // namespace

void add_check_command(const Command& program) {
  auto paths = std::make_shared<std::vector<std::string>>();
  const Command command =
      program.command("check", "Compare every byte of runs, packs and models with its checksum");
  command.option("paths", *paths, "Run folders, packs or model files").required();
  command.run([paths] { run_check(*paths); });
}

}  // namespace facet
