// What a user does with the program, from help to a finished, interrupted or killed run.
#include <sstream>

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/core/shell.h"
#include "facet/data/image_file.h"
#include "paths.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

struct HelpCase {
  std::vector<std::string> command;
  std::vector<std::string> options;
};

TEST(Help, EveryCommandNamesItsOptions) {
  const HelpCase cases[] = {
      {{},
       {"train", "sweep", "eval", "sample", "export", "import", "info", "bench", "--help",
        "--version"}},
      {{"train"}, {"config", "--out", "--set", "--resume", "--device", "--describe-options"}},
      {{"refine"},
       {"run", "--config", "--set", "--network", "--steps", "--batch-size", "--seed", "--resume",
        "--overwrite", "--describe-options", "--pack", "--device", "--processes", "--restarts",
        "--rank-timeout"}},
      {{"survey"},
       {"path", "--out", "--serve", "--score", "--samples", "--controls", "--ask", "--seed",
        "--refined", "--refine-steps", "--refine-guidance", "--port", "--host", "--allow-host",
        "--token", "--json", "--device"}},
      {{"sweep"},
       {"config", "--vary", "--out", "--set", "--jobs", "--resume", "--join", "--shard",
        "--device"}},
      {{"bench"},
       {"--network", "--components", "--batch", "--steps", "--json", "--device", "--exchange",
        "--inference"}},
      {{"eval"},
       {"run", "--split", "--samples", "--importance", "--json", "--device", "--judge",
        "--judge-labels", "--judge-samples", "--judge-refined", "--judge-steps", "--fidelity",
        "--refine-steps", "--refine-guidance", "--precision", "--vectors", "--tensor", "--labels"}},
      {{"fit"},
       {"vectors", "--out", "--components", "--factors", "--labels", "--name", "--start",
        "--tensor", "--config", "--set", "--describe-options"}},
      {{"predict"}, {"run", "vectors", "--out", "--probabilities", "--tensor"}},
      {{"sample"}, {"run", "--count", "--seed", "--out", "--device"}},
      {{"encode"},
       {"run", "data", "--out", "--packed", "--probabilities", "--latents", "--device",
        "--precision"}},
      {{"decode"},
       {"run", "codes", "--code", "--out", "--packed", "--draw", "--limit", "--seed", "--device"}},
      {{"index"}, {"run", "data", "--out", "--append", "--bytes", "--device"}},
      {{"search"},
       {"index", "--like", "--resize", "--factors", "--where", "--change", "--top", "--shortlist",
        "--exact", "--out", "--json", "--device"}},
      {{"info"}, {"path"}},
      {{"export"}, {"onnx", "page", "model"}},
      {{"export", "model"}, {"run", "--out", "--weights", "--force"}},
      {{"export", "onnx"}, {"run", "--out", "--force"}},
      {{"export", "page"}, {"run", "--out", "--runtime", "--force"}},
      {{"import"}, {"idx", "images", "portraits"}},
      {{"import", "idx"}, {"--train", "--train-labels", "--valid", "--test", "--table", "--out"}},
      {{"import", "images"},
       {"folder", "--labels", "--property", "--split-column", "--keep-case", "--size", "--pad",
        "--colour", "--grey", "--skip-damaged", "--out"}},
      {{"import", "portraits"}, {"--count", "--size", "--seed", "--out"}},
  };
  for (const HelpCase& help : cases) {
    std::vector<std::string> command = help.command;
    command.push_back("--help");
    const ProgramResult result = run_facet(command);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    for (const std::string& option : help.options)
      EXPECT_TRUE(contains(result.out, option)) << option << " in\n" << result.out;
  }
}

TEST(Help, VersionIsPrinted) {
  const ProgramResult result = run_facet({"--version"});
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(contains(result.out, "facet 0.")) << result.out;
}

TEST(Documentation, ConfigPageIsWhatTheProgramDescribes) {
  const fs::path page = fs::path(FACET_SOURCE_FOLDER) / "docs" / "config.md";
  const ProgramResult result = run_facet({"train", "--describe-options"});
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(contains(result.out, "`train.joint.steps`")) << result.out;
  EXPECT_TRUE(contains(result.out, "`model.factors.N.components`")) << result.out;
  if (!fs::exists(page))
    FAIL() << "there is no " << page << ": make it with 'facet train --describe-options'";
  EXPECT_EQ(read_text(page, "test"), result.out);
}

TEST(Documentation, RefineConfigPageIsWhatTheProgramDescribes) {
  const ProgramResult result = run_facet({"refine", "--describe-options"});
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(contains(result.out, "`network.multipliers`")) << result.out;
  EXPECT_EQ(read_text(fs::path(FACET_SOURCE_FOLDER) / "docs" / "refine-config.md", "test"),
            result.out);
}

/// One finished run that tests look at and do not change.
class FinishedRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    write_text(*folder_ / "config.json", quick_config(), "test");
    training_ = run_facet({"train", (*folder_ / "config.json").string(), "--out", run()});
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string run() { return (*folder_ / "run").string(); }

  static inline TemporaryFolder* folder_ = nullptr;
  static inline ProgramResult training_;
};

TEST_F(FinishedRun, TrainLeavesAllFilesOfARun) {
  ASSERT_EQ(training_.status, 0) << training_.err;
  EXPECT_EQ(training_.err, "");
  for (const char* name : {"config.json", "metrics.jsonl", "model.safetensors", "state.safetensors",
                           "eval.json", "samples.png"})
    EXPECT_TRUE(fs::exists(fs::path(run()) / name)) << name;
  const Json config = Json::parse(read_text(fs::path(run()) / "config.json", "test"));
  EXPECT_EQ(config["train"]["joint"]["steps"], 20);
  EXPECT_EQ(config["train"]["adam"]["beta1"], 0.9) << "defaults are saved too";
  EXPECT_TRUE(contains(training_.out, run())) << "it says where the run is";
}

TEST_F(FinishedRun, InfoSaysWhatARunAndAModelAre) {
  const ProgramResult about_run = run_facet({"info", run()});
  EXPECT_EQ(about_run.status, 0) << about_run.err;
  EXPECT_TRUE(contains(about_run.out, "trained to the end")) << about_run.out;
  EXPECT_TRUE(contains(about_run.out, "factor 'second': 2 dimensions, 3 components"))
      << about_run.out;
  const ProgramResult about_model = run_facet({"info", run() + "/model.safetensors"});
  EXPECT_EQ(about_model.status, 0) << about_model.err;
  EXPECT_TRUE(contains(about_model.out, "a model")) << about_model.out;
  EXPECT_TRUE(contains(about_model.out, "16x16 in 3 channels")) << about_model.out;
}

TEST_F(FinishedRun, EvalPrintsTheJsonOfTheContract) {
  const ProgramResult result = run_facet({"eval", run(), "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json json = Json::parse(result.out);  // one object and nothing else
  EXPECT_EQ(json["split"], "test");
  EXPECT_EQ(json["count"], 20);
  EXPECT_EQ(json["samples"], 1);
  for (const char* key : {"elbo", "reconstruction", "kl_z", "kl_r"})
    EXPECT_TRUE(json.contains(key) && json[key].is_number()) << key;
  EXPECT_NEAR(json["elbo"].get<double>(),
              json["reconstruction"].get<double>() - json["kl_z"].get<double>() -
                  json["kl_r"].get<double>(),
              1e-6 * std::abs(json["elbo"].get<double>()));
  EXPECT_FALSE(json.contains("importance_bound"));
  ASSERT_EQ(json["factors"].size(), 2u);
  for (const Json& factor : json["factors"]) {
    EXPECT_TRUE(factor["name"] == "first" || factor["name"] == "second");
    EXPECT_EQ(factor["components"], 3);
    for (const char* key : {"used", "perplexity", "kl_z", "kl_r", "accuracy", "nmi", "purity"})
      EXPECT_TRUE(factor.contains(key) && factor[key].is_number()) << key;
    EXPECT_GE(factor["perplexity"].get<double>(), 1.0);
    EXPECT_LE(factor["perplexity"].get<double>(), 3.0 + 1e-9);
  }
  EXPECT_EQ(json, Json::parse(read_text(fs::path(run()) / "eval.json", "test")))
      << "training ended with the same evaluation";
}

TEST_F(FinishedRun, EvalTakesSplitSamplesAndImportance) {
  const ProgramResult result = run_facet(
      {"eval", run(), "--json", "--split", "valid", "--samples", "3", "--importance", "20"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["split"], "valid");
  EXPECT_EQ(json["samples"], 3);
  ASSERT_TRUE(json["importance_bound"].is_number());
  const ProgramResult plain = run_facet({"eval", run(), "--split", "train"});
  EXPECT_EQ(plain.status, 0) << plain.err;
  EXPECT_TRUE(contains(plain.out, "train split, 160 images")) << plain.out;
}

TEST_F(FinishedRun, SampleWritesAPictureThatFollowsTheSeed) {
  const auto sample = [&](const std::string& name, const std::string& seed) {
    const std::string path = (*folder_ / name).string();
    const ProgramResult result =
        run_facet({"sample", run(), "--count", "6", "--seed", seed, "--out", path});
    EXPECT_EQ(result.status, 0) << result.err;
    return read_image(path);
  };
  const Image one = sample("one.png", "1"), again = sample("again.png", "1"),
              other = sample("other.png", "2");
  EXPECT_EQ(one.channels, 3);
  EXPECT_GE(one.width, 3 * 16);
  EXPECT_GE(one.height, 2 * 16);
  EXPECT_EQ(one.pixels, again.pixels);
  EXPECT_NE(one.pixels, other.pixels);
}

TEST_F(FinishedRun, ResumingItWithAnotherConfigIsRefusedAndChangesNothing) {
  const auto before = files_below(run());
  for (const std::vector<std::string>& change :
       {std::vector<std::string>{"--set", "train.learning_rate.start=0.5"},
        std::vector<std::string>{"--set", "model.factors.0.components=4"}}) {
    std::vector<std::string> command = {"train", "--out", run(), "--resume"};
    command.insert(command.end(), change.begin(), change.end());
    const ProgramResult result = run_facet(command);
    EXPECT_EQ(result.status, 2);
    EXPECT_TRUE(contains(result.err, "another config")) << result.err;
    EXPECT_TRUE(contains(result.err, change[1].substr(0, change[1].find('='))))
        << "the option is named: " << result.err;
  }
  EXPECT_EQ(files_below(run()), before);
}

TEST(Import, PortraitsBecomeAPackThatTrainsAndHasInfo) {
  TemporaryFolder folder;
  const std::string pack = (folder / "faces.safetensors").string();
  const ProgramResult imported =
      run_facet({"import", "portraits", "--count", "50", "--size", "16", "--out", pack});
  ASSERT_EQ(imported.status, 0) << imported.err;
  EXPECT_TRUE(contains(imported.out, "50 images of 16x16 in 3 channels")) << imported.out;
  EXPECT_TRUE(contains(imported.out, "40 train, 5 valid, 5 test")) << imported.out;
  const ProgramResult info = run_facet({"info", pack});
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_TRUE(contains(info.out, "a pack: 50 images")) << info.out;
  EXPECT_TRUE(contains(info.out, "property 'glasses'")) << info.out;
  // Named relative to where the program runs, and found again from elsewhere.
  write_text(folder / "config.json", quick_config(), "test");
  const ProgramResult trained =
      run_facet({"train", "config.json", "--out", "run", "--set", "data.pack=faces.safetensors"},
                {.folder = folder.path()});
  ASSERT_EQ(trained.status, 0) << trained.err;
  const ProgramResult evaluated = run_facet({"eval", (folder / "run").string(), "--json"});
  EXPECT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_EQ(Json::parse(evaluated.out)["count"], 5);
}

TEST(Import, FolderWithTableBecomesAPack) {
  TemporaryFolder folder;
  fs::create_directory(folder / "pictures");
  for (const char* name : {"a", "b", "c", "d"})
    write_png(folder / "pictures" / (std::string(name) + ".png"), Image::filled(3, 20, 30, 9));
  write_text(folder / "labels.csv", "file,smile,part\na.png,yes,0\nb.png,,1\nc.png,no,test\n",
             "test");
  const std::string pack = (folder / "pack").string();
  const ProgramResult result =
      run_facet({"import", "images", (folder / "pictures").string(), "--labels",
                 (folder / "labels.csv").string(), "--property", "smile=no,yes", "--split-column",
                 "part", "--size", "16", "--grey", "--out", pack});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "4 images of 16x16 in 1 channel ")) << result.out;
  EXPECT_TRUE(contains(run_facet({"info", pack}).out, "property 'smile': no 1, yes 1; unknown 2"));
}

TEST(Import, AFolderAsPeopleHaveItEndsWithASummary) {
  TemporaryFolder folder;
  const fs::path pictures = folder / "pictures";
  fs::create_directory(pictures);
  const std::vector<uint8_t> greys = {10, 10, 30, 40};
  for (size_t i = 0; i < greys.size(); ++i)
    write_png(pictures / fmt::format("p{}.png", i), Image::filled(3, 20, 30, greys[i]));
  write_text(pictures / "empty.jpg", "", "test");
  write_text(pictures / "._p0.png", "x", "test");
  write_text(folder / "labels.csv",
             "file;colour;id\np0.png;gr\xfcn;1\np1;Gr\xfcn;1\np2;rot ;1\nlost.png;rot;1\n", "test");
  const std::string pack = (folder / "new" / "pack").string();
  std::vector<std::string> arguments = {
      "import", "images", pictures.string(), "--labels", (folder / "labels.csv").string(),
      "--size", "24x16",  "--pad",           "--out",    pack};
  const ProgramResult refused = run_facet(arguments);
  EXPECT_EQ(refused.status, 2);
  EXPECT_TRUE(contains(refused.err, "1 of 5 files that cannot be read")) << refused.err;
  arguments.push_back("--skip-damaged");
  const ProgramResult result = run_facet(arguments);
  ASSERT_EQ(result.status, 0) << result.err;
  for (const char* line :
       {"4 images of 24x16 in 3 channels", "4 pictures read, 1 damaged one skipped; first: ",
        "4 rows, Windows-1252, separated by semicolons; 1 row matches no picture, first 'lost.png'",
        "1 image has no label at all", "1 image has the same pixels as an earlier one",
        "property 'colour': gr\xc3\xbcn 2, rot 1; unknown 1",
        "'Gr\xc3\xbcn' is taken for 'gr\xc3\xbcn' in column 'colour' (1 cell)",
        "column 'id' has only the value '1' and is no property"})
    EXPECT_TRUE(contains(result.out, line)) << line << "\n" << result.out;
  EXPECT_TRUE(contains(run_facet({"info", pack}).out, "4 images of 24x16"));
}

/// The highest joint step in a run's metrics so far; -1 before the first.
int64_t joint_step(const fs::path& run) {
  if (!fs::exists(run / "metrics.jsonl")) return -1;
  std::istringstream text(read_text(run / "metrics.jsonl", "test"));
  int64_t step = -1;
  for (std::string line; std::getline(text, line);) {
    const Json record = Json::parse(line, nullptr, false);
    if (record.is_object() && record["phase"] == "joint") step = record["step"].get<int64_t>();
  }
  return step;
}

class StoppedRun : public testing::Test {
 protected:
  void write_config(const std::string& train) { write_text(config_, tiny_config(train), "test"); }
  std::vector<std::string> start(const std::string& name) const {
    return {"train", config_.string(), "--out", (folder_ / name).string()};
  }
  std::vector<std::string> resume(const std::string& name) const {
    return {"train", "--out", (folder_ / name).string(), "--resume"};
  }
  void expect_same_run(const std::string& one, const std::string& other) {
    for (const char* file :
         {"metrics.jsonl", "model.safetensors", "state.safetensors", "eval.json", "samples.png"})
      EXPECT_TRUE(read_text(folder_ / one / file, "test") ==
                  read_text(folder_ / other / file, "test"))
          << file;
  }

  TemporaryFolder folder_;
  fs::path config_ = folder_ / "config.json";
};

TEST_F(StoppedRun, KilledAndResumedIsTheSameAsStraight) {
  write_config(R"("pretrain": {"steps": 50}, "initialise": {"steps": 20}, "joint": {"steps": 200},
      "log_every": 5, "checkpoint_every": 100)");
  ASSERT_EQ(run_facet(start("straight")).status, 0);
  RunningProgram program(facet_command(start("killed")));
  ASSERT_TRUE(wait_until([&] { return joint_step(folder_ / "killed") >= 110; }));
  program.send(SIGKILL);
  ASSERT_EQ(program.wait().status, -SIGKILL);
  EXPECT_LT(joint_step(folder_ / "killed"), 200) << "killed in time";
  const ProgramResult resumed = run_facet(resume("killed"));
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  expect_same_run("straight", "killed");
}

TEST_F(StoppedRun, EverySignalThatAsksToEndSaves) {
  write_config(R"("pretrain": {"steps": 20}, "initialise": {"steps": 5}, "joint": {"steps": 1500},
      "log_every": 5, "evaluate_every": 0, "checkpoint_every": 100000)");
  for (const int signal : {SIGTERM, SIGHUP, SIGPIPE}) {
    const std::string name = fmt::format("signal-{}", signal);
    RunningProgram program(facet_command(start(name)));
    ASSERT_TRUE(wait_until([&] { return joint_step(folder_ / name) >= 5; }));
    program.send(signal);
    EXPECT_EQ(program.wait().status, 128 + signal);
    const ProgramResult info = run_facet({"info", (folder_ / name).string()});
    EXPECT_TRUE(contains(info.out, "stopped in phase joint")) << info.out << info.err;
  }
}

TEST_F(StoppedRun, AReaderThatGoesAwaySavesTheRun) {
  write_config(R"("pretrain": {"steps": 20}, "initialise": {"steps": 5}, "joint": {"steps": 1500},
      "log_every": 5, "evaluate_every": 0, "checkpoint_every": 100000)");
  std::string command;
  for (const std::string& word : facet_command(start("head"))) command += shell_quoted(word) + " ";
  RunningProgram program({"bash", "-c", command + "| head -1; exit ${PIPESTATUS[0]}"});
  EXPECT_EQ(program.wait().status, 128 + SIGPIPE);
  const ProgramResult info = run_facet({"info", (folder_ / "head").string()});
  EXPECT_TRUE(contains(info.out, "stopped in phase")) << info.out << info.err;
}

TEST_F(StoppedRun, OutputThatCannotBeWrittenIsAnError) {
  const std::string command = shell_quoted(facet_command({}).front()) + " --version > /dev/full";
  RunningProgram program({"bash", "-c", command});
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(contains(result.err, "not all could be written")) << result.err;
}

TEST_F(StoppedRun, InterruptSavesSaysHowToGoOnAndResumeFinishes) {
  write_config(R"("pretrain": {"steps": 20}, "initialise": {"steps": 5}, "joint": {"steps": 1500},
      "log_every": 5, "evaluate_every": 0, "checkpoint_every": 100000)");
  ASSERT_EQ(run_facet(start("straight")).status, 0);
  RunningProgram program(facet_command(start("interrupted")));
  ASSERT_TRUE(wait_until([&] { return joint_step(folder_ / "interrupted") >= 5; }));
  program.send(SIGINT);
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.status, 130) << result.err;
  const std::string run = (folder_ / "interrupted").string();
  EXPECT_TRUE(contains(result.out, "facet train --out " + run + " --resume")) << result.out;
  EXPECT_LT(joint_step(run), 1500) << "interrupted in time";
  const ProgramResult info = run_facet({"info", run});
  EXPECT_TRUE(contains(info.out, "stopped in phase joint")) << info.out << info.err;

  // A full disk while it goes on costs nothing of what was saved.
  const std::string state = read_text(fs::path(run) / "state.safetensors", "test");
  const std::string model = read_text(fs::path(run) / "model.safetensors", "test");
  const ProgramResult full = run_facet(resume("interrupted"), {.largest_file = 12000});
  EXPECT_EQ(full.status, 2) << full.err;
  EXPECT_TRUE(contains(full.err, "is the disk full?")) << full.err;
  EXPECT_TRUE(read_text(fs::path(run) / "state.safetensors", "test") == state);
  EXPECT_TRUE(read_text(fs::path(run) / "model.safetensors", "test") == model);

  const ProgramResult resumed = run_facet(resume("interrupted"));
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  expect_same_run("straight", "interrupted");
}

}  // namespace
}  // namespace facet
