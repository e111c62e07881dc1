// Commands of these tests are forks of the test program, which has LibTorch loaded already.
#include <gtest/gtest.h>

#include "cli/facet_program.h"
#include "tests/cli/run_program.h"

namespace facet {
namespace {

const bool kInForks = [] {
  facet_as_function = run_facet_program;
  return true;
}();

TEST(Program, IsTheSameAsAFunctionAndAsAProgram) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--version"}, {"info"}, {"info", "nowhere"}, {"nonsense"}}) {
    const ProgramResult fork = run_facet(arguments);
    const ProgramResult program = RunningProgram(facet_command(arguments)).wait();
    EXPECT_EQ(fork.status, program.status);
    EXPECT_EQ(fork.out, program.out);
    EXPECT_EQ(fork.err, program.err);
  }
  EXPECT_TRUE(kInForks);
}

}  // namespace
}  // namespace facet
