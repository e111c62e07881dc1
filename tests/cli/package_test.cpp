// The installed package, as a user of the library meets it: install the built tree, build the
// example against it with nothing but find_package(facet), and run it on a trained model.
#include <sstream>

#include <gtest/gtest.h>

#include "facet/data/image_file.h"
#include "paths.h"
#include "tests/cli/run_program.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

/// A value of the build tree's CMakeCache.txt; empty where it has none.
std::string cached(const fs::path& build, const std::string& name) {
  std::istringstream cache(read_text(build / "CMakeCache.txt", "test"));
  for (std::string line; std::getline(cache, line);)
    if (line.rfind(name + ":", 0) == 0) return line.substr(line.find('=') + 1);
  return "";
}

TEST(Package, TheExampleBuildsAgainstTheInstalledTreeAndDraws) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the example would need the sanitizers' flags too";
#endif
  TemporaryFolder folder;
  const fs::path build = fs::path(FACET_PROGRAM).parent_path().parent_path();
  const std::string prefix = (folder / "prefix").string(), tree = (folder / "tree").string();
  const auto run = [](const std::vector<std::string>& command) {
    const ProgramResult result = RunningProgram(command).wait();
    EXPECT_EQ(result.status, 0) << command[0] << "\n" << result.out << result.err;
    return result.status == 0;
  };
  ASSERT_TRUE(run({"cmake", "--install", build.string(), "--prefix", prefix}));
  ASSERT_TRUE(run({"cmake", "-S", std::string(FACET_SOURCE_FOLDER) + "/examples", "-B", tree,
                   "-DCMAKE_PREFIX_PATH=" + prefix, "-DTorch_DIR=" + cached(build, "Torch_DIR"),
                   "-DCMAKE_CXX_COMPILER=" + cached(build, "CMAKE_CXX_COMPILER"),
                   "-DCMAKE_CXX_FLAGS=-O0"}));
  ASSERT_TRUE(run({"cmake", "--build", tree}));

  // The installed program trains the model that the example draws from.
  write_text(folder / "config.json", quick_config(), "test");
  ASSERT_TRUE(run({prefix + "/bin/facet", "train", (folder / "config.json").string(), "--out",
                   (folder / "run").string()}));
  EXPECT_NE(read_text(prefix + "/share/man/man1/facet.1", "test").find(".SH COMMANDS"),
            std::string::npos);
  EXPECT_TRUE(fs::exists(prefix + "/share/bash-completion/completions/facet"));
  const std::string picture = (folder / "picture.png").string();
  ASSERT_TRUE(run({tree + "/generate", (folder / "run" / "model.safetensors").string(), picture}));
  const Image image = read_image(picture);
  EXPECT_EQ(image.channels, 3);
  EXPECT_GE(image.width, 4 * 16);
  EXPECT_GE(image.height, 4 * 16);
  EXPECT_NE(RunningProgram({tree + "/generate", (folder / "config.json").string(), picture})
                .wait()
                .err.find("generate: "),
            std::string::npos)
      << "errors of the library reach its user";
}

}  // namespace
}  // namespace facet
