// The files of an exported page: complete, consistent, and without anything that a plain file host
// does not understand. tests/web/page_test.mjs uses the page in a browser.
#include "facet/export/page_export.h"

#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/core/json.h"
#include "paths.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

const WebRuntime kRuntime = {"script\n//# sourceMappingURL=script.map\n", "loader", "binary",
                             "licence"};

std::map<std::string, std::string> exported(const std::string& model) {
  const LoadedRun run = load_run(fs::path(FACET_SOURCE_FOLDER) / "models" / model, {"cpu"});
  std::map<std::string, std::string> files;
  for (const ExportedFile& file : page_export_files(run, model, kRuntime))
    EXPECT_TRUE(files.emplace(file.name, file.bytes).second) << file.name << " twice";
  return files;
}

TEST(ExportedPage, EveryFileThatAModuleNamesIsThere) {
  const auto files = exported("portraits");
  const std::regex named("\"(?:\\./)?([a-z_-]+\\.(?:js|css|svg|mjs))\"");
  std::set<std::string> names;
  for (const auto& [name, bytes] : files) {
    if (!name.ends_with(".js") && name != "index.html") continue;
    for (std::sregex_iterator each(bytes.begin(), bytes.end(), named), end; each != end; ++each)
      names.insert((*each)[1]);
    EXPECT_EQ(bytes.find(".mjs\""), std::string::npos) << name;
  }
  EXPECT_GE(names.size(), 15u);
  for (const std::string& name : names) EXPECT_TRUE(files.contains(name)) << name;
  EXPECT_EQ(files.at("ort.js"), "script\n") << "without the map for debuggers";
  EXPECT_EQ(files.at("ort-LICENSE.txt"), "licence");
  for (const auto& [name, bytes] : files) EXPECT_FALSE(name.starts_with("survey")) << name;
  const TemporaryFolder place;
  write_text(place / "ort.bin", files.at("ort.bin"), "test");
  EXPECT_EQ(read_maybe_gzip(place / "ort.bin", "test"), "binary");
}

TEST(ExportedPage, TheModelRunsInTheBrowser) {
  const auto files = exported("portraits");
  EXPECT_NE(files.at("index.html").find("data-backend=\"local\""), std::string::npos);
  for (const char* name : {"encoder", "decoder", "assignments", "sampler"})
    EXPECT_TRUE(files.contains("model/" + std::string(name) + ".onnx")) << name;
  const Json page = Json::parse(files.at("model/page.json"));
  EXPECT_EQ(page["run"], "portraits");
  EXPECT_EQ(page["training"]["lines"], 0) << "this model comes without metrics";
  EXPECT_FALSE(files.contains("model/metrics.jsonl"));
  ASSERT_EQ(page["atlases"].size(), 8u);
  EXPECT_EQ(page["atlases"][2]["count"], 6);
  EXPECT_TRUE(files.contains(page["atlases"][2]["file"].get<std::string>()));
}

TEST(WebRuntime, IsFoundInTheFirstPlaceThatHasIt) {
  const TemporaryFolder place;
  const auto read = [&](const fs::path& folder) {
    return read_web_runtime(folder, {place / "absent", place / "there"});
  };
  EXPECT_NE(message_of([&] { read({}); }).find("scripts/fetch-npm web"), std::string::npos);
  for (const char* name : {"dist/ort.wasm.min.mjs", "dist/ort-wasm-simd-threaded.mjs",
                           "dist/ort-wasm-simd-threaded.wasm", "LICENSE"}) {
    fs::create_directories((place / "there" / name).parent_path());
    EXPECT_NE(message_of([&] { read({}); }), "no error") << "incomplete without " << name;
    write_text(place / "there" / name, name, "test");
  }
  EXPECT_EQ(read({}).binary, "dist/ort-wasm-simd-threaded.wasm");
  EXPECT_NE(message_of([&] { read(place / "absent"); }).find("absent"), std::string::npos)
      << "a folder that is named is the only one looked at";
}

}  // namespace
}  // namespace facet
