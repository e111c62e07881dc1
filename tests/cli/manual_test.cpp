// The manual page and the shell's completion, which are written from the declared commands: nothing
// that --help knows is missing, and bash completes what a user has begun to type.
#include <sstream>

#include <gtest/gtest.h>

#include "tests/cli/run_program.h"

namespace facet {
namespace {

/// The commands that `facet --help` lists.
std::vector<std::string> listed_commands() {
  std::istringstream help(run_facet({"--help"}).out);
  std::vector<std::string> commands;
  for (std::string line; std::getline(help, line);)
    if (line.size() > 2 && line.rfind("  ", 0) == 0 && line[2] != ' ' && line[2] != '-')
      commands.push_back(line.substr(2, line.find(' ', 2) - 2));
  return commands;
}

TEST(Manual, HasEveryCommandAndItsOptions) {
  const ProgramResult manual = run_facet({"manual"});
  EXPECT_EQ(manual.status, 0);
  EXPECT_EQ(manual.out.rfind(".TH FACET 1", 0), 0u);
  const std::vector<std::string> commands = listed_commands();
  EXPECT_GE(commands.size(), 20u);
  for (const std::string& command : commands)
    EXPECT_NE(manual.out.find("\n.SS facet " + command), std::string::npos) << command;
  EXPECT_NE(manual.out.find("\n.SS facet import images\n"), std::string::npos);
  EXPECT_NE(manual.out.find("\\fB\\-\\-describe\\-options\\fR"), std::string::npos);
  EXPECT_NE(manual.out.find("\\fB\\-\\-device\\fR \\fIauto|cpu|cuda\\fR"), std::string::npos);
}

/// What bash offers once these words have been typed; the last one is not complete yet.
std::string completed(const std::string& words) {
  const std::string script =
      "source <(\"$0\" completion bash); COMP_WORDS=(" + words +
      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _facet; echo \"${COMPREPLY[*]}\"";
  const ProgramResult result = RunningProgram({"bash", "-c", script, FACET_PROGRAM}).wait();
  EXPECT_EQ(result.err, "");
  return result.out;
}

TEST(Completion, OffersCommandsOptionsAndWords) {
  EXPECT_EQ(completed("facet tra"), "train\n");
  EXPECT_EQ(completed("facet import por"), "portraits\n");
  EXPECT_EQ(completed("facet import images --skip"), "--skip-damaged\n");
  EXPECT_EQ(completed("facet sample run --device c"), "cpu cuda\n");
  EXPECT_EQ(completed("facet train con"), "\n") << "files are left to the shell";
}

}  // namespace
}  // namespace facet
